// The cost of asking for a place of an admission, and of giving the place back.
#include <memory>
#include <stdexcept>
#include <vector>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/pairs.h"

using namespace gpo::bench;

namespace {

constexpr int kTogether = 1024;   // requests whose entries are drained together, outside of the time

/// An admission with room for every request.
struct Subject {
    gpo_runtime_t runtime = nullptr;
    gpo_admission_t admission = nullptr;
    Subject() {
        CHECK_GPO(gpo_runtime_create(nullptr, &runtime));
        gpo_admission_options options{};
        options.struct_size = sizeof options;
        options.count = 64;
        options.bytes = 1 << 30;
        CHECK_GPO(gpo_admission_create(runtime, &options, &admission));
    }
    ~Subject() { gpo_runtime_shutdown(runtime, -1); }
};

/// A client with a queue of its own.
class Client {
public:
    explicit Client(const Subject& subject) : admission_(subject.admission) {
        CHECK_GPO(gpo_cq_create(subject.runtime, nullptr, &queue_));
        entries_.resize(kTogether);
    }
    ~Client() { gpo_cq_destroy(queue_); }
    /// Nanoseconds of `rounds` times kTogether requests, without the drains.
    double run(int rounds) {
        double spent = 0;
        for (int round = 0; round < rounds; ++round) {
            const double begin = now_ns();
            for (int i = 0; i < kTogether; ++i) {
                gpo_admission_request request{};
                request.struct_size = sizeof request;
                request.bytes = 4096;
                request.flow = 7;
                uint64_t ticket = 0;
                CHECK_GPO(gpo_admission_enter(admission_, &request, queue_, 0, &ticket));
                CHECK_GPO(gpo_admission_leave(admission_, ticket));
            }
            spent += now_ns() - begin;
            uint64_t count = 0;
            CHECK_GPO(gpo_cq_drain(queue_, entries_.data(), sizeof entries_[0], entries_.size(), &count));
            if (count != kTogether) throw std::runtime_error("entries are missing");
        }
        return spent;
    }

private:
    const gpo_admission_t admission_;
    gpo_cq_t queue_ = nullptr;
    std::vector<gpo_completion> entries_;
};

void one_thread(Row& row) {
    Subject subject;
    Client client(subject);
    const int rounds = row.size(200, 2);
    row.alone([&] { return client.run(rounds) / (rounds * kTogether); });
}

void eight_threads(Row& row) {
    Subject subject;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(subject));
    const int rounds = row.size(50, 1);
    Crew crew(8);
    std::vector<double> spent(8);
    row.alone([&] {
        crew.run([&](int thread) {
            const auto at = static_cast<size_t>(thread);
            spent[at] = clients[at]->run(rounds);
        });
        double all = 0;
        for (double one : spent) all += one;
        return all / 8 / (rounds * kTogether);
    });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("serving", argc, argv);
    bench.row({.name = "admission", .what = "gpo_admission_enter + gpo_admission_leave, one thread",
               .target = value_at_most(150), .target_on = on_any},
              one_thread);
    bench.row({.name = "admission_8_threads",
               .what = "the same from eight threads at once, per request and thread", .target = value_at_most(500)},
              eight_threads);
    return bench.finish();
}
