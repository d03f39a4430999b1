// source.hpp: the input of a pipeline's run (pipeline.h).
#ifndef GPUORCH_CPP_SOURCE_HPP
#define GPUORCH_CPP_SOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "error.hpp"

namespace gpuorch {

/// The input of a run: from_file, from_descriptor, from_memory or from_callable. Copies share the callable.
class source {
public:
    /// Files: where to begin, and how much to read at most.
    source& offset(std::uint64_t bytes) { return raw_.offset = bytes, *this; }
    source& bytes(std::uint64_t most) { return raw_.bytes = most, *this; }
    /// Files: a change while the file is read ends the run (GPO_SOURCE_UNCHANGED).
    source& unchanged() { return raw_.flags |= GPO_SOURCE_UNCHANGED, *this; }

private:
    friend class pipeline;
    friend source from_file(std::string path);
    friend source from_descriptor(int descriptor);
    friend source from_memory(const void* memory, std::uint64_t bytes);
    template <class Callable>
    friend source from_callable(Callable&& callable);
    source() = default;

    gpo_source raw_{};
    std::optional<std::string> path_;
    std::shared_ptr<void> callable_;
};

[[nodiscard]] inline source from_file(std::string path) {
    source made;
    made.raw_.kind = GPO_SOURCE_FILE;
    made.path_ = std::move(path);
    return made;
}
/// The descriptor is read and not closed.
[[nodiscard]] inline source from_descriptor(int descriptor) {
    source made;
    made.raw_.kind = GPO_SOURCE_FILE;
    made.raw_.flags = GPO_SOURCE_USE_DESCRIPTOR;
    made.raw_.descriptor = descriptor;
    return made;
}
/// The memory must stay until the run has ended.
[[nodiscard]] inline source from_memory(const void* memory, std::uint64_t bytes) {
    source made;
    made.raw_.kind = GPO_SOURCE_MEMORY;
    made.raw_.memory = memory;
    made.raw_.bytes = bytes;
    return made;
}
/// A container, an array, pinned memory.
template <class Host>
[[nodiscard]] source from_memory(const Host& memory) {
    static_assert(std::is_trivially_copyable_v<std::remove_pointer_t<decltype(std::data(memory))>>,
                  "the GPU copies bytes");
    return from_memory(std::data(memory), std::size(memory) * sizeof *std::data(memory));
}
/// `std::size_t callable(void* buffer, std::size_t capacity)` writes to the buffer and returns how many bytes; 0 is the
/// end. An exception ends the run.
template <class Callable>
[[nodiscard]] source from_callable(Callable&& callable) {
    using Own = std::decay_t<Callable>;
    auto own = std::make_shared<Own>(std::forward<Callable>(callable));
    source made;
    made.raw_.kind = GPO_SOURCE_CALLBACK;
    made.raw_.user = own.get();
    made.raw_.fill = [](void* user, void* buffer, std::uint64_t capacity, std::uint64_t* bytes) -> gpo_status {
        *bytes = (*static_cast<Own*>(user))(buffer, static_cast<std::size_t>(capacity));
        return *bytes != 0 ? GPO_SUCCESS : GPO_END;
    };
    made.callable_ = std::move(own);
    return made;
}

}  // namespace gpuorch

#endif
