// The ring of gpuorch/device/queue.cuh, on the software GPU under explored schedules. Each memory operation of the ring
// yields, so that another block may run between any two of them.
#include <algorithm>
#include <atomic>
#include <map>

#include "host/host.h"
#include "host/schedule.h"
#include "support/device_queue.h"
#include "support/explore.h"
#include "support/linearizable.h"
#include "unit/softgpu/kernel_device.h"

using namespace kernel_test;
using gpo::test::DeviceRing;

namespace {

/// Blocks of one thread, or of two lanes that go together.
const char kSource[] = R"(
#define GPO_DEVICE_CROSSING() __nanosleep(0)
#include <gpuorch/device/queue.cuh>

struct task { unsigned id, copies[3]; };
/// A call: when it began and ended, by a clock that all have in common.
struct event { unsigned begin, end, id; int status; };
struct history { event *pushes, *pops; unsigned *clock, *producing; };

__device__ const gpo::bound kLong = {100000000, true};

__device__ void produce(const gpo::ring &ring, unsigned each, bool tries, const history &out) {
    const unsigned unit = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < each; ++k) {
        event &mine = out.pushes[unit * each + k];
        mine.id = unit * each + k + 1;
        const task what = {mine.id, {mine.id, mine.id, mine.id}};
        do {
            mine.begin = atomicAdd(out.clock, 1u);
            mine.status = tries ? gpo::try_push(ring, what) : gpo::push(ring, what, kLong);
            mine.end = atomicAdd(out.clock, 1u);
        } while (mine.status == gpo::queue_would_block);
        if (mine.status != gpo::queue_success) break;
    }
    if (atomicSub(out.producing, 1u) == 1) gpo::close(ring);
}

__device__ void consume(const gpo::ring &ring, unsigned most, bool tries, const history &out) {
    const unsigned unit = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < most;) {
        event &mine = out.pops[unit * most + k];
        task what = {0, {0, 0, 0}};
        mine.begin = atomicAdd(out.clock, 1u);
        mine.status = tries ? gpo::try_pop(ring, what) : gpo::pop(ring, what, kLong);
        mine.end = atomicAdd(out.clock, 1u);
        if (mine.status == gpo::queue_would_block) continue;
        if (mine.status != gpo::queue_success) break;
        mine.id = what.copies[0] == what.id && what.copies[2] == what.id ? what.id : ~0u;
        gpo::done(ring);
        ++k;
    }
}

extern "C" __global__ void meet(gpo::ring ring, unsigned producers, unsigned each, unsigned most, int tries,
                                history out) {
    if (blockIdx.x < producers) produce(ring, each, tries != 0, out);
    else consume(ring, most, tries != 0, out);
}

// Task 1 is there. Each task pushes those of twice its number and one more, up to the last, and the ring is closed.
extern "C" __global__ void grow(gpo::ring ring, unsigned producers, unsigned last, unsigned most, int tries,
                                history out) {
    event *pushes = out.pushes;
    if (blockIdx.x == 0) {
        pushes[0].begin = atomicAdd(out.clock, 1u);
        const task first = {1, {1, 1, 1}};
        pushes[0].id = 1;
        pushes[0].status = gpo::try_push(ring, first);
        pushes[0].end = atomicAdd(out.clock, 1u);
        gpo::close(ring);
    }
    for (unsigned k = 0;;) {
        event &mine = out.pops[blockIdx.x * most + k];
        task what = {0, {0, 0, 0}};
        mine.begin = atomicAdd(out.clock, 1u);
        mine.status = tries ? gpo::try_pop(ring, what) : gpo::pop(ring, what, kLong);
        mine.end = atomicAdd(out.clock, 1u);
        // Before task 1 is pushed a ring that is open is empty.
        if (mine.status == gpo::queue_would_block) continue;
        if (mine.status != gpo::queue_success) break;
        mine.id = what.copies[0];
        for (unsigned id = 2 * mine.id; id <= 2 * mine.id + 1 && id <= last; ++id) {
            const task child = {id, {id, id, id}};
            event &push = pushes[id - 1];
            push.id = id;
            push.begin = atomicAdd(out.clock, 1u);
            push.status = gpo::push(ring, child, kLong);
            push.end = atomicAdd(out.clock, 1u);
        }
        gpo::done(ring);
        ++k;
    }
}

// One more block, which aborts the ring at some time.
extern "C" __global__ void disturb(gpo::ring ring, unsigned producers, unsigned each, unsigned most, int tries,
                                history out) {
    if (blockIdx.x < producers) produce(ring, each, tries != 0, out);
    else if (blockIdx.x + 1 < gridDim.x) consume(ring, most, tries != 0, out);
    else {
        for (unsigned i = 0; i < 40 + each; ++i) __nanosleep(0);
        gpo::abort(ring);
    }
}
)";

