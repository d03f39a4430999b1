// Another process of this program, which has exported memory and an event. The exporter ends with this process.
#pragma once

#include <cstdint>

#include "gpuorch/interprocess.h"

namespace gpo::test {

struct Exporter {
    static constexpr uint64_t kBytes = 10'000;
    uint8_t memory[GPO_EXPORT_BYTES], event[GPO_EXPORT_BYTES];   // the event isn't recorded
};
/// Started with the first call, which is made while nothing fails on purpose.
const Exporter& exporter();

}  // namespace gpo::test
