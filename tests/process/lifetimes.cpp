// A runtime is opened and shut down many times: memory, threads and descriptors don't grow.
// RUN: bare
// RUN: queues
// RUN: worked
// TIMEOUT: 1200
#include "process/process.h"

using namespace gpo::test;

namespace {

/// A queue whose entry comes at shutdown can be read and destroyed after the end of its runtime.
void outlive_runtime() {
    gpo_runtime_t runtime = nullptr;
    gpo_timeline_t timeline = nullptr;
    gpo_cq_t queue = nullptr;
    gpo_completion entry{};
    uint64_t count = 0;
    int32_t descriptor = -1;
    EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
    EXPECT_OK(gpo_timeline_create(runtime, nullptr, &timeline));
    EXPECT_OK(gpo_cq_create(runtime, nullptr, &queue));
    EXPECT_OK(gpo_cq_get_fd(queue, &descriptor));
    EXPECT_OK(gpo_timeline_notify(timeline, 5, queue, 99));
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    EXPECT_OK(gpo_cq_wait(queue, -1));
    EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    EXPECT(count == 1 && entry.user_data == 99 && entry.status == GPO_CANCELLED);
    EXPECT(gpo_cq_wait(queue, -1) == GPO_SHUT_DOWN);
    EXPECT_OK(gpo_cq_destroy(queue));
    close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    const int turns = kind != "worked" ? (full() ? 100'000 : 2'000) : (full() ? 10'000 : 100);
    int descriptors_before = 0, threads_before = 0;
    long resident_before = 0;
    for (int turn = 0; turn < turns; ++turn) {
        if (kind == "bare") {
            gpo_runtime_t runtime = nullptr;
            EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
            EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
        } else if (kind == "queues") {
            outlive_runtime();
        } else {
            Opened a;
            a.check_works();
            a.shut_down();
            EXPECT_OK(gpo_cq_destroy(a.queue));
        }
        if (turn == turns / 4) {
            descriptors_before = descriptors();
            threads_before = threads();
            resident_before = resident();
        }
    }
    EXPECT(descriptors() == descriptors_before);
    EXPECT(threads() == threads_before);
    const long grown = resident() - resident_before;
    std::printf("%d turns: %ld KiB more\n", turns * 3 / 4, grown / 1024);
    EXPECT(grown < 4 << 20);
    return 0;
}