/// The kernels' structs.
struct Event {
    uint32_t begin, end, id;
    int32_t status;
};
struct History {
    Event *pushes, *pops;
    uint32_t *clock, *producing;
};

struct Setting {
    const char* kernel;
    uint32_t capacity_log2, lanes, producers, consumers, each;
    bool tries;
    uint32_t flags = 0;
    uint64_t start = 0;
};

/// A run under the schedule of a seed, with its own memory.
class Meeting {
public:
    Meeting(const Program& program, const Setting& setting) : setting_(setting) {
        const uint32_t capacity = 1u << setting.capacity_log2;
        sequence_.resize(capacity);
        tasks_.resize(capacity * 2);
        ring_.words = reinterpret_cast<uint64_t>(words_);
        ring_.sequence = reinterpret_cast<uint64_t>(sequence_.data());
        ring_.tasks = reinterpret_cast<uint64_t>(tasks_.data());
        ring_.capacity_log2 = setting.capacity_log2;
        ring_.task_size = 16;
        ring_.flags = setting.flags;
        words_[gpo::test::kTail * 16] = words_[gpo::test::kHead * 16] = words_[gpo::test::kDone * 16] = setting.start;
        words_[gpo::test::kRoom * 16] = capacity;
        for (uint64_t at = setting.start; at < setting.start + capacity; ++at)
            sequence_[at % capacity] = static_cast<uint32_t>(2 * (at / capacity));
        const uint32_t producing = setting.producers * setting.lanes;
        pushes_.resize(producing * setting.each);
        const uint32_t others = setting.consumers + setting.producers + 1;
        const auto most = static_cast<uint32_t>(pushes_.size()) + 1;
        pops_.resize(others * setting.lanes * most);
        run(program.kernel(setting.kernel), most, producing);
    }

    /// Pushes and pops of tasks, by task id.
    std::map<uint32_t, Event> pushed() const { return good(pushes_); }
    std::map<uint32_t, Event> popped() const { return good(pops_); }
    uint64_t word(gpo::test::RingLine line) const { return words_[line * 16]; }
    bool twice() const { return twice_; }

    /// Requirements of every queue: no pop of a task ends before the task's push begins; if push A ended before push B
    /// began, pop B doesn't end before pop A begins.
    bool is_queue() const {
        const auto pushes = pushed(), pops = popped();
        for (const auto& [id, pop] : pops) {
            const auto push = pushes.find(id);
            if (push == pushes.end() || pop.end < push->second.begin) return false;
            for (const auto& [other, before] : pushes) {
                if (before.end > push->second.begin) continue;
                const auto its = pops.find(other);
                if (its == pops.end() ? complete_ : pop.end < its->second.begin) return false;
            }
        }
        return true;
    }
    /// Checks is_queue()'s rules, and that the ring never had more tasks than places, over all possible call orders.
    bool is_linearizable() const {
        std::vector<gpo::test::QueueCall> calls;
        for (const auto& [id, push] : pushed()) calls.push_back({gpo::test::QueueCall::push, id, push.begin, push.end});
        for (const auto& [id, pop] : popped()) calls.push_back({gpo::test::QueueCall::pop, id, pop.begin, pop.end});
        return gpo::test::is_linearizable(calls, size_t{1} << setting_.capacity_log2);
    }
    /// Each pop that reported the end returned after all tasks had been popped.
    bool ends_last() const {
        for (const Event& end : pops_)
            for (const auto& [id, pop] : popped())
                if (end.end != 0 && end.status == gpo::test::kQueueEnd && end.end < pop.end) return false;
        return true;
    }
    void set_complete(bool complete) { complete_ = complete; }

private:
    void run(const gpo_soft_kernel& kernel, uint32_t most, uint32_t producing) {
        uint32_t clock = 1;
        std::atomic<bool> ended{false};
        KernelLaunch launch;
        launch.kernel = &kernel;
        const bool disturbed = std::string(setting_.kernel) == "disturb";
        launch.grid = {setting_.producers + setting_.consumers + disturbed, 1, 1};
        launch.block = {setting_.lanes, 1, 1};
        const History history{pushes_.data(), pops_.data(), &clock, &producing};
        const int tries = setting_.tries;
        const void* const values[] = {&ring_, &setting_.producers, &setting_.each, &most, &tries, &history};
        for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
            const gpo_soft_parameter at = kernel.parameters[i];
            launch.arguments.resize(std::max<size_t>(launch.arguments.size(), at.offset + at.size));
            std::memcpy(launch.arguments.data() + at.offset, values[i], at.size);
        }
        launch.done = [&](const KernelOutcome& outcome, gpo::softgpu::Launches&) {
            CHECK(outcome.result == CUDA_SUCCESS);
            ended.store(true);
        };
        Multiprocessors::Options options;
        options.workers = setting_.producers + setting_.consumers + disturbed;
        const auto multiprocessors = Multiprocessors::create(options);
        multiprocessors->submit(multiprocessors->prepare(std::move(launch)));
        for (unsigned spins = 0; !ended.load(); ++spins) gpo::host::step(spins);
    }

    std::map<uint32_t, Event> good(const std::vector<Event>& events) const {
        std::map<uint32_t, Event> all;
        for (const Event& event : events)
            if (event.end != 0 && event.status == gpo::test::kQueueSuccess && !all.emplace(event.id, event).second)
                twice_ = true;
        return all;
    }

    Setting setting_;
    DeviceRing ring_;
    alignas(128) uint64_t words_[128] = {};
    std::vector<uint32_t> sequence_;
    std::vector<uint64_t> tasks_;
    std::vector<Event> pushes_, pops_;
    bool complete_ = true;
    mutable bool twice_ = false;
};

