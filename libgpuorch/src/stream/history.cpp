#include "stream/history.h"

#include <algorithm>
#include <utility>

#include "stream/driver_stream.h"

namespace gpo {

History::History(DriverStream& stream) noexcept
    : stream_(stream), context_(stream.context()), counts_(context_.driver().reports_faults) {}

History::~History() { context_.give_attribution(attribution_); }

void History::attribute() {
    if (context_.runtime().attribute()) attribution_ = context_.take_attribution();
}

// --- what happens to operations ---

void History::note_held(const Operation& operation) noexcept { set_driver_number(operation, false); }
void History::note_issued(const Operation& operation) noexcept { set_driver_number(operation, true); }

void History::set_driver_number(const Operation& operation, bool issued) noexcept {
    const uint64_t number = operation.number();
    if (!counts_ || !operation.numbered() || number + kRecent <= stream_.submission().accepted()) return;
    recent_[number % kRecent].driver_number.store(issued ? context_.driver().submitted(stream_.native()) : kNotIssued,
                                                  std::memory_order_relaxed);
}

void History::note_withheld(const Operation& operation, uint64_t number) noexcept {
    Recent& recent = recent_[number % kRecent];
    recent.kind.store(operation.kind(), std::memory_order_relaxed);
    recent.label.store(operation.label(), std::memory_order_relaxed);
    recent.driver_number.store(kNotIssued, std::memory_order_relaxed);
}

void History::note_replayed(size_t count) noexcept {
    if (!counts_) return;
    const uint64_t last = stream_.submission().accepted(), graph = context_.driver().submitted(stream_.native());
    for (uint64_t number = last; number > 0 && number + std::min<uint64_t>(count, kRecent) > last; --number)
        recent_[number % kRecent].driver_number.store(graph, std::memory_order_relaxed);
}

History::Attributing::Attributing(History& history, const Operation& operation, uint64_t number)
    : history_(history), number_(static_cast<cuuint32_t>(number)),
      on_(history.attributes() && operation.numbered() && !operation.may_join_capture() &&
          !history.stream_.capturing()) {
    if (on_) write(history_.attribution_.address);
}

void History::Attributing::write_end() const noexcept {
    try {
        if (history_.stream_.capturing()) return;   // the program has begun a capture meanwhile
    } catch (...) {
        return;
    }
    write(history_.attribution_.address + 4);
}

void History::Attributing::write(CUdeviceptr address) const noexcept {
    const DriverStream& stream = history_.stream_;
    stream.table().cuStreamWriteValue32(stream.native(), address, number_, 0);
}

// --- what a failure says ---

// The operations with this number in the driver's count: several if they were issued as a graph, none if they aren't
// among the last operations.
std::pair<uint64_t, uint64_t> History::operations_of(uint64_t driver_number) const noexcept {
    const uint64_t newest = stream_.submission().accepted();
    uint64_t first = 0, last = 0, count = 0;
    for (uint64_t number = newest; number > 0 && number + kRecent > newest; --number) {
        const uint64_t behind = recent_[number % kRecent].driver_number.load(std::memory_order_relaxed);
        if (behind == kNotIssued) continue;
        if (behind < driver_number) break;
        if (behind != std::exchange(count, behind)) last = number;
        first = number;
    }
    return {first, last};
}

// "kernel `blur` (operation 7)".
std::string History::name_of(uint64_t number) const {
    const Recent& recent = recent_[number % kRecent];
    const char* kind = recent.kind.load(std::memory_order_relaxed);
    const char* label = recent.label.load(std::memory_order_relaxed);
    return text(kind ? kind : "work", label && *label ? text(" `", label, "`") : std::string(), " (operation ", number,
                ")");
}

std::string History::suspects() const {
    uint64_t first = stream_.watched().completed.load(std::memory_order_relaxed) + 1,
             last = stream_.submission().accepted();
    if (attribution_.words) {
        // A stream runs a single operation at a time: at most one has begun and not ended.
        const uint32_t begun = attribution_.words[0], ended = attribution_.words[1];
        if (begun == ended) return {};
        first = last = begun;
    }
    if (last >= kRecent && first < last - kRecent + 1) first = last - kRecent + 1;
    return names_of(first, last);
}

std::string History::names_of(uint64_t first, uint64_t last) const {
    std::string out;
    unsigned listed = 0;
    for (uint64_t number = first; number <= last; ++number) {
        if (++listed > 8) return out + text(" and ", last - number + 1, " more");
        out += text(out.empty() ? "" : ", ", name_of(number));
    }
    return out;
}

ErrorPtr History::failure_of_work(CUresult result, const char* function) const noexcept {
    try {
        const ErrorPtr first = context_.lost() ? context_.loss() : context_.error_of(result, function ? function : "");
        auto error = std::make_shared<Error>(*first);
        error->object = stream_.describe();
        if (error->status < 30) error->status = GPO_DRIVER_ERROR;  // the work has failed, whichever call reported it
        const auto fault = context_.driver().fault();
        if (fault) {
            // The driver knows the failed operation. Streams other than the operation's have no suspects.
            error->message += text("; ", fault->text.empty() ? fault->kernel : fault->text);
            if (fault->stream != stream_.native()) return error;
            const auto [operation, last] = operations_of(fault->number);
            if (operation == last) error->operation = operation;
            if (operation)
                error->message += text("; it was ", operation == last ? "" : "one of ", names_of(operation, last),
                                       " on ", stream_.describe());
            return error;
        }
        const std::string listed = suspects();
        if (!listed.empty()) error->message += text("; suspects on ", stream_.describe(), ": ", listed);
        return error;
    } catch (const std::bad_alloc&) {
        if (ErrorPtr loss = context_.loss()) return loss;
        const gpo_status status = status_of(result);
        return bare_error(status < 30 ? GPO_DRIVER_ERROR : status);
    }
}

}  // namespace gpo
