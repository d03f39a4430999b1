// An NVTX tool for a test: writes each call as a line to the file FAKE_NVTX_OUTPUT. NVTX loads the tool from the path
// NVTX_INJECTION64_PATH.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* output() {
    static std::FILE* file = std::fopen(std::getenv("FAKE_NVTX_OUTPUT"), "w");
    return file;
}

void say(const char* what, const char* text) {
    std::fprintf(output(), "%s %s\n", what, text);
    std::fflush(output());
}

char the_domain;

nvtxDomainHandle_t NVTX_API domain_create(const char* name) {
    say("domain", name);
    return reinterpret_cast<nvtxDomainHandle_t>(&the_domain);
}
int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
    say(reinterpret_cast<char*>(domain) == &the_domain ? "push" : "push elsewhere", range->message.ascii);
    return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
    say("pop", "");
    return 0;
}
void NVTX_API name_thread(uint32_t, const char* name) { say("thread", name); }
void NVTX_API name_stream(CUstream, const char* name) { say("stream", name); }

template <class Function>
void set(NvtxFunctionTable table, unsigned size, unsigned id, Function function) {
    if (id < size && table[id]) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size);
    set(table, size, NVTX_CBID_CORE_NameOsThreadA, name_thread);
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size);
    set(table, size, NVTX_CBID_CORE2_DomainCreateA, domain_create);
    set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
    set(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &table, &size);
    set(table, size, NVTX_CBID_CUDA_NameCuStreamA, name_stream);
    return 1;
}
