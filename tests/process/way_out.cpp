// However the process ends while streams run, it ends with its own exit code.
// RUN: return
// RUN: exit
// RUN: _exit
// RUN: quick_exit
// RUN: static_owner
// RUN: thread_local_owner
// RUN: atexit
// RUN: callback
// RUN: other_thread
// EXIT: 7
// TIMEOUT: 20
// REPEAT: 3 1000
#include <thread>

#include "process/process.h"

using namespace gpo::test;

namespace {

struct Owner {
    gpo_runtime_t runtime = nullptr;
    uint32_t* gate = nullptr;
    ~Owner() {
        if (!runtime) return;
        __atomic_store_n(gate, 1u, __ATOMIC_SEQ_CST);
        const gpo_status status = gpo_runtime_shutdown(runtime, kPatience);
        if (status != GPO_SUCCESS) end_failed(__FILE__, __LINE__, gpo_status_name(status));
    }
};
Owner static_owner;
thread_local Owner thread_owner;

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    static Opened a;
    static uint32_t* words = pinned(a.device, 16);
    gpo_kernel_t gate = compile(a.device, kGateSource, "gate");
    EXPECT_OK(launch(a.stream, gate, words));
    EXPECT_OK(gpo_stream_notify(a.stream, a.queue, 1));
    if (kind == "return") return 7;
    if (kind == "exit") std::exit(7);
    if (kind == "_exit") _exit(7);
    if (kind == "quick_exit") std::quick_exit(7);
    if (kind == "static_owner") {
        static_owner.runtime = a.runtime;
        static_owner.gate = words;
        return 7;
    }
    if (kind == "thread_local_owner") {
        std::thread([&] {
            thread_owner.runtime = a.runtime;
            thread_owner.gate = words;
        }).join();
        return 7;
    }
    if (kind == "atexit") {
        std::atexit([] {
            __atomic_store_n(words, 1u, __ATOMIC_SEQ_CST);
            EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
            a.shut_down();
        });
        return 7;
    }
    if (kind == "callback") {
        // From a log function, on whichever thread it is called.
        auto options = sized<gpo_runtime_options>();
        options.log = [](void*, int32_t, const char*) { std::exit(7); };
        options.log_level = GPO_LOG_DEBUG;
        Opened second(options);
        second.shut_down();
        return 1;
    }
    if (kind == "other_thread") {
        std::thread waiter([&] { gpo_stream_wait(a.stream, -1); });
        std::thread leaver([] { std::exit(7); });
        leaver.join();
        waiter.join();
    }
    return 1;
}
