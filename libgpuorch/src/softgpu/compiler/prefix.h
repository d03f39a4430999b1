// What all kernel sources begin with, precompiled: most of the time of a small kernel's compilation goes into the device header.
//
// After the token pass a source is a prefix, which is the device header's preprocessed text, and the rest. The prefix is
// compiled once, by GCC, to a precompiled header that the request's shelf keeps from process to process; it is found again by a
// digest of the prefix, the compiler and its options. It is copied into the compilation's own folder beside the prefix: GCC
// takes the text where it doesn't like the precompiled one (another build of the compiler). Where there is no shelf, or the
// header can't be made, sources are compiled whole, and nobody is told. Processes that make one header at once each put the
// same one there. Clang checks the times of files and gets whole sources.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "host/host.h"
#include "softgpu/compiler/process.h"

namespace gpo::softgpu {

/// A line that the rest begins with; text of ours puts it in front of the source.
inline constexpr char kPrefixEnd[] = "#pragma gpuorch source\n";

/// Files in the folder of a compilation.
inline constexpr char kPrefix[] = "prefix.h", kPrecompiledPrefix[] = "prefix.h.gch";

/// Of all compilations of a compiler. Any thread.
class PrecompiledPrefixes {
public:
    /// Cuts the prefix off the text where there is a precompiled one now, in `folder` as kPrefix, for a compile of the text by
    /// `command` (program, then options) with kPrefix included. False: the text is as it was. Takes as long as a
    /// compilation where the header has to be made.
    bool use(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
             const std::string& version, uint64_t deadline, std::string& text);

private:
    bool find_or_make(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
                      const std::string& name, uint64_t deadline);

    host::Mutex lock_;
    std::set<std::string> failed_;   // names of headers that couldn't be made
};

}  // namespace gpo::softgpu
