// A thread is cancelled (pthread_cancel) while it is inside a call of the library: the call ends as it would have, the thread
// goes at its next cancellation point, nothing terminates the process and no lock is left held.
// TIMEOUT: 60
#include <pthread.h>

#include <atomic>

#include "process/process.h"

using namespace gpo::test;

namespace {

Opened* opened = nullptr;
gpo_timeline_t timeline = nullptr;
std::atomic<bool> inside{false};
std::atomic<int> answer{-1};

// Each waits until main lets it go on.
void* wait_for_queue(void*) {
    inside = true;
    answer = gpo_cq_wait(opened->queue, kPatience);
    pthread_testcancel();
    return nullptr;
}
void* wait_for_timeline(void*) {
    inside = true;
    answer = gpo_timeline_wait(timeline, 1, kPatience);
    pthread_testcancel();
    return nullptr;
}
void* work_all_the_time(void*) {
    inside = true;
    for (uint64_t i = 0;; ++i) {
        gpo_event_t event = nullptr;
        EXPECT_OK(gpo_event_create(opened->device, nullptr, &event));
        EXPECT_OK(gpo_event_record(event, opened->stream));
        EXPECT_OK(gpo_event_destroy(event));
        pthread_testcancel();
    }
}

void cancel(void* (*body)(void*), void (*let_go)()) {
    inside = false;
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, body, nullptr) == 0);
    while (!inside) usleep(100);
    usleep(2000);  // so that it most likely is inside; right either way
    EXPECT(pthread_cancel(thread) == 0);
    if (let_go) let_go();
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
}

}  // namespace

int main() {
    Opened a;
    opened = &a;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &timeline));
    cancel(wait_for_queue, [] { EXPECT_OK(gpo_cq_wake(opened->queue)); });
    EXPECT(answer == GPO_SUCCESS);
    cancel(wait_for_timeline, [] { EXPECT_OK(gpo_timeline_signal(timeline, 1)); });
    EXPECT(answer == GPO_SUCCESS);
    for (int i = 0; i < (full() ? 500 : 20); ++i) cancel(work_all_the_time, nullptr);
    a.check_works();
    // Cancellation is as the thread had it, after a call.
    int state = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT(state == PTHREAD_CANCEL_ENABLE);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    EXPECT_OK(gpo_stream_query(a.stream));
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT(state == PTHREAD_CANCEL_DISABLE);
    a.shut_down();
    return 0;
}
