// Files as sources and sinks. Regular files are read at several places at once. A wait for a pipe or a similar file can
// be interrupted. A file that is written has a temporary name until it is complete.
#pragma once

#include <memory>
#include <string>

#include "pipeline/sink.h"
#include "pipeline/data_source.h"

namespace gpo::pipeline {

/// An open descriptor; closed at the end if it is ours.
class Descriptor {
public:
    Descriptor() noexcept = default;
    Descriptor(int number, bool owned) noexcept : number_(number), owned_(owned) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.number_), owned_(other.owned_) { other.owned_ = false; }
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();
    int get() const noexcept { return number_; }
    /// Closes the descriptor now. Returns an errno, or 0.
    int close() noexcept;

private:
    int number_ = -1;
    bool owned_ = false;
};

/// Wakes a thread that waits for a descriptor.
class Interrupt {
public:
    Interrupt();  // throws Failure
    void raise() noexcept;
    /// Waits until `descriptor` can be read or written (`events` of poll). False once raised.
    bool wait(int descriptor, short events) noexcept;

private:
    Descriptor event_;
};

std::unique_ptr<Source> open_file_source(const gpo_source& source, Team& team);
std::unique_ptr<Sink> open_file_sink(const gpo_sink& sink);

}  // namespace gpo::pipeline
