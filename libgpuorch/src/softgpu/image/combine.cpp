#include "softgpu/image/combine.h"

#include <cstdint>

#include "base/combine.h"
#include "softgpu/image/elements.h"

namespace gpo::softgpu {

namespace {

struct Combination {
    uint64_t destination;
    gpo::combine::Sources sources;
    uint32_t source_count, reduction, divisor;

    /// Combines as many elements as whole runs of `count` have, and returns the first that is left.
    template <class Element, unsigned count>
    uint64_t runs(uint64_t from, uint64_t to) const {
        const auto at = [&](uint64_t address) { return reinterpret_cast<typename Element::Stored*>(address) + from; };
        for (; to - from >= count; from += count) {
            gpo::combine::Run<Element, count> run(at(sources.address[0]));
            for (uint32_t source = 1; source < source_count; ++source)
                run.combine(reduction, at(sources.address[source]));
            run.store(reduction, divisor, at(destination));
        }
        return from;
    }
};

}  // namespace

void combine(gpo_soft_block* block) {
    const Combination combination{argument<uint64_t>(block, 0), argument<gpo::combine::Sources>(block, 1),
                                  argument<uint32_t>(block, 2), argument<uint32_t>(block, 4),
                                  argument<uint32_t>(block, 5)};
    gpo::combine::with_type(argument<uint32_t>(block, 3), [&]<class Element>(Element) {
        for_elements(block, argument<uint64_t>(block, 6), [&](uint64_t from, uint64_t to) {
            combination.runs<Element, 1>(combination.runs<Element, 64>(from, to), to);
        });
    });
}

}  // namespace gpo::softgpu
