// Shared by tests of recordings without a capture of the driver.
#pragma once

#include <memory>
#include <string>

#include "conformance/template_rig.h"
#include "driver/driver.h"
#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "stream/stream.h"

namespace gpo::test {

/// The driver's calls are counted, and fail on request.
struct Interposed {
    /// `old`: the driver captures into no graph of the caller's, as before CUDA 12.3.
    explicit Interposed(bool old = false) {
        driver::set_interposer([old](std::shared_ptr<driver::Driver> driver) {
            auto wrapped = driver::recorder::wrap(driver::faults::wrap(std::move(driver)));
            if (old) wrapped->table.cuStreamBeginCaptureToGraph = nullptr;
            return wrapped;
        });
    }
    ~Interposed() {
        driver::faults::disarm();
        driver::set_interposer(
            [](std::shared_ptr<driver::Driver> driver) { return driver::faults::wrap(std::move(driver)); });
    }
};

/// Two streams, and kernels whose order shows: `word = word * 3 + by`.
struct DirectRig : Interposed, WordsRig {
    explicit DirectRig(uint32_t flags = 0, bool old = false)
        : Interposed(old), side(stream("side", flags)), memory(WordsRig::memory(256)),
          step(kernel("extern \"C\" __global__ void step(unsigned* word, unsigned by) { *word = *word * 3 + by; }\n",
                      "step")) {}
    void begin(gpo_template_t recorded) {
        for (uint32_t i = 0; i < kWords; ++i) words[i] = 0;
        driver::recorder::clear();
        REQUIRE_OK(gpo_template_begin(recorded, on));
    }
    void put_step(gpo_stream_t stream, uint32_t word, uint32_t by) {
        CHECK_OK(launch(stream, step, 1, 1, at(word), by));
    }
    void fork() {
        CHECK_OK(gpo_event_record(forked, on));
        CHECK_OK(gpo_stream_wait_event(side, forked));
    }
    void join() {
        CHECK_OK(gpo_event_record(joined, side));
        CHECK_OK(gpo_stream_wait_event(on, joined));
    }
    CUstream native(gpo_stream_t of) {
        void* handle = nullptr;
        REQUIRE_OK(gpo_stream_get_native(of, &handle));
        return static_cast<CUstream>(handle);
    }
    /// A kernel that puts 11 into a word. Its module has no other user.
    Kernel kernel_that_goes(const char* name) {
        const std::string source =
            "extern \"C\" __global__ void " + std::string(name) + "(unsigned* word) { *word = 11; }\n";
        auto compile = sized<gpo_compile_options>();
        compile.source = source.c_str();
        Module module;
        REQUIRE_OK(gpo_module_compile(device, &compile, module.out()));
        Kernel made;
        REQUIRE_OK(gpo_module_get_kernel(module, name, made.out()));
        return made;
    }
    /// Fills the first word of `memory`, as another library would.
    void fill_natively(CUstream on_native, uint32_t value) {
        const Pin<gpo::Stream> pin(on.get());
        const DriverScope scope(pin->context());
        CHECK(pin->table().cuMemsetD32Async(memory, value, 1, on_native) == CUDA_SUCCESS);
    }
    /// word 0: ((1) * 3 + 2) * 3 + 4; word 1: 3.
    void put_diamond() {
        put_step(on, 0, 1);
        fork();
        put_step(on, 0, 2);
        put_step(side, 1, 3);
        join();
        put_step(on, 0, 4);
    }
    void check_diamond(gpo_template_t recorded) {
        Graph graph = make_graph(recorded);
        words[0] = words[1] = 0;
        run(graph);
        CHECK(word(0) == 19);
        CHECK(word(1) == 3);
    }
    Stream side;
    Memory memory;
    Kernel step;
    Event forked = event(), joined = event();
};

/// Captures of the driver that were begun, and nodes that were added to its graphs, since DirectRig::begin.
inline uint64_t captures() { return driver::recorder::count(driver::Function::cuStreamBeginCapture); }
inline uint64_t added() { return driver::recorder::count(driver::Function::cuGraphAddNode); }

}  // namespace gpo::test
