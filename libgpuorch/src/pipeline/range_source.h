// A source whose bytes can be fetched at any place by several threads at once: a file, or memory. While one chunk is
// put on the device, the next one is fetched.
#pragma once

#include "pipeline/data_source.h"

namespace gpo::pipeline {

/// Bytes that are present, without a wait. Any thread may call.
class Bytes {
public:
    virtual ~Bytes() = default;
    /// 0, or an error for `fail`.
    virtual int fetch(char* to, uint64_t at, uint64_t bytes) const noexcept = 0;
    [[noreturn]] virtual void fail(int error) const = 0;
    /// Called after the last fetch: the last occasion to throw.
    virtual void check_end() const {}
    virtual const void* direct() const noexcept { return nullptr; }
    virtual bool staged() const noexcept { return false; }
};

/// A source of the bytes [at, at + bytes) of the range.
std::unique_ptr<Source> read_range(std::unique_ptr<const Bytes> range, uint64_t at, uint64_t bytes, Team& team);

}  // namespace gpo::pipeline
