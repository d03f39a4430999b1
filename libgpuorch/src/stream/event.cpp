#include "stream/event.h"

#include <algorithm>

#include "completion/queue.h"

namespace gpo {

class RecordEvent final : public Operation {
public:
    RecordEvent(Event& event, Stream& stream) : Operation("record event", event.label()), event_(&event), stream_(&stream) {}
    RecordEvent(const RecordEvent& other)
        : Operation(other), event_(other.event_), stream_(other.stream_), kept_(Ref<Event>(other.event_)) {
        event_->held_on_.store(stream_, std::memory_order_relaxed);
        event_->pending_.fetch_add(1, std::memory_order_acq_rel);
    }

    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override {
        const uint64_t capture = stream.capture();
        stream.context().check(stream.table().cuEventRecord(event_->native(), stream.native()), "cuEventRecord");
        event_->capture_.store(capture, std::memory_order_release);
        event_->recorded_.store(true, std::memory_order_release);
        if (kept_) end(nullptr);
    }
    std::unique_ptr<Operation> keep() const override { return std::make_unique<RecordEvent>(*this); }
    void drop(Stream&, const ErrorPtr& error) noexcept override { end(error); }
    void afterwards(const ErrorPtr&) noexcept override {
        std::vector<Ref<Stream>> waiting;
        {
            std::lock_guard lock(event_->lock_);
            waiting.swap(event_->waiting_);
        }
        for (const auto& held : waiting) held->flush();
    }

private:
    void end(const ErrorPtr& error) noexcept {
        std::lock_guard lock(event_->lock_);
        event_->dropped_ = error;
        event_->pending_.fetch_sub(1, std::memory_order_acq_rel);
    }
    Event* event_;
    Stream* stream_;
    Ref<Event> kept_;  // of a kept one
};

class WaitEvent final : public Operation {
public:
    explicit WaitEvent(Event& event) : Operation("wait for event", event.label()), event_(&event) {}
    bool plain() const noexcept override { return true; }

    bool ready(Stream& stream) override {
        if (event_->pending_.load(std::memory_order_acquire) == 0) [[likely]] return true;
        std::lock_guard lock(event_->lock_);
        if (event_->pending_.load(std::memory_order_acquire) == 0) return true;
        const Ref<Stream> self(&stream);
        auto& waiting = event_->waiting_;
        if (std::find(waiting.begin(), waiting.end(), self) == waiting.end()) waiting.push_back(self);
        return false;
    }
    void issue(Stream& stream) override {
        {
            std::lock_guard lock(event_->lock_);
            if (event_->dropped_) throw NeverPossible(event_->dropped_);
        }
        if (!event_->recorded_.load(std::memory_order_acquire)) return;
        const uint64_t of_event = event_->capture_.load(std::memory_order_acquire), of_stream = stream.capture();
        if (of_stream && of_stream != of_event)   // the driver would give the whole capture up
            fail(GPO_CAPTURE_REFUSED, "wait for an event: ", stream.describe(), " is being captured, and ", event_->describe(),
                 " was recorded ", of_event ? "in another capture" : "outside of the capture");
        if (of_event && !of_stream) stream.expose();   // by this wait it joins the capture
        stream.context().check(stream.table().cuStreamWaitEvent(stream.native(), event_->native(), 0), "cuStreamWaitEvent");
    }
    std::unique_ptr<Operation> keep() const override { return std::make_unique<WaitEvent>(*this); }

private:
    Ref<Event> event_;
};

Event::Event(Ref<Context> context, uint32_t flags, const char* label)
    : Object(context->runtime(), Type::event, label), context_(std::move(context)), flags_(flags) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuEventCreate(&native_, (timing() ? 0u : unsigned{CU_EVENT_DISABLE_TIMING}) |
                                                                 (flags_ & GPO_EVENT_BLOCKING_SYNC ? unsigned{CU_EVENT_BLOCKING_SYNC}
                                                                                                   : 0u)),
                    "cuEventCreate");
}

Event::~Event() {
    if (!native_) return;
    DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuEventDestroy(native_);
}

