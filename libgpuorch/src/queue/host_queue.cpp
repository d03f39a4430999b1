#include "queue/host_queue.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

namespace gpo {

namespace {

constexpr uint64_t kDefaultHostCapacity = 4096;
constexpr uint32_t kMostAnswer = 256, kMostTenants = 64;

// How a thread waits for answers: it polls for a while, then sleeps between two polls, for a sixteenth of the time
// since begin().
class Patience {
public:
    Patience(bool latency, uint64_t spins_for) noexcept : spins_for_(latency ? kLatencySpins : spins_for) { begin(); }
    void begin() noexcept {
        since_ = host::now();
        spins_ = 0;
    }
    /// True: it has spun once. False: the caller should sleep for `rest()`.
    bool spin(uint64_t now) noexcept {
        const bool spins = host::detail::scheduled() ? spins_ < kScheduledSpins : now - since_ < spins_for_;
        if (spins) host::step(spins_++ % 64 == 63 ? kYield : 0);
        return spins;
    }
    uint64_t rest(uint64_t now) const noexcept { return std::clamp((now - since_) / 16, kLeastRest, kMostRest); }

private:
    static constexpr uint64_t kLatencySpins = 1'000'000, kLeastRest = 10'000, kMostRest = 1'000'000;  // ns
    static constexpr unsigned kScheduledSpins = 100;  // where time stands still during a spin
    static constexpr unsigned kYield = 64;            // as host::step takes it
    const uint64_t spins_for_;
    uint64_t since_ = 0;
    unsigned spins_ = 0;
};

constexpr uint64_t kWaiterSpins = 20'000, kThreadSpins = 50'000;  // ns

queue::HostRing::Shape host_shape_of(const gpo_queue_options& options) {
    using queue::Option;
    queue::refuse_options("host ring", options, {Option::batch, Option::count, Option::priorities});
    refuse_unknown_flags(options.flags, GPO_QUEUE_NO_ANSWERS, "options.flags of a host ring");
    queue::check_task_size(options.task_size);
    const bool answers = !(options.flags & GPO_QUEUE_NO_ANSWERS);
    queue::check_between("answer_size", options.answer_size, 0, answers ? kMostAnswer : 0);
    queue::check_multiple("answer_size", options.answer_size, sizeof(uint32_t));
    const uint32_t tenants = std::max(options.tenants, 1u);
    queue::check_between("tenants", tenants, 1, answers ? kMostTenants : 1);
    return {queue::capacity_log2(options.capacity, kDefaultHostCapacity), 1 + options.task_size / 4,
            answers ? 2 + options.answer_size / 4 : 0, tenants};
}

queue::Ring::Shape device_ring(const queue::HostRing::Shape& shape) {
    return {shape.capacity_log2, queue::kTaskHeaderBytes + shape.task_bytes(), 1, 0};
}

}  // namespace

HostQueue::Slots::Slots(queue::Memory& memory, const queue::HostRing::Shape& shape) {
    const uint64_t posted_words = shape.capacity() * shape.task_words;
    const uint64_t answer_words = shape.capacity() * shape.answer_words;
    auto* const bytes = static_cast<std::byte*>(
        memory.allocate_host(sizeof(queue::HostControl) + (posted_words + answer_words) * sizeof(uint64_t)));
    control = new (bytes) queue::HostControl{};
    posted = reinterpret_cast<uint64_t*>(bytes + sizeof(queue::HostControl));
    answers = posted + posted_words;
}

Ref<DeviceQueue> HostQueue::create(Ref<Context> context, const gpo_queue_options& options, Stream* user) {
    const queue::HostRing::Shape shape = host_shape_of(options);
    if (!user) fail(GPO_INVALID_ARGUMENT, "options.stream is NULL, and a host ring needs a resident stream");
    return make<HostQueue>(std::move(context), options, shape, user);
}

HostQueue::HostQueue(Ref<Context> context, const gpo_queue_options& options, const queue::HostRing::Shape& shape,
                     Stream* user)
    : DeviceQueue(std::move(context), options, user), slots_(memory(), shape), tasks_(memory(), device_ring(shape)),
      device_words_(memory().allocate(queue::kDeviceWordsBytes)),
      ring_(shape, slots_.posted, slots_.answers, slots_.control) {
    memory().clear(device_words_, queue::kDeviceWordsBytes);
    memory().wait();
}

// Pinned memory has the same address on host and device.
queue::HandleBytes HostQueue::handle() {
    const queue::HostRing::Shape& shape = ring_.shape();
    queue::HostRingHandle out;
    out.tasks = tasks_.handle();
    out.posted_slots = reinterpret_cast<uint64_t>(slots_.posted);
    out.answer_slots = shape.answer_words ? reinterpret_cast<uint64_t>(slots_.answers) : 0;
    out.control = reinterpret_cast<uint64_t>(slots_.control);
    out.device_words = device_words_;
    out.task_words = shape.task_words;
    out.answer_words = shape.answer_words;
    out.capacity_log2 = shape.capacity_log2;
    return queue::bytes_of(out);
}

void HostQueue::describe_in(gpo_queue_info& info) {
    const queue::HostRing::Shape& shape = ring_.shape();
    tasks_.describe_in(info);
    info.task_size = shape.task_bytes();
    info.answer_size = shape.answer_bytes();
    info.tenants = shape.tenants;
    // The device ring is closed when all posted tasks were handed out; posting ends before.
    info.state = std::max(info.state, static_cast<uint32_t>(ring_.state()));
    const queue::HostRing::Counts counts = ring_.counts();
    info.posted = counts.posted;
    info.answered = counts.answered;
    info.unanswered = counts.unanswered;
}

gpo_status HostQueue::reset(Stream& stream) {
    require_device(stream);
    refuse("is a host ring, which can't be reset");
}

// --- tenants ---

void HostQueue::check_tenant(uint32_t tenant) const {
    if (tenant >= ring_.shape().tenants)
        fail(GPO_INVALID_ARGUMENT, "tenant is ", tenant, ", and ", describe(), " has ", ring_.shape().tenants);
}

void HostQueue::set_tenant(uint32_t tenant, const gpo_tenant_options& options) {
    check_tenant(tenant);
    const uint64_t capacity = ring_.shape().capacity();
    if (!ring_.shape().answer_words) refuse("has no answers, which tenants could take");
    if (options.limit > capacity)
        fail(GPO_INVALID_ARGUMENT, "options.limit is ", options.limit, ", and ", describe(), " has ", capacity,
             " places");
    CompletionQueue* completions = nullptr;
    if (options.completions) {
        Pin<CompletionQueue> pinned(options.completions);
        if (&pinned->runtime() != &runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " is of another runtime than ", describe());
        completions = &*pinned;  // valid while the queue lives, which each post checks
        start();
    }
    if (!ring_.set_tenant(tenant, options.limit == GPO_AUTO ? capacity : options.limit, completions,
                          options.completions))
        fail(GPO_INVALID_STATE, "tenant ", tenant, " of ", describe(), " has tasks or answers in the ring");
}

// --- posting ---

void HostQueue::fail_ended() const {
    if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    if (context().lost()) throw Failure(context().loss());
    fail(GPO_INVALID_STATE, describe(), " is ", ring_.state() == queue::State::closed ? "closed" : "aborted");
}

// Reserves room for up to `count` entries in the tenant's completion queue. Returns how many.
uint64_t HostQueue::reserve_entries(uint32_t tenant, uint64_t count) {
    const gpo_cq_t handle = ring_.completions(tenant);
    if (!handle) return count;
    handle::Note* note = nullptr;
    gpo_status status = GPO_SUCCESS;
    handle::Slot* const slot = handle::pin(reinterpret_cast<uint64_t>(handle), Type::cq, &note, &status);
    if (!slot) fail(status, "the completion queue of tenant ", tenant, " of ", describe(), " was destroyed");
    auto& queue = static_cast<CompletionQueue&>(*slot->object);
    uint64_t reserved = 0;
    while (reserved < count && queue.reserve()) ++reserved;
    handle::unpin(*slot, *note);
    return reserved;
}

gpo_status HostQueue::post(uint32_t tenant, const PostedTasks& tasks, uint64_t* posted) {
    check_tenant(tenant);
    *posted = 0;
    if (ring_.state() != queue::State::open) [[unlikely]]
        fail_ended();
    if (tasks.count == 0) return GPO_SUCCESS;
    const uint64_t share = ring_.take_share(tenant, std::min(tasks.count, ring_.shape().capacity()));
    if (share == 0) return GPO_WOULD_BLOCK;
    uint64_t entries = 0;
    try {
        entries = reserve_entries(tenant, share);
    } catch (...) {
        ring_.give_share(tenant, share);
        throw;
    }
    ring_.give_share(tenant, share - entries);
    if (entries == 0) return GPO_WOULD_BLOCK;
    // A later shutdown finds the entries, and an earlier shutdown has ended the ring.
    *posted = ring_.post(tenant, tasks.tasks, entries, tasks.user_data);
    if (*posted == 0 && ring_.state() != queue::State::open) fail_ended();
    if (asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
        wake_thread();
    return *posted == 0 ? GPO_WOULD_BLOCK : GPO_SUCCESS;
}

// --- answers ---

uint64_t HostQueue::take(uint32_t tenant, const TakenAnswers& answers) {
    check_tenant(tenant);
    if (!ring_.shape().answer_words) refuse("has no answers");
    return ring_.take(tenant, answers.entries, answers.stride, answers.answers, answers.capacity);
}

// Throws if the tenant, which has no answer now, will never get one.
void HostQueue::refuse_wait(uint32_t tenant) const {
    if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    if (destroyed_.load(std::memory_order_acquire)) fail(GPO_CANCELLED, describe(), " was destroyed");
    if (context().lost()) throw Failure(context().loss());
    if (ErrorPtr failure = memory().user()->failure()) throw Failure(std::move(failure));
    if (ring_.state() == queue::State::aborted)
        fail(GPO_CANCELLED, describe(), " was aborted, and tenant ", tenant, " has no answer");
}

gpo_status HostQueue::wait(uint32_t tenant, uint64_t deadline) {
    check_tenant(tenant);
    if (!ring_.shape().answer_words) refuse("has no answers");
    if (ring_.completions(tenant) && ring_.shape().answer_bytes() == 0)
        fail(GPO_INVALID_STATE, "answers of tenant ", tenant, " of ", describe(), " go to its completion queue alone");
    struct Waiter {
        Waiter(queue::HostRing& ring, uint32_t tenant) : ring(ring), tenant(tenant) { ring.add_waiter(tenant, 1); }
        ~Waiter() { ring.add_waiter(tenant, -1); }
        queue::HostRing& ring;
        const uint32_t tenant;
    } const waiter(ring_, tenant);
    Patience patience(runtime().latency_mode(), kWaiterSpins);
    for (;;) {
        const uint32_t seen = ring_.signal(tenant).load(std::memory_order_seq_cst);
        // Read before the answers, so that answers from before the end are seen.
        const bool over = ring_.state() == queue::State::closed && !ring_.any_in_use(tenant);
        ring_.collect(false);
        if (ring_.any_to_take(tenant)) return GPO_SUCCESS;
        if (over) return GPO_END;
        refuse_wait(tenant);
        const uint64_t now = host::now();
        if (now >= deadline) {
            ring_.collect(true);   // another thread may be collecting the answer
            return ring_.any_to_take(tenant) ? GPO_SUCCESS : GPO_TIMEOUT;
        }
        if (patience.spin(now)) continue;
        host::wait(ring_.signal(tenant), seen, std::min(deadline, now + patience.rest(now)), host::Sleep::light);
    }
}

// --- the thread ---

void HostQueue::start() {
    std::lock_guard lock(starting_);
    if (!thread_.joinable()) thread_ = host::Thread("gpo-queue", [this] { serve(); });
}

// Collects answers, and fails the outstanding entries of a lost device. True: answers came.
bool HostQueue::serve_once() noexcept {
    const uint64_t came = ring_.collect(true);
    if (context().lost()) [[unlikely]]
        ring_.fail_outstanding(context().loss());
    return came != 0;
}

void HostQueue::serve() noexcept {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; by default a sleep of 10 us may take 50 us more
    Patience patience(runtime().latency_mode(), kThreadSpins);
    while (!stopping_.load(std::memory_order_seq_cst)) {
        const uint32_t seen = thread_signal_.load(std::memory_order_seq_cst);
        if (serve_once()) {
            patience.begin();
            continue;
        }
        const uint64_t now = host::now();
        const bool parks = ring_.outstanding() == 0;
        if (!parks && patience.spin(now)) continue;
        asleep_.store(true, std::memory_order_seq_cst);
        // A post first counts its entries, then reads asleep_: no wake-up is lost.
        if (!parks || ring_.outstanding() == 0)
            host::wait(thread_signal_, seen, parks ? host::kForever : now + patience.rest(now), host::Sleep::light);
        asleep_.store(false, std::memory_order_seq_cst);
        if (parks || thread_signal_.load(std::memory_order_seq_cst) != seen) patience.begin();
    }
}

void HostQueue::wake_thread() noexcept {
    asleep_.store(false, std::memory_order_relaxed);  // one waker is enough
    thread_signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(thread_signal_);
}

// --- the end ---

void HostQueue::abort_ring() {
    ring_.abort();
    tasks_.abort();
}

void HostQueue::abort_quietly() noexcept {
    ring_.abort();
    tasks_.abort_quietly();
}

void HostQueue::destroyed() noexcept {
    destroyed_.store(true, std::memory_order_release);
    DeviceQueue::destroyed();
}

// No call is inside any more. Later answers of the kernel are never taken.
void HostQueue::close() noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    wake_thread();
    thread_.join();
    serve_once();
    ring_.fail_outstanding(make_error(GPO_CANCELLED, describe(), " was destroyed before the task was answered"));
    DeviceQueue::close();
}

}  // namespace gpo
