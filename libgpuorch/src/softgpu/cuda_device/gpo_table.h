// The end of every image: makes the table from everything that has registered itself. Included after the user's source.
#pragma once

extern "C" {
struct __gpo_symbol_info {
    const char* file;
    void* base;
    const char* name;
    void* address;
};
int dladdr(const void* address, __gpo_symbol_info* info) noexcept;
}

static gpo_soft_image __gpo_image;
static bool __gpo_out_of_memory = false;

static bool __gpo_equal(const char* a, const char* b) { return __builtin_strcmp(a, b) == 0; }

/// The kernel's symbol, with the L of internal linkage put back: _Z4copyPf, static in the source, is _ZL4copyPf.
static const char* __gpo_symbol_name(__gpo_entry* entry) {
    __gpo_symbol_info info = {nullptr, nullptr, nullptr, nullptr};
    if (dladdr(entry->symbol, &info) == 0 || !info.name || info.address != entry->symbol) return entry->fallback;
    if (!entry->internal || !entry->plain || __builtin_strncmp(info.name, "_Z", 2) != 0) return info.name;
    char numbered[300];
    const int length =
        __builtin_snprintf(numbered, sizeof numbered, "%zu%s", __builtin_strlen(entry->plain), entry->plain);
    const char* at = __builtin_strstr(info.name, numbered);
    if (length <= 0 || !at) return info.name;
    const size_t before = static_cast<size_t>(at - info.name), all = __builtin_strlen(info.name);
    char* name = static_cast<char*>(__builtin_malloc(all + 2));
    if (!name) {
        __gpo_out_of_memory = true;
        return info.name;
    }
    __builtin_memcpy(name, info.name, before);
    entry->made_name = name;
    name[before] = 'L';
    __builtin_memcpy(name + before + 1, at, all - before + 1);
    return name;
}

static gpo_soft_kernel __gpo_describe(__gpo_entry* entry) {
    alignas(128) static char zeros[64 << 10];
    void** args = static_cast<void**>(__builtin_calloc(entry->parameter_count + 1, sizeof(void*)));
    if (!args) {
        __gpo_out_of_memory = true;
        return gpo_soft_kernel();
    }
    for (unsigned i = 0; i < entry->parameter_count; ++i) args[i] = zeros;
    gpo_soft_block block = gpo_soft_block();
    block.args = args;
    __gpo_description description = {0, 0, 1024, {0, 0, 0}, nullptr};
    __gpo_describing = &description;
    entry->run(&block);
    __gpo_describing = nullptr;
    __builtin_free(args);
    gpo_soft_kernel kernel = {__gpo_symbol_name(entry), entry->parameters, entry->parameter_count, description.flags,
                              description.static_shared, description.max_threads, entry->run,
                              description.cluster};
    if (description.symbol) *description.symbol = kernel.name;
    return kernel;
}

extern "C" __attribute__((visibility("default"), used)) const gpo_soft_image* gpo_soft_image_get(void) {
    if (__gpo_image.abi != 0) return &__gpo_image;
    size_t kernels = 0, variables = 0;
    for (__gpo_entry* e = __gpo_entries; e; e = e->next) ++kernels;
    for (__gpo_variable_entry* e = __gpo_variables; e; e = e->next) ++variables;
    gpo_soft_kernel* kernel = static_cast<gpo_soft_kernel*>(__builtin_calloc(kernels + 1, sizeof(gpo_soft_kernel)));
    gpo_soft_variable* variable =
        static_cast<gpo_soft_variable*>(__builtin_calloc(variables + 1, sizeof(gpo_soft_variable)));
    gpo_soft_name* name = static_cast<gpo_soft_name*>(__builtin_calloc(kernels + variables + 1, sizeof(gpo_soft_name)));
    __gpo_image.kernels = kernel;
    __gpo_image.variables = variable;
    __gpo_image.names = name;
    if (!kernel || !variable || !name) return nullptr;
    for (__gpo_entry* e = __gpo_entries; e; e = e->next) {
        const gpo_soft_kernel made = __gpo_describe(e);
        if (__gpo_out_of_memory) return nullptr;
        unsigned same = 0;
        while (same < __gpo_image.kernel_count && !__gpo_equal(kernel[same].name, made.name)) ++same;
        if (same == __gpo_image.kernel_count) kernel[__gpo_image.kernel_count++] = made;
        if (e->expression) {
            const gpo_soft_name pair = {e->expression, kernel[same].name};
            name[__gpo_image.name_count++] = pair;
        }
    }
    for (__gpo_variable_entry* e = __gpo_variables; e; e = e->next)
        if (e->variable.name) variable[__gpo_image.variable_count++] = e->variable;
    for (__gpo_variable_entry* e = __gpo_variables; e; e = e->next) {
        if (!e->expression) continue;
        for (unsigned i = 0; i < __gpo_image.variable_count; ++i) {
            if (variable[i].address != e->variable.address) continue;
            const gpo_soft_name pair = {e->expression, variable[i].name};
            name[__gpo_image.name_count++] = pair;
            break;
        }
    }
    __gpo_image.struct_size = sizeof(gpo_soft_image);
    __gpo_image.abi = __gpo_abi;
    return &__gpo_image;
}

__attribute__((destructor)) static void __gpo_forget() {
    for (__gpo_entry* e = __gpo_entries; e; e = e->next) __builtin_free(e->made_name);
    __builtin_free(const_cast<gpo_soft_kernel*>(__gpo_image.kernels));
    __builtin_free(const_cast<gpo_soft_variable*>(__gpo_image.variables));
    __builtin_free(const_cast<gpo_soft_name*>(__gpo_image.names));
}
