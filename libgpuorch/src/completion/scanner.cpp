#include "completion/scanner.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>

#include "completion/queue.h"
#include "stream/event.h"

namespace gpo {

namespace {

constexpr uint64_t kLeastSleep = 10'000, kMostSleep = 1'000'000, kStaysAwake = 1'000'000;
constexpr uint64_t kWorthWaking = 30'000;  // a sleep that ends sooner is not cut short

// Events on their way back to the context, a batch at a time.
class Returns {
public:
    explicit Returns(Context& context) : context_(context) {}
    ~Returns() {
        flush(false);
        flush(true);
    }
    void add(bool timing, CUevent event) noexcept {
        if (counts_[timing] == kBatch) flush(timing);
        events_[timing][counts_[timing]++] = event;
    }

private:
    static constexpr size_t kBatch = 64;
    void flush(bool timing) noexcept {
        if (counts_[timing]) context_.give_events(timing, events_[timing].data(), counts_[timing]);
        counts_[timing] = 0;
    }
    Context& context_;
    std::array<std::array<CUevent, kBatch>, 2> events_;
    std::array<size_t, 2> counts_{};
};

void deliver(Stream& stream, Mark mark, const ErrorPtr& failure, uint64_t now, Returns& returns) noexcept {
    Context& context = stream.context();
    Outcome outcome;
    outcome.error = mark.error ? mark.error : failure;
    outcome.operation = mark.operation;
    outcome.submitted_ns = mark.submitted_ns;
    outcome.completed_ns = now;
    if (mark.since && !outcome.error) {
        float milliseconds = 0;
        if (context.table().cuEventElapsedTime(&milliseconds, mark.since->native(), mark.event) == CUDA_SUCCESS)
            outcome.gpu_ns = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    }
    if (mark.event && !context.lost()) returns.add(mark.timing, mark.event);
    if (!outcome.error) stream.seen_done(mark.operation);
    if (mark.queue) {
        gpo_completion entry{};
        entry.status = outcome.error ? outcome.error->status : GPO_SUCCESS;
        entry.user_data = mark.user_data;
        entry.source = mark.source;
        entry.operation = outcome.operation;
        entry.submitted_ns = outcome.submitted_ns;
        entry.completed_ns = outcome.completed_ns;
        entry.gpu_ns = outcome.gpu_ns;
        stream.runtime().counters.completions.fetch_add(1, std::memory_order_relaxed);
        if (outcome.error) stream.runtime().counters.failures.fetch_add(1, std::memory_order_relaxed);
        mark.queue->deliver(entry, outcome.error);
    } else if (mark.target) {
        mark.target->reached(outcome);
    }
}

}  // namespace

Scanner::Scanner(Context& context) noexcept : context_(context) {}

Scanner::~Scanner() {
    stop();
}

void Scanner::add(Stream& stream) {
    std::lock_guard lock(lock_);
    // Room for it in the scanner's own list too, so that the scanner needs no memory.
    arrivals_.reserve(arrivals_.size() + 1);
    if (!thread_.joinable()) {
        stopping_.store(false);
        thread_ = host::Thread("gpo-scanner", [this] { run(); });
    }
    arrivals_.push_back(Ref<Stream>(&stream));
    arrived_.store(true, std::memory_order_seq_cst);
}

void Scanner::wake() noexcept {
    const uint64_t asleep_until = asleep_until_.load(std::memory_order_seq_cst);
    if (asleep_until == 0 || (asleep_until != host::kForever && asleep_until < host::now() + kWorthWaking)) return;
    asleep_until_.store(0, std::memory_order_relaxed);  // one waker is enough
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(signal_);
}

void Scanner::stop() noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(signal_);
    thread_.join();
}

