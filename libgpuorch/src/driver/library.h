// A library of somebody else, opened by name when it is first needed: CUDA's driver, NVRTC, NVML.
//
// A library closes when its Library is destroyed, unless it must stay open: if its functions have run, it may have left
// threads or exit handlers behind, which would not survive that. The reason why a library can't be used is added to the
// text `tried`: a sentence for each attempt, with "; " between them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpo::driver {

class Library {
public:
    Library() noexcept = default;   // none
    /// The first of the candidates that can be loaded, names or paths; if none can, none. `*found` then says whether
    /// the dynamic loader has found one of those that are names: such a library is there, and is broken.
    static Library open(const std::vector<std::string>& candidates, std::string* tried, bool* found = nullptr);
    Library(Library&& other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), stays_(other.stays_), name_(std::move(other.name_)) {}
    Library& operator=(Library other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(stays_, other.stays_);
        std::swap(name_, other.name_);
        return *this;
    }
    ~Library();

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The candidate that it was opened by.
    const std::string& name() const noexcept { return name_; }
    /// The file that the dynamic loader found; the name, if it doesn't say.
    std::string path() const;

    /// Looks for a function; NULL if the library doesn't have it.
    template <class Function>
    void optional(const char* symbol, Function*& function) const noexcept {
        function = reinterpret_cast<Function*>(find(symbol));
    }
    /// The same; false if the library doesn't have it.
    template <class Function>
    bool required(const char* symbol, Function*& function, std::string* tried) const {
        optional(symbol, function);
        if (!function) add_missing(symbol, tried);
        return function != nullptr;
    }

    /// From now on it is never closed.
    void stay() noexcept { stays_ = true; }

private:
    void* find(const char* symbol) const noexcept;
    void add_missing(const char* symbol, std::string* tried) const;

    void* handle_ = nullptr;
    bool stays_ = false;
    std::string name_;
};

/// Adds an attempt that failed.
void add_tried(std::string* tried, const std::string& why);

}  // namespace gpo::driver
