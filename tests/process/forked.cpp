// fork() after opening: in the child every call says so, destroys included; it exits cleanly, and the parent is unharmed.
// A child of a process that has opened nothing may use the library.
// RUN: before
// RUN: after
// RUN: exec
// REPEAT: 2 100
#include "process/process.h"

using namespace gpo::test;

namespace {

int forked_child(const Opened& a) {
    EXPECT_STATUS(GPO_FORKED, gpo_stream_query(a.stream));
    EXPECT_STATUS(GPO_FORKED, gpo_stream_destroy(a.stream));
    EXPECT_STATUS(GPO_FORKED, gpo_device_destroy(a.device));
    EXPECT_STATUS(GPO_FORKED, gpo_stream_notify(a.stream, a.queue, 1));
    EXPECT_STATUS(GPO_FORKED, gpo_cq_wait(a.queue, kPatience));
    EXPECT_STATUS(GPO_FORKED, gpo_runtime_shutdown(a.runtime, kPatience));
    gpo_runtime_t runtime = nullptr;
    EXPECT_STATUS(GPO_FORKED, gpo_runtime_create(nullptr, &runtime));
    EXPECT(runtime == nullptr);
    EXPECT(std::string(gpo_status_name(GPO_FORKED)) == "GPO_FORKED");
    return 5;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    if (kind == "before") {
        EXPECT(in_child([] {
                   Opened a;
                   a.check_works();
                   a.shut_down();
                   return 5;
               }) == 5);
        Opened a;
        a.check_works();
        a.shut_down();
        return 0;
    }
    Opened a;
    a.check_works();
    if (kind == "after") {
        EXPECT(in_child([&] { return forked_child(a); }) == 5);
        // The ways out with handlers and destructors.
        EXPECT(in_child([&]() -> int { std::exit(6); }) == 6);
    } else {
        EXPECT(in_child([]() -> int {
                   execl("/bin/sh", "sh", "-c", "exit 4", nullptr);
                   return 1;
               }) == 4);
    }
    a.check_works();
    a.shut_down();
    return 0;
}
