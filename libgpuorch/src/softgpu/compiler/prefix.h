// The part that all kernel sources begin with, precompiled: the device header takes most of the time in which a small
// kernel is compiled.
//
// After the token pass a source consists of a prefix, which is the device header's preprocessed text, and the rest. GCC
// compiles the prefix once to a precompiled header, which the request's shelf stores from process to process. The key
// is a digest of the prefix, the compiler and its options. A compilation copies the precompiled header into its own
// folder, beside the prefix: if GCC refuses the header (another build of the compiler made it), GCC reads the text.
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

/// The first line of the rest; our text puts the line in front of the source.
inline constexpr char kPrefixEnd[] = "#pragma gpuorch source\n";

/// Files in the folder of a compilation.
inline constexpr char kPrefix[] = "prefix.h", kPrecompiledPrefix[] = "prefix.h.gch";

/// The precompiled prefixes of all compilations of a compiler. Any thread.
class PrecompiledPrefixes {
public:
    /// Finds or makes the precompiled prefix, puts it into `folder` as kPrefix, and cuts the prefix off the text.
    /// `command` (program, then options) then compiles the text with kPrefix included. False: the text is unchanged.
    /// Takes as long as a compilation if the header has to be made.
    bool use(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
             const std::string& version, uint64_t deadline, std::string& text);

private:
    bool find_or_make(driver::Shelf& shelf, const PrivateFolder& folder, const std::vector<std::string>& command,
                      const std::string& name, uint64_t deadline);

    host::Mutex lock_;
    std::set<std::string> failed_;   // names of headers that couldn't be made
};

}  // namespace gpo::softgpu