gpo_status Event::record(Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    if (&stream.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream.describe(), " are of different devices");
    RecordEvent operation(*this, stream);
    return stream.submit(operation);
}

gpo_status Event::put_wait(Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    WaitEvent operation(*this);
    return stream.submit(operation);
}

void Event::refuse_unusable(const char* what) {
    if (capture_.load(std::memory_order_acquire))
        fail(GPO_CAPTURE_REFUSED, what, ": ", describe(), " was recorded in a stream that is being captured");
    std::lock_guard lock(lock_);
    if (dropped_) throw Failure(dropped_);
}

gpo_status Event::query() {
    if (pending_.load(std::memory_order_acquire) != 0) return GPO_NOT_READY;
    refuse_unusable("query");
    DriverScope scope(*context_);
    const CUresult result = context_->table().cuEventQuery(native_);
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    context_->check(result, "cuEventQuery");
    return GPO_SUCCESS;
}

gpo_status Event::wait(uint64_t deadline) {
    for (unsigned turns = 0;; ++turns) {
        const gpo_status status = query();
        if (status == GPO_SUCCESS) return GPO_SUCCESS;
        const uint64_t now = host::now();
        if (now >= deadline) return GPO_TIMEOUT;
        if (pending_.load(std::memory_order_acquire) != 0 &&
            Runtime::in_callback_of(held_on_.load(std::memory_order_relaxed)))
            fail(GPO_WOULD_DEADLOCK, "a host call can't wait for ", describe(), ", which is recorded behind it");
        if (interrupted_.load(std::memory_order_acquire)) fail(GPO_CANCELLED, describe(), " was destroyed");
        if (!(flags_ & GPO_EVENT_BLOCKING_SYNC) && turns < 64)
            host::step(turns);
        else
            host::sleep_until(std::min(deadline, now + std::clamp<uint64_t>(turns, 10, 1000) * 1000));
    }
}

// Its point lies somewhere in a stream: a stream of ours waits for it, and is marked behind the wait.
template <class Mark>
gpo_status Event::watch(Mark&& mark) {
    if (capture_.load(std::memory_order_acquire)) refuse_unusable("notify");
    Ref<Stream> watch = context_->idle_stream();
    struct Unclaim {
        Stream& stream;
        ~Unclaim() { stream.unclaim(); }
    } unclaim{*watch};
    WaitEvent wait(*this);
    const gpo_status status = watch->submit(wait);
    return status == GPO_SUCCESS ? mark(*watch) : status;
}

gpo_status Event::notify(CompletionQueue& queue, uint64_t user_data) {
    if (&queue.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", queue.describe(), " are of different runtimes");
    return watch([&](Stream& stream) { return stream.notify(queue, user_data, nullptr, GPO_SOURCE_EVENT); });
}

gpo_status Event::then(Ref<Reached> target) {
    return watch([&](Stream& stream) { return stream.then(std::move(target), GPO_SOURCE_EVENT); });
}

gpo_status Event::elapsed(Event& start, Event& end, int64_t* nanoseconds) {
    if (&start.runtime() != &end.runtime()) fail(GPO_INVALID_HANDLE, "the two events are of different runtimes");
    for (Event* event : {&start, &end}) {
        if (!event->timing()) fail(GPO_INVALID_ARGUMENT, event->describe(), " was made without GPO_EVENT_TIMING");
        if (event->pending_.load(std::memory_order_acquire) != 0) return GPO_NOT_READY;
        event->refuse_unusable("elapsed");
        if (!event->recorded_.load(std::memory_order_acquire)) fail(GPO_INVALID_STATE, event->describe(), " was never recorded");
    }
    if (&start.context() != &end.context()) fail(GPO_INVALID_ARGUMENT, "the two events are of different devices");
    DriverScope scope(start.context());
    float milliseconds = 0;
    const CUresult result = start.context().table().cuEventElapsedTime(&milliseconds, start.native(), end.native());
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    start.context().check(result, "cuEventElapsedTime");
    *nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return GPO_SUCCESS;
}

}  // namespace gpo
