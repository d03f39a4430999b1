// An environment variable that a test sets.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace gpo::test {

/// Sets an environment variable for its life.
class Setting {
public:
    Setting(const char* name, const std::string& value) : name_(name), before_(now()) {
        setenv(name, value.c_str(), 1);
    }
    ~Setting() {
        if (before_) setenv(name_, before_->c_str(), 1);
        else unsetenv(name_);
    }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

private:
    std::optional<std::string> now() const {
        const char* value = std::getenv(name_);
        return value ? std::optional<std::string>(value) : std::nullopt;
    }
    const char* const name_;
    const std::optional<std::string> before_;
};

}  // namespace gpo::test
