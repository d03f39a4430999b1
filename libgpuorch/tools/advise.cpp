// gpuorch-advise: reads a trace of the library, and says where the GPU's time went and what would change that.
#include <cstdio>
#include <cstring>
#include <string>

#include "gpuorch/gpuorch.h"

namespace {

constexpr const char* kUsage =
    "usage: gpuorch-advise TRACE\n"
    "\n"
    "Reads a trace that libgpuorch wrote, gzipped or not (set GPUORCH_TRACE=trace.json.gz and run your program), and\n"
    "says for each GPU what its time went to, and which form of work would change that.\n";

// False if the trace can't be read.
bool advise(const char* path) {
    std::string text;
    size_t needed = 0;
    gpo_status status = gpo_advise_trace(path, nullptr, nullptr, 0, &needed);
    while (status == GPO_SUCCESS && text.size() < needed) {  // a trace that is being written grows
        text.resize(needed);
        status = gpo_advise_trace(path, nullptr, text.data(), text.size(), &needed);
        if (status == GPO_BUFFER_TOO_SMALL) status = GPO_SUCCESS;
    }
    if (status == GPO_SUCCESS) {
        std::fputs(text.c_str(), stdout);
        return std::fflush(stdout) == 0;
    }
    gpo_error error{};
    error.struct_size = sizeof error;
    gpo_last_error(&error);
    std::fprintf(stderr, "gpuorch-advise: %s\n", error.message);
    return false;
}

}  // namespace

int main(int count, char** arguments) {
    const bool help = count == 2 && std::strcmp(arguments[1], "--help") == 0;
    if (count != 2 || help) {
        std::fputs(kUsage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    return advise(arguments[1]) ? 0 : 1;
}
