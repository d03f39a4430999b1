#include "driver/library.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

#include "base/text.h"

namespace gpo::driver {

void add_tried(std::string* tried, const std::string& why) {
    if (!tried->empty()) *tried += "; ";
    *tried += why;
}

// The loader's messages are in the user's language, but begin with the faulty file: the name itself if no folder has
// the file, otherwise the path found or the name of a missing dependency.
static bool was_found(const std::string& name, std::string_view message) {
    return name.find('/') == std::string::npos && !message.starts_with(name + ":");
}

Library Library::open(const std::vector<std::string>& candidates, std::string* tried, bool* found) {
    Library opened;
    if (found) *found = false;
    for (const std::string& name : candidates) {
        opened.name_ = name;
        opened.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened) return opened;
        const char* const message = dlerror();
        if (found) *found |= was_found(name, message ? message : "");
        add_tried(tried, message ? message : text(name, " can't be loaded"));
    }
    return {};
}

Library::~Library() {
    if (handle_ && !stays_) dlclose(handle_);
}

std::string Library::path() const {
    link_map* found = nullptr;
    const bool known = handle_ && dlinfo(handle_, RTLD_DI_LINKMAP, &found) == 0 && found->l_name && *found->l_name;
    return known ? found->l_name : name_;
}

void* Library::find(const char* symbol) const noexcept { return handle_ ? dlsym(handle_, symbol) : nullptr; }

void Library::add_missing(const char* symbol, std::string* tried) const {
    add_tried(tried, text(name_, " has no function ", symbol));
}

}  // namespace gpo::driver
