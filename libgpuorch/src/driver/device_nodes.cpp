#include "driver/device_nodes.h"

#include <dirent.h>
#include <unistd.h>

#include <string_view>

#include "driver/driver.h"
#include "host/host.h"

namespace gpo::driver {

namespace {

constinit host::Mutex g_lock;

/// Never destroyed: threads may still run at exit.
std::string& folder() {
    static auto& kept = *new std::string("/dev");
    return kept;
}

/// The first node in the folder by name; "" if none.
std::string first_listed(const std::string& in) {
    std::string first;
    DIR* const opened = opendir(in.c_str());
    if (!opened) return first;
    while (const dirent* entry = readdir(opened)) {
        const std::string_view name = entry->d_name;
        if (name.starts_with("nvidia") && (first.empty() || name < first)) first = name;
    }
    closedir(opened);
    return first.empty() ? first : in + "/" + first;
}

}  // namespace

std::string nvidia_node() {
    std::string in;
    {
        std::lock_guard guard(g_lock);
        in = folder();
    }
    // Try the usual names first: listing a folder fails in some sandboxes, and without a free descriptor.
    for (const char* name : {"/nvidia0", "/nvidiactl"})
        if (access((in + name).c_str(), F_OK) == 0) return in + name;
    return first_listed(in);
}

void set_device_folder(std::string in) {
    std::lock_guard guard(g_lock);
    folder() = std::move(in);
}

}  // namespace gpo::driver