const Program& ring_program() {
    static const Program compiled(kSource);
    return compiled;
}

}  // namespace

TEST_CASE("whatever the order of the ring's memory operations, each task comes once, in order, and the ring ends") {
    const Setting settings[] = {
        {"meet", 1, 1, 2, 2, 3, true},
        {"meet", 1, 1, 2, 2, 3, false},
        {"meet", 2, 1, 2, 2, 4, false, 0, ((uint64_t{1} << 31) - 1) * 4 + 1},
        {"meet", 1, 2, 2, 2, 2, true},
        {"meet", 2, 2, 2, 2, 3, false},
        {"meet", 1, 1, 3, 1, 2, false},
        {"meet", 1, 1, 1, 3, 5, true},
    };
    for (const Setting& setting : settings) {
        CAPTURE(setting.capacity_log2);
        CAPTURE(setting.lanes);
        CAPTURE(setting.producers);
        CAPTURE(setting.tries);
        const Program& program = ring_program();
        gpo::test::explore(40, [&](uint64_t) {
            Meeting meeting(program, setting);
            const uint32_t tasks = setting.producers * setting.lanes * setting.each;
            const auto popped = meeting.popped();
            CHECK(popped.size() == tasks);
            CHECK(popped.begin()->first == 1);
            CHECK(popped.rbegin()->first == tasks);
            CHECK(meeting.pushed().size() == tasks);
            CHECK_FALSE(meeting.twice());
            CHECK(meeting.is_queue());
            CHECK(meeting.is_linearizable());
            CHECK(meeting.ends_last());
            CHECK(meeting.word(gpo::test::kTail) == setting.start + tasks);
            CHECK(meeting.word(gpo::test::kHead) == setting.start + tasks);
            CHECK(meeting.word(gpo::test::kDone) == setting.start + tasks);
            CHECK(meeting.word(gpo::test::kRoom) == uint64_t{1} << setting.capacity_log2);
            CHECK(meeting.word(gpo::test::kItems) == 0);
        });
    }
}

TEST_CASE("with tickets, whatever the order, each task comes once and in order, and the ring ends") {
    for (const uint32_t capacity_log2 : {1u, 2u}) {
        const Setting setting{"meet", capacity_log2, 1, 2, 2, 3, false, gpo::test::kRingTickets};
        const Program& program = ring_program();
        gpo::test::explore(60, [&](uint64_t) {
            Meeting meeting(program, setting);
            CHECK(meeting.popped().size() == 6);
            CHECK(meeting.pushed().size() == 6);
            CHECK_FALSE(meeting.twice());
            CHECK(meeting.is_queue());
            CHECK(meeting.is_linearizable());
        });
    }
}

TEST_CASE("tasks that push tasks: whatever the order, nobody is told the end before all are done") {
    for (const bool tries : {false, true}) {
        const Setting setting{"grow", 3, 1, 1, 2, 7, tries};
        const Program& program = ring_program();
        gpo::test::explore(100, [&](uint64_t) {
            Meeting meeting(program, setting);
            CHECK(meeting.popped().size() == 7);
            CHECK(meeting.pushed().size() == 7);
            CHECK_FALSE(meeting.twice());
            CHECK(meeting.is_queue());
            CHECK(meeting.is_linearizable());
            CHECK(meeting.ends_last());
        });
    }
}

TEST_CASE("whenever a ring is aborted, all calls end, and no task comes twice or out of nowhere") {
    for (const uint32_t flags : {0u, gpo::test::kRingTickets}) {
        for (const bool tries : {false, true}) {
            if (tries && flags != 0) continue;
            const Setting setting{"disturb", 1, 1, 2, 2, 20, tries, flags};
            const Program& program = ring_program();
            gpo::test::explore(40, [&](uint64_t) {
                Meeting meeting(program, setting);
                meeting.set_complete(false);
                CHECK(meeting.popped().size() <= meeting.pushed().size());
                CHECK_FALSE(meeting.twice());
                CHECK(meeting.is_queue());
                CHECK(static_cast<uint32_t>(meeting.word(gpo::test::kState)) == gpo::test::kIsAborted);
            });
        }
    }
}
