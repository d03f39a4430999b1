// The cost of looking up a handle and of holding a reference to its object during a call.
// LINK: objects
#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/pairs.h"
#include "completion/completion_queue.h"
#include "core/handles.h"

using namespace gpo::bench;

namespace {

/// A queue needs no device.
struct Subject {
    gpo_runtime_t runtime = nullptr;
    gpo_cq_t cq = nullptr;
    Subject() {
        CHECK_GPO(gpo_runtime_create(nullptr, &runtime));
        CHECK_GPO(gpo_cq_create(runtime, nullptr, &cq));
    }
    ~Subject() {
        gpo_cq_destroy(cq);
        gpo_runtime_shutdown(runtime, -1);
    }
};

void pin(gpo_cq_t cq, int count) {
    for (int i = 0; i < count; ++i) {
        gpo::Pin<gpo::CompletionQueue> queue(cq);
        asm volatile("" : : "r"(&*queue) : "memory");
    }
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("handles", argc, argv);
    bench.row(
        {.name = "pin", .what = "handle pin + unpin, one thread", .target = value_at_most(20), .target_on = on_any},
        [](Row& row) {
            Subject subject;
            const int count = row.size(1'000'000, 10'000);
            row.alone([&] {
                const double begin = now_ns();
                pin(subject.cq, count);
                return (now_ns() - begin) / count;
            });
        });
    bench.row({.name = "pin_8_threads", .what = "the same handle from eight threads at once, per pin and thread"},
              [](Row& row) {
                  Subject subject;
                  const int count = row.size(300'000, 5'000);
                  Crew crew(8);
                  row.alone([&] { return crew.run([&](int) { pin(subject.cq, count); }) / count; });
              });
    return bench.finish();
}
