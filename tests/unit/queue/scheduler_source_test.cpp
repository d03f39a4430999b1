// The text of schedulers' kernels, compiled by NVRTC for a GPU. The tests need no GPU, only NVRTC's library.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "driver/nvrtc.h"
#include "queue/scheduler/scheduler_plan.h"
#include "support/report.h"

namespace {

constexpr const char* kSource = R"(
struct node { unsigned handler, number; };
__device__ int visit(gpo::task_context &at, const node &task) {
    if (task.number == 0) return at.answer(task.number, 1);
    if (at.thread() == 0 && at.push(node{1, 2}) != 0) return 1;
    return at.again(node{0, task.number - 1});
}
namespace mine {
__device__ int leave(gpo::task_context &at, const node &) { return at.stopping() ? 50 : 0; }
}
)";

// Names NVRTC's library, unless the environment does.
struct Unpacked {
    Unpacked() {
        const std::string path = std::string(GPUORCH_NVCC_FOLDER) + "/lib/libnvrtc.so.13";
        named = !std::getenv("GPUORCH_NVRTC") && access(path.c_str(), R_OK) == 0;
        if (named) setenv("GPUORCH_NVRTC", path.c_str(), 1);
    }
    ~Unpacked() {
        if (named) unsetenv("GPUORCH_NVRTC");
    }
    bool named;
};

bool compiles(const gpo::scheduler::Plan& plan) {
    gpo_scheduler_options options{};
    options.source = kSource;
    gpo::driver::CompileRequest request;
    request.source = gpo::scheduler::source_of(plan, options);
    request.file_name = "handlers.cu";
    request.compute_capability = 90;
    gpo::driver::NvrtcCompiler compiler;
    const auto result = compiler.compile(request);
    if (!result.ok) MESSAGE(result.log);
    return result.ok;
}

}  // namespace

TEST_CASE("NVRTC compiles the kernels of schedulers, of each form, queue and kind of workers") {
    const Unpacked library;
    if (gpo::driver::NvrtcCompiler().identity() == "none") return gpo::test::skip("no NVRTC on this machine");
    gpo::scheduler::Plan plan;
    plan.task_size = 16;
    plan.threads = 64;
    plan.handlers = {{"visit", {}, 0}, {"mine::leave", {}, 0}};
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        plan.workers = workers;
        plan.form = GPO_SCHEDULER_RESIDENT;
        plan.host_ring = true;
        CHECK(compiles(plan));
        plan.host_ring = false;
        plan.form = GPO_SCHEDULER_WHILE;
        CHECK(compiles(plan));
    }
    plan.workers = GPO_WORKER_THREAD;
    plan.form = GPO_SCHEDULER_GRAPHS;
    CHECK(compiles(plan));
}
