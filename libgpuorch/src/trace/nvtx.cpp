#include "trace/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "host/host.h"
#include "trace/record.h"

namespace gpo::trace::nvtx {

namespace {

pthread_once_t g_once = PTHREAD_ONCE_INIT;
std::atomic<nvtxDomainHandle_t> g_domain{nullptr};  // NULL: no tool

nvtxDomainHandle_t domain() noexcept { return g_domain.load(std::memory_order_acquire); }

}  // namespace

void attach() noexcept {
    pthread_once(&g_once, [] {
        if (getauxval(AT_SECURE)) return;
        g_domain.store(nvtxDomainCreateA("gpuorch"), std::memory_order_release);
        if (!domain()) return;
        host::watch_thread_names(name_thread);
        add_watcher();
    });
}

void push(const char* name) noexcept {
    if (!domain()) return;
    nvtxEventAttributes_t range{};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &range);
}

void pop() noexcept {
    if (domain()) nvtxDomainRangePop(domain());
}

void name_thread(const char* name) noexcept {
    if (domain()) nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)), name);
}

void name_stream(CUstream stream, const char* name) noexcept {
    if (domain() && *name) nvtxNameCuStreamA(stream, name);
}

}  // namespace gpo::trace::nvtx
