#include "device/gpu_clock.h"

#include <algorithm>

namespace gpo {

namespace {
constexpr int kMostPairs = 8;
constexpr uint64_t kPatience = 50'000'000;  // ns to wait for a base on a GPU that doesn't respond
constexpr uint64_t kPrecise = 4'000;  // ns of error with which a base is good enough: no further try
constexpr uint64_t kPoor = 200'000;  // ns: a base with a larger error is discarded while a recent one exists
}  // namespace

GpuClock::~GpuClock() {
    DriverTry scope(*context_);
    if (!scope.entered()) return;
    for (const Base& base : bases_) context_->table().cuEventDestroy(base.event);
    if (stream_) context_->table().cuStreamDestroy(stream_);
}

bool GpuClock::make_base(Base& best) noexcept {
    const driver::Table& table = context_->table();
    CUevent events[2] = {};
    for (CUevent& event : events)
        if (table.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) event = nullptr;
    best.event = nullptr;
    best.error = UINT64_MAX;
    int spare = 0;
    for (int i = 0; i < kMostPairs && events[spare] && best.error > kPrecise; ++i) {
        const uint64_t before = host::now();
        if (table.cuEventRecord(events[spare], stream_) != CUDA_SUCCESS) break;
        CUresult result;
        uint64_t after;
        unsigned spins = 0;
        do {
            result = table.cuEventQuery(events[spare]);
            after = host::now();
            if (result == CUDA_ERROR_NOT_READY) host::step(spins++ % 16);
        } while (result == CUDA_ERROR_NOT_READY && after - before < kPatience);
        if (result != CUDA_SUCCESS) break;
        const uint64_t error = (after - before) / 2;
        if (best.event && error >= best.error) continue;
        best = {events[spare], before + error, error};
        spare = 1 - spare;
    }
    for (const CUevent event : events)
        if (event && event != best.event) table.cuEventDestroy(event);
    return best.event != nullptr;
}

bool GpuClock::adjust(uint64_t age) noexcept {
    const uint64_t now = host::now();
    if (!bases_.empty() && now - bases_.back().host < age) return true;
    DriverTry scope(*context_);
    if (!scope.entered()) return false;
    const driver::Table& table = context_->table();
    if (!stream_ && table.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
        stream_ = nullptr;
        return false;
    }
    Base base{};
    if (!make_base(base)) return false;
    if (base.error > kPoor && !bases_.empty() && now - bases_.back().host < 16 * age) {
        table.cuEventDestroy(base.event);
        return true;
    }
    if (bases_.empty()) measure_cost();
    bases_.push_back(base);  // capacity was reserved for one more than are kept
    error_ = std::max(error_, base.error);
    if (bases_.size() > kBases) {
        table.cuEventDestroy(bases_.front().event);
        bases_.erase(bases_.begin());
    }
    return true;
}

void GpuClock::measure_cost() noexcept {
    constexpr int kPairs = 32;
    const driver::Table& table = context_->table();
    CUevent events[2] = {};
    for (CUevent& event : events)
        if (table.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) event = nullptr;
    if (events[0] && events[1]) {
        const uint64_t begin = host::now();
        for (int i = 0; i < kPairs; ++i)
            for (const CUevent event : events) table.cuEventRecord(event, stream_);
        record_cost_ = (host::now() - begin) / kPairs;
    }
    for (const CUevent event : events)
        if (event) table.cuEventDestroy(event);
}

CUresult GpuClock::time_of(CUevent event, uint64_t about, uint64_t* time) const noexcept {
    const auto distance = [&](const Base& base) { return base.host > about ? base.host - about : about - base.host; };
    const auto nearest = std::min_element(bases_.begin(), bases_.end(),
                                          [&](const Base& a, const Base& b) { return distance(a) < distance(b); });
    if (nearest == bases_.end()) return CUDA_ERROR_INVALID_VALUE;
    float milliseconds = 0;
    const CUresult result = context_->table().cuEventElapsedTime(&milliseconds, nearest->event, event);
    if (result == CUDA_SUCCESS)
        *time = nearest->host + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6));
    return result;
}

// Enters the driver once for all operations: submitting threads wait for each entry.
void GpuClock::times_of(const std::deque<trace::Record>& operations, std::vector<Times>& times) {
    times.reserve(times.size() + operations.size());
    DriverTry scope(*context_);
    for (const trace::Record& operation : operations) {
        Times found;
        if (scope.entered()) {
            CUresult result = time_of(operation.gpu_end, operation.begin, &found.end);
            if (result == CUDA_ERROR_NOT_READY) return;
            if (result == CUDA_SUCCESS) result = time_of(operation.gpu_begin, operation.begin, &found.begin);
            found.known = result == CUDA_SUCCESS;
        }
        times.push_back(found);
    }
}

}  // namespace gpo
