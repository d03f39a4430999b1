// The part that all kernel sources begin with, precompiled: the device header takes most of the time in which a small
// kernel is compiled.
//
// After the token pass a source consists of a prefix, which is the device header's preprocessed text, and the rest. GCC
// compiles the prefix once to a precompiled header, which the request's shelf stores from process to process. It is
// found by a digest of the prefix, the compiler and its options. It is copied into the compilation's own folder, beside
// the prefix: if GCC refuses the precompiled header (another build of the compiler made it), GCC reads the text.
//
// Where there is no shelf, or the header can't be made, sources are compiled whole, silently. Processes that make one
// header at the same time store identical files. Clang checks the times of files, so it gets whole sources.
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
    /// Cuts the prefix off the text where there is a precompiled one now, in `folder` as kPrefix, for a compile of the
    /// text by `command` (program, then options) with kPrefix included. False: the text is as it was. Takes as long as
    /// a compilation where the header has to be made.
    bool use(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
             const std::string& version, uint64_t deadline, std::string& text);

private:
    bool find_or_make(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
                      const std::string& name, uint64_t deadline);

    host::Mutex lock_;
    std::set<std::string> failed_;   // names of headers that couldn't be made
};

}  // namespace gpo::softgpu
