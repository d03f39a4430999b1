// libuv: a poll handle on the queue's descriptor.
#include <unistd.h>
#include <uv.h>

#include "loop.hpp"

int main() {
    loop::Gpu gpu;
    loop::Queue queue(gpu);
    uv_loop_t uv;
    uv_poll_t poll;
    LOOP_REQUIRE(uv_loop_init(&uv) == 0 && uv_poll_init(&uv, &poll, queue.descriptor) == 0);
    poll.data = &queue;
    LOOP_REQUIRE(uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* handle, int status, int) {
                     LOOP_REQUIRE(status == 0);
                     auto& entries = *static_cast<loop::Queue*>(handle->data);
                     entries.drain();
                     if (entries.accounts.all()) uv_close(reinterpret_cast<uv_handle_t*>(handle), nullptr);
                 }) == 0);
    queue.begin();
    uv_run(&uv, UV_RUN_DEFAULT);
    LOOP_REQUIRE(uv_loop_close(&uv) == 0);
    close(queue.descriptor);
    LOOP_CHECK(gpo_cq_destroy(queue.queue));
    return queue.accounts.finish();
}
