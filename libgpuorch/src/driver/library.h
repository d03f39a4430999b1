// A shared library opened by name at its first use: CUDA's driver, NVRTC, NVML.
//
// The destructor closes the library unless stay() was called. Call stay() once functions of the library have run: they
// may have started threads or registered exit handlers, which would crash after the close. The text `tried` collects
// the reasons why a library can't be used: a sentence for each attempt, separated by "; ".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpo::driver {

class Library {
public:
    Library() noexcept = default;   // none
    /// Loads the first candidate (name or path) that can be loaded; none if all fail. `*found` is then true if the
    /// dynamic loader has found a file for a candidate without a path: the library exists, but is broken.
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
    /// The candidate that was loaded.
    const std::string& name() const noexcept { return name_; }
    /// The file that the dynamic loader found; the name if the file is unknown.
    std::string path() const;

    /// Looks for a function; NULL if the library doesn't have it.
    template <class Function>
    void optional(const char* symbol, Function*& function) const noexcept {
        function = reinterpret_cast<Function*>(find(symbol));
    }
    /// Looks for a function; false, with the reason in `tried`, if the library doesn't have it.
    template <class Function>
    bool required(const char* symbol, Function*& function, std::string* tried) const {
        optional(symbol, function);
        if (!function) add_missing(symbol, tried);
        return function != nullptr;
    }

    /// Keeps the library open until the process ends.
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
