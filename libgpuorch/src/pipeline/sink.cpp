// Sinks that are memory or a callback, and the sink that discards the output.
#include "pipeline/sink.h"

#include <cstring>

#include "core/struct_options.h"
#include "pipeline/data_file.h"

namespace gpo::pipeline {

namespace {

/// GPO_SINK_NONE, and GPO_SINK_CALLBACK, whose callback reads the staged output.
class NoSink final : public Sink {
public:
    explicit NoSink(bool output) noexcept : output_(output) {}
    bool wants_output() const noexcept override { return output_; }
    void put(const void*, uint64_t, uint64_t) override {}

private:
    const bool output_;
};

class MemorySink final : public Sink {
public:
    MemorySink(void* memory, uint64_t bytes, bool pinned, Team& team)
        : memory_(static_cast<char*>(memory)), bytes_(bytes), pinned_(pinned), team_(team) {}

    void check_room(uint64_t end) const override {
        if (end > bytes_)
            fail(GPO_LIMIT_EXCEEDED, "the sink's memory has ", bytes_, " bytes, and output goes on to byte ", end);
    }
    void* direct() const noexcept override { return pinned_ ? memory_ : nullptr; }
    bool staged() const noexcept override { return true; }

    void put(const void* output, uint64_t at, uint64_t bytes) override {
        team_.run(bytes, [=, this](uint64_t offset, uint64_t count) {
            std::memcpy(memory_ + at + offset, static_cast<const char*>(output) + offset, count);
        });
    }

private:
    char* const memory_;
    const uint64_t bytes_;
    const bool pinned_;
    Team& team_;
};

}  // namespace

std::unique_ptr<Sink> open_sink(const gpo_sink& sink, Context& context, Team& team) {
    refuse_unknown_flags(sink.flags, GPO_SINK_USE_DESCRIPTOR, "sink.flags");
    if (sink.flags != 0 && sink.kind != GPO_SINK_FILE)
        fail(GPO_INVALID_ARGUMENT, "sink.flags has GPO_SINK_USE_DESCRIPTOR, and the sink is no file");
    switch (sink.kind) {
        case GPO_SINK_NONE:
            return std::make_unique<NoSink>(false);
        case GPO_SINK_MEMORY: {
            if (!sink.memory && sink.bytes != 0) fail(GPO_INVALID_ARGUMENT, "sink.memory is NULL");
            if (reinterpret_cast<uintptr_t>(sink.memory) + sink.bytes < sink.bytes)
                fail(GPO_INVALID_ARGUMENT, "sink.bytes is more than the address space: ", sink.bytes);
            const bool pinned = is_pinned(context, sink.memory, sink.bytes, "sink.memory");
            return std::make_unique<MemorySink>(sink.memory, sink.bytes, pinned, team);
        }
        case GPO_SINK_FILE:
            return open_file_sink(sink);
        case GPO_SINK_CALLBACK:
            if (!sink.take) fail(GPO_INVALID_ARGUMENT, "sink.take is NULL");
            return std::make_unique<NoSink>(true);
    }
    fail(GPO_INVALID_ARGUMENT, "sink.kind is ", sink.kind, ", which is none of GPO_SINK_*");
}

}  // namespace gpo::pipeline
