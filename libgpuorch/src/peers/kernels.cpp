#include "peers/kernels.h"

#include <algorithm>
#include <iterator>

#include "base/exchange.h"
#include "driver/driver.h"
#include "kernel/module.h"

namespace gpo::peers {

namespace {

constexpr uint32_t kThreads = 256;

#define GPO_NAME(name, ...) "gpo_all_reduce_small_" #name,
constexpr const char* kSmall[] = {GPO_EACH_SMALL_ALL_REDUCE(GPO_NAME)};
#undef GPO_NAME
static_assert(std::size(kSmall) == kTypes);

Ref<Counted> load_kernels(Context& context) {
    const std::string_view image = context.driver().combine_image;
    auto module = make<Module>(Ref<Context>(&context), kernel::ImageBytes(image.data(), image.size()),
                               Module::Lowered{}, "peers", nullptr);
    auto made = make<PeerKernels>();
    made->combine = make<Kernel>(module, module->function("gpo_combine"), "combine");
    for (uint32_t type = 0; type < kTypes; ++type)
        made->small[type] = make<Kernel>(module, module->function(kSmall[type]), "small all-reduce");
    return made;
}

}  // namespace

Ref<const PeerKernels> kernels_of(Context& context) {
    const Ref<Counted> kernels = context.keep(load_kernels);
    return Ref<const PeerKernels>(static_cast<const PeerKernels*>(kernels.get()));
}

uint32_t most_combine_blocks(Context& context) {
    const DriverScope scope(context);
    return static_cast<uint32_t>(std::max(device_attribute(context, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 1)) * 4;
}

Combine::Combine(const PeerKernels& kernels, uint32_t most_blocks, const Collective& collective, uint64_t destination,
                 std::span<const uint64_t> sources, uint64_t bytes)
    : destination_(destination), count_(bytes / collective.element_bytes),
      source_count_(static_cast<uint32_t>(sources.size())), type_(collective.type), reduction_(collective.reduction),
      ranks_(collective.ranks),
      arguments_{&destination_, sources_, &source_count_, &type_, &reduction_, &ranks_, &count_} {
    std::copy(sources.begin(), sources.end(), sources_);
    work_.function = kernels.combine->native();
    work_.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(bytes / (uint64_t{kThreads} * 16), 1, most_blocks));
    work_.block[0] = kThreads;
    work_.arguments = arguments_;
}

}  // namespace gpo::peers
