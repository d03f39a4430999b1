// The wrappers of a driver's table: faults on request, and the record of calls.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "driver/faults.h"
#include "driver/call_recorder.h"

using namespace gpo::driver;

namespace {

int calls_below = 0;

/// A driver whose functions count themselves.
struct Plain final : Driver {
    Plain() {
        name = "plain";
        version = 12345;
        software = has_libraries = reports_faults = uses_host_cores = has_room = true;
        builtin_image = "image";
        table.cuInit = [](unsigned) { return ++calls_below, CUDA_SUCCESS; };
        table.cuCtxGetId = [](CUcontext, unsigned long long* id) { return *id = 7, ++calls_below, CUDA_SUCCESS; };
        table.cuStreamQuery = [](CUstream) { return ++calls_below, CUDA_ERROR_NOT_READY; };
    }
    Compiler& compiler() override { std::abort(); }
};

struct Disarmed {
    ~Disarmed() { faults::disarm(); }
};

}  // namespace

TEST_CASE("the k-th call of a function fails, once, and does not reach the driver") {
    Disarmed at_end;
    const auto driver = faults::wrap(std::make_shared<Plain>());
    faults::arm({.function = Function::cuInit, .kth = 3, .result = CUDA_ERROR_OUT_OF_MEMORY});
    calls_below = 0;
    std::vector<CUresult> answers;
    for (int i = 0; i < 5; ++i) answers.push_back(driver->table.cuInit(0));
    CHECK(answers == std::vector<CUresult>{CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_SUCCESS,
                                           CUDA_SUCCESS});
    CHECK(calls_below == 4);
    CHECK(faults::seen() == 5);
    CHECK(faults::failed() == 1);
}

TEST_CASE("a lasting fault fails the k-th call of any function and all after it") {
    Disarmed at_end;
    const auto driver = faults::wrap(std::make_shared<Plain>());
    faults::arm({.function = {}, .kth = 2, .result = CUDA_ERROR_LAUNCH_FAILED, .for_ever = true});
    unsigned long long id = 0;
    CHECK(driver->table.cuInit(0) == CUDA_SUCCESS);
    CHECK(driver->table.cuCtxGetId(nullptr, &id) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(id == 0);
    CHECK(driver->table.cuStreamQuery(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    faults::disarm();
    CHECK(driver->table.cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
}

TEST_CASE("a wrapped driver looks like the one beneath, absent functions included") {
    const auto driver = faults::wrap(std::make_shared<Plain>());
    CHECK(std::string(driver->name) == "plain");
    CHECK(driver->version == 12345);
    CHECK(driver->software);
    CHECK(driver->has_libraries);
    CHECK(driver->reports_faults);
    CHECK(driver->uses_host_cores);
    CHECK(driver->has_room);
    CHECK(driver->builtin_image == "image");
    CHECK_FALSE(has(driver->table, Function::cuMemcpyBatchAsync));
    CHECK_FALSE(has(driver->table, Function::cuEventQuery));
}

TEST_CASE("the record has every call in its order, with thread and answer") {
    const auto driver = recorder::wrap(std::make_shared<Plain>());
    recorder::clear();
    driver->table.cuInit(0);
    std::thread([&] { driver->table.cuStreamQuery(nullptr); }).join();
    driver->table.cuInit(0);
    const auto calls = recorder::calls();
    REQUIRE(calls.size() == 3);
    CHECK(calls[0].function == Function::cuInit);
    CHECK(calls[1].function == Function::cuStreamQuery);
    CHECK(calls[1].result == CUDA_ERROR_NOT_READY);
    CHECK(calls[2].function == Function::cuInit);
    CHECK(calls[0].thread == calls[2].thread);
    CHECK(calls[0].thread != calls[1].thread);
    CHECK(recorder::count(Function::cuInit) == 2);
    CHECK(recorder::count() == 3);
}

TEST_CASE("faults beneath a record are recorded as the driver's answers") {
    Disarmed at_end;
    const auto driver = recorder::wrap(faults::wrap(std::make_shared<Plain>()));
    recorder::clear();
    faults::arm({.function = Function::cuInit, .result = CUDA_ERROR_NO_DEVICE});
    CHECK(driver->table.cuInit(0) == CUDA_ERROR_NO_DEVICE);
    REQUIRE(recorder::calls().size() == 1);
    CHECK(recorder::calls()[0].result == CUDA_ERROR_NO_DEVICE);
}

TEST_CASE("of more calls than the record keeps it has the newest, and counts all") {
    const auto driver = recorder::wrap(std::make_shared<Plain>());
    recorder::clear();
    for (int i = 0; i < 70'000; ++i) driver->table.cuInit(0);
    driver->table.cuStreamQuery(nullptr);
    CHECK(recorder::count(Function::cuInit) == 70'000);
    const auto calls = recorder::calls();
    CHECK(calls.size() == 65536);
    CHECK(calls.back().function == Function::cuStreamQuery);
    recorder::clear();
}

TEST_CASE("what is opened passes through the interposer while there is one") {
    const auto plain = std::make_shared<Plain>();
    set_interposer([](std::shared_ptr<Driver> driver) { return recorder::wrap(std::move(driver)); });
    CHECK(interpose(plain) != plain);
    set_interposer({});
    CHECK(interpose(plain) == plain);
    CHECK(interpose(nullptr) == nullptr);
}

TEST_CASE("functions know their names, and hiding later ones leaves the required") {
    CHECK(std::string(function_name(Function::cuMemAlloc)) == "cuMemAlloc");
    CHECK(function_required(Function::cuLaunchKernel));
    CHECK_FALSE(function_required(Function::cuFuncLoad));
    Plain plain;
    plain.table.cuFuncLoad = [](CUfunction) { return CUDA_SUCCESS; };
    plain.table.cuFuncGetName = [](const char**, CUfunction) { return CUDA_SUCCESS; };
    hide_later(plain.table, 12030);
    CHECK_FALSE(has(plain.table, Function::cuFuncLoad));
    CHECK(has(plain.table, Function::cuFuncGetName));
    CHECK(has(plain.table, Function::cuInit));
}
