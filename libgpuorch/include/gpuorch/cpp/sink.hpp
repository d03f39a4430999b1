// sink.hpp: the output of a pipeline's run (pipeline.h).
#ifndef GPUORCH_CPP_SINK_HPP
#define GPUORCH_CPP_SINK_HPP

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "error.hpp"

namespace gpuorch {

/// The output of a run: to_file, to_descriptor, to_memory, to_callable or to_nothing. Copies share the callable.
class sink {
public:
    /// Calls `callable(const gpo_chunk&)` for each chunk, in order, once it is written. The callable returns nothing or
    /// a gpo_status; GPO_END ends the run as a success. An exception ends it too.
    template <class Callable>
    sink& take(Callable&& callable) {
        using Own = std::decay_t<Callable>;
        auto own = std::make_shared<Own>(std::forward<Callable>(callable));
        raw_.user = own.get();
        raw_.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            Own& take = *static_cast<Own*>(user);
            if constexpr (std::is_invocable_r_v<gpo_status, Own&, const gpo_chunk&>)
                return take(*chunk);
            else
                take(*chunk);
            return GPO_SUCCESS;
        };
        callable_ = std::move(own);
        return *this;
    }

private:
    friend class pipeline;
    friend sink to_file(std::string path);
    friend sink to_descriptor(int descriptor);
    friend sink to_memory(void* memory, std::uint64_t bytes);
    friend sink to_nothing();
    template <class Callable>
    friend sink to_callable(Callable&& callable);
    sink() = default;

    gpo_sink raw_{};
    std::optional<std::string> path_;
    std::shared_ptr<void> callable_;
};

[[nodiscard]] inline sink to_file(std::string path) {
    sink made;
    made.raw_.kind = GPO_SINK_FILE;
    made.path_ = std::move(path);
    return made;
}
/// The descriptor is written and not closed.
[[nodiscard]] inline sink to_descriptor(int descriptor) {
    sink made;
    made.raw_.kind = GPO_SINK_FILE;
    made.raw_.flags = GPO_SINK_USE_DESCRIPTOR;
    made.raw_.descriptor = descriptor;
    return made;
}
/// The memory must stay until the run has ended.
[[nodiscard]] inline sink to_memory(void* memory, std::uint64_t bytes) {
    sink made;
    made.raw_.kind = GPO_SINK_MEMORY;
    made.raw_.memory = memory;
    made.raw_.bytes = bytes;
    return made;
}
/// A container, an array, pinned memory: output that doesn't fit is GPO_LIMIT_EXCEEDED.
template <class Host>
[[nodiscard]] sink to_memory(Host& memory) {
    static_assert(std::is_trivially_copyable_v<std::remove_pointer_t<decltype(std::data(memory))>>,
                  "the GPU copies bytes");
    return to_memory(std::data(memory), std::size(memory) * sizeof *std::data(memory));
}
/// The output isn't copied out. With `take` the callable sees the results.
[[nodiscard]] inline sink to_nothing() { return {}; }
/// The output goes to the callable alone: see sink::take.
template <class Callable>
[[nodiscard]] sink to_callable(Callable&& callable) {
    sink made;
    made.raw_.kind = GPO_SINK_CALLBACK;
    made.take(std::forward<Callable>(callable));
    return made;
}

}  // namespace gpuorch

#endif
