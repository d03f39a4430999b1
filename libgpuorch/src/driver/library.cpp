#include "driver/library.h"

#include <dlfcn.h>
#include <link.h>

#include "base/text.h"

namespace gpo::driver {

void add_tried(std::string* tried, const std::string& why) {
    if (!tried->empty()) *tried += "; ";
    *tried += why;
}

Library Library::open(const std::vector<std::string>& candidates, std::string* tried) {
    Library opened;
    for (const std::string& name : candidates) {
        opened.name_ = name;
        opened.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened) return opened;
        const char* message = dlerror();
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
