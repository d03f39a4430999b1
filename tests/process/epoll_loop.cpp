// epoll, by level and by edge: one drain a wake, each with less room than there may be entries.
#include <sys/epoll.h>
#include <unistd.h>

#include "loops/loop.hpp"

namespace {

void run(unsigned edge) {
    loop::Gpu gpu;
    loop::Queue queue(gpu);
    const int set = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN | edge;
    LOOP_REQUIRE(epoll_ctl(set, EPOLL_CTL_ADD, queue.descriptor, &event) == 0);
    queue.begin();
    while (!queue.accounts.all()) {
        LOOP_REQUIRE(epoll_wait(set, &event, 1, 30'000) == 1);
        queue.drain();
    }
    close(set);
    close(queue.descriptor);
    LOOP_CHECK(gpo_cq_destroy(queue.queue));
    queue.accounts.finish();
}

}  // namespace

int main() {
    run(0);
    run(EPOLLET);
    return 0;
}