void Scanner::run() noexcept {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // sleeps of 10 us are meant
    const driver::Table& table = context_.table();
    table.cuCtxSetCurrent(context_.native());
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    table.cuThreadExchangeStreamCaptureMode(&mode);
    const bool latency = context_.runtime().latency_mode();
    uint64_t idle_since = host::now();
    for (unsigned spins = 0;;) {
        const uint32_t seen = signal_.load(std::memory_order_seq_cst);
        if (arrived_.exchange(false, std::memory_order_seq_cst)) {
            std::lock_guard lock(lock_);
            try {
                streams_.reserve(streams_.size() + arrivals_.size());
                streams_.insert(streams_.end(), std::make_move_iterator(arrivals_.begin()),
                                std::make_move_iterator(arrivals_.end()));
                arrivals_.clear();
            } catch (const std::bad_alloc&) {
                arrived_.store(true, std::memory_order_seq_cst);  // they wait for the next turn
            }
        }
        bool pending = false, progress = false;
        uint64_t oldest = host::kForever;
        const uint64_t now = host::now();
        for (size_t i = 0; i < streams_.size();) {
            Stream& stream = *streams_[i];
            if (stream.marks().size() != 0) {
                progress |= scan(stream, now);
                if (stream.marks().size() != 0) {
                    pending = true;
                    oldest = std::min(oldest, stream.marks().at(0).submitted_ns);
                }
            } else if (stream.release_if_only()) {  // nobody can mark it any more
                static_cast<void>(streams_[i].leak());
                std::swap(streams_[i], streams_.back());
                streams_.pop_back();
                continue;
            }
            ++i;
        }
        if (pending || progress) {
            idle_since = now;
        } else if (stopping_.load(std::memory_order_seq_cst) && !arrived_.load(std::memory_order_seq_cst)) {
            break;
        }
        if (progress) {
            spins = 0;
            continue;
        }
        const bool park = !pending && now - idle_since >= kStaysAwake;
        if (latency && !park) {
            host::step(++spins % 16);
            continue;
        }
        uint64_t until = host::kForever;
        if (!park) {
            const uint64_t age = pending && now > oldest ? now - oldest : 0;
            until = now + std::clamp(age / 16, kLeastSleep, kMostSleep);
        }
        asleep_until_.store(until, std::memory_order_seq_cst);
        // Whoever pushed a mark before reading asleep_until_ is seen here; whoever reads it later wakes us.
        if (park && (arrived_.load(std::memory_order_seq_cst) || any_marks())) {
            asleep_until_.store(0, std::memory_order_relaxed);
            idle_since = now;
            continue;
        }
        host::wait(signal_, seen, until);
        asleep_until_.store(0, std::memory_order_seq_cst);
        if (park) idle_since = host::now();
    }
    streams_.clear();
}

bool Scanner::any_marks() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->marks().size() != 0; });
}

CUresult Scanner::ask(Stream& stream, Mark& mark) noexcept {
    const driver::Table& table = context_.table();
    if (mark.deferred) {
        CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
        const CUresult result = table.cuStreamIsCapturing(stream.native(), &capture);
        if (result != CUDA_SUCCESS) return result;
        if (capture != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_NOT_READY;
        const CUresult recorded = table.cuEventRecord(mark.event, stream.native());
        if (recorded != CUDA_SUCCESS) return is_sticky(recorded) ? recorded : CUDA_ERROR_NOT_READY;
        mark.deferred = false;
    }
    return mark.event ? table.cuEventQuery(mark.event) : CUDA_SUCCESS;
}

bool Scanner::scan(Stream& stream, uint64_t now) noexcept {
    MarkQueue& marks = stream.marks();
    const size_t size = marks.size();
    Returns returns(context_);
    ErrorPtr failure;
    size_t done = 0;
    if (!context_.alive()) {
        failure = stream.failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr);
        done = size;
    } else {
        CUresult result = CUDA_ERROR_NOT_READY;
        // The newest one first: when it is reached, so are all before it.
        if (size > 1 && !stream.deferring()) {
            size_t newest = size;
            while (newest > 0 && !marks.at(newest - 1).event) --newest;
            if (newest > 0) result = ask(stream, marks.at(newest - 1));
            if (newest == 0 || result == CUDA_SUCCESS) {
                done = size;
                result = CUDA_SUCCESS;
            }
        }
        while (done < size && (result == CUDA_ERROR_NOT_READY || result == CUDA_SUCCESS)) {
            result = ask(stream, marks.at(done));
            if (result != CUDA_SUCCESS) break;
            ++done;
        }
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) {
            failure = stream.failure_of_work(result, "cuEventQuery");
            stream.fail(failure);
            // Those that were reached before are delivered first, as what they are.
            for (size_t i = 0; i < done; ++i) deliver(stream, marks.pop(), nullptr, now, returns);
            done = size - done;
        }
    }
    const uint64_t seen = done ? host::now() : now;
    for (size_t i = 0; i < done; ++i) deliver(stream, marks.pop(), failure, seen, returns);
    return done != 0;
}

}  // namespace gpo
