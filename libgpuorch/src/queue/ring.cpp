#include "queue/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kernel/launch.h"
#include "memory/fill.h"
#include "queue/queue_options.h"
#include "queue/staged.h"

namespace gpo {

namespace queue {

namespace {

constexpr uint32_t kLeastLog2 = 6, kMostLog2 = 26;
constexpr uint32_t kLeastTask = 16, kMostTask = 256, kMostPriorities = 8;
constexpr uint64_t kAlignment = 256;

constexpr uint64_t aligned(uint64_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Sizes of a ring's parts, which follow each other in a single allocation.
struct Parts {
    uint64_t words, sequence, tasks;  // bytes
    explicit Parts(const Ring::Shape& shape) noexcept
        : words(shape.priorities * ring_words::kBytes),
          sequence(aligned((uint64_t{shape.priorities} << shape.capacity_log2) * sizeof(uint32_t))),
          tasks((uint64_t{shape.priorities} << shape.capacity_log2) * shape.task_size) {}
};

}  // namespace

uint32_t capacity_log2(uint64_t given, uint64_t otherwise) {
    const uint64_t capacity = given == GPO_AUTO ? otherwise : given;
    check_between("capacity", capacity, 1, uint64_t{1} << kMostLog2);
    return std::max(static_cast<uint32_t>(std::bit_width(capacity - 1)), kLeastLog2);
}

void check_task_size(uint32_t bytes) {
    check_between("task_size", bytes, kLeastTask, kMostTask);
    check_multiple("task_size", bytes, kLeastTask);
}

Ring::Ring(Memory& memory, const Shape& shape) : memory_(memory) {
    const Parts parts(shape);
    handle_.words = memory.allocate(parts.words + parts.sequence + parts.tasks);
    handle_.sequence = handle_.words + parts.words;
    handle_.tasks = handle_.sequence + parts.sequence;
    handle_.capacity_log2 = shape.capacity_log2;
    handle_.task_size = shape.task_size;
    handle_.priorities = shape.priorities;
    handle_.flags = shape.flags;
    memory.clear(handle_.words, parts.words + parts.sequence);
    for (uint32_t priority = 0; priority < shape.priorities; ++priority)
        memory.write(words(priority) + ring_words::kRoom, static_cast<uint32_t>(capacity()));
}

Ring::Counts Ring::counts() const {
    std::vector<std::byte> copy(handle_.priorities * ring_words::kBytes);
    memory_.copy_out(copy.data(), handle_.words, copy.size());
    Counts out;
    for (uint32_t priority = 0; priority < handle_.priorities; ++priority) {
        const auto word = [&](uint64_t offset) {
            uint64_t value = 0;
            std::memcpy(&value, copy.data() + priority * ring_words::kBytes + offset, sizeof value);
            return value;
        };
        const uint64_t tail = word(ring_words::kTail), head = word(ring_words::kHead);
        // With tickets, pops may take more positions than were pushed.
        out.depth += tail - std::min(head, tail);
        out.pushed += tail;
        out.popped += std::min(head, tail);
        out.done += word(ring_words::kDone);
        out.refused += word(ring_words::kRefused);
    }
    std::memcpy(&out.state, copy.data() + ring_words::kState, sizeof out.state);
    return out;
}

// The ring may be aborted between the read and the write. After an abort by the host, this writes `aborted` again. A
// kernel may have aborted because its wait passed its bound. Kernels then find the ring closed, until another wait
// passes its bound and aborts the ring again.
void Ring::close() {
    State state = State::open;
    memory_.copy_out(&state, state_word(), sizeof state);
    if (state != State::open) return;
    write_state(State::closed);
    if (aborted_.load(std::memory_order_seq_cst)) write_state(State::aborted);
}

void Ring::abort() {
    aborted_.store(true, std::memory_order_seq_cst);
    write_state(State::aborted);
}

void Ring::abort_quietly() noexcept {
    try {
        abort();
    } catch (const std::exception&) {
        // The context is lost, or the driver refuses: then nothing reaches the kernel.
    }
}

void Ring::describe_in(gpo_queue_info& info) const {
    const Counts counts = this->counts();
    info.state = static_cast<uint32_t>(counts.state);
    info.task_size = handle_.task_size;
    info.capacity = capacity();
    info.depth = counts.depth;
    info.pushed = counts.pushed;
    info.popped = counts.popped;
    info.done = counts.done;
    info.refused = counts.refused;
}

void Ring::write_state(State state) { memory_.write(state_word(), static_cast<uint32_t>(state)); }

gpo_status Ring::reset(gpo::Stream& stream) {
    aborted_.store(false, std::memory_order_seq_cst);
    Context& context = memory_.context();
    gpo_status status = GPO_SUCCESS;
    const auto clear = [&](uint64_t from, uint64_t to) {
        Fill zeros(context, from, 0, sizeof(uint32_t), (to - from) / sizeof(uint32_t));
        status = stream.submit(zeros);
    };
    clear(handle_.words, handle_.sequence);
    if (status == GPO_SUCCESS) clear(handle_.sequence, handle_.tasks);
    for (uint32_t priority = 0; priority < handle_.priorities && status == GPO_SUCCESS; ++priority) {
        Fill room(context, words(priority) + ring_words::kRoom, static_cast<uint32_t>(capacity()), sizeof(uint32_t), 1);
        status = stream.submit(room);
    }
    return status;
}

}  // namespace queue

namespace {

constexpr uint64_t kDefaultCapacity = 65536;

queue::Ring::Shape shape_of(const gpo_queue_options& options) {
    queue::refuse_options(
        "ring", options,
        {queue::Option::batch, queue::Option::count, queue::Option::answer_size, queue::Option::tenants});
    refuse_unknown_flags(options.flags, GPO_QUEUE_TICKETS, "options.flags of a ring");
    queue::check_task_size(options.task_size);
    const uint32_t priorities = std::max(options.priorities, 1u);
    const bool tickets = options.flags & GPO_QUEUE_TICKETS;  // a ticket waits for a place of one priority
    queue::check_between("priorities", priorities, 1, tickets ? 1 : queue::kMostPriorities);
    return {queue::capacity_log2(options.capacity, kDefaultCapacity), options.task_size, priorities,
            tickets ? queue::RingHandle::kTickets : 0};
}

}  // namespace

Ref<DeviceQueue> RingQueue::create(Ref<Context> context, const gpo_queue_options& options, Stream* user) {
    const queue::Ring::Shape shape = shape_of(options);
    return make<RingQueue>(std::move(context), options, shape, user);
}

namespace {

Ref<Counted> load_push(Context& context) {
    const std::string_view image = context.driver().push_image;
    auto module = make<Module>(Ref<Context>(&context), kernel::ImageBytes(image.data(), image.size()),
                               Module::Lowered{}, "queues", nullptr);
    Function& function = module->function("gpo_push");
    return make<Kernel>(std::move(module), function, "push");
}

}  // namespace

Ref<Kernel> queue::push_kernel(Context& context) {
    return Ref<Kernel>::adopt(static_cast<Kernel*>(context.keep(load_push).leak()));
}

namespace {

gpo_launch one_block(const char* label, uint64_t tasks) {
    constexpr uint64_t kWarp = 32, kMostThreads = 512;
    gpo_launch launch{};
    launch.struct_size = sizeof launch;
    launch.grid[0] = 1;
    launch.block[0] = static_cast<uint32_t>(std::min((tasks + kWarp - 1) / kWarp * kWarp, kMostThreads));
    launch.label = label;
    return launch;
}

// Reads tasks from pinned memory that is reused, so can't be recorded or learned.
class Push final : public LaunchKernel {
public:
    using LaunchKernel::LaunchKernel;
    void issue(Stream& stream) override {
        stream.refuse_capture();
        LaunchKernel::issue(stream);
    }
    bool add_to(Stream&, StreamRecording&) override { return false; }
    LearnableWork learnable() const noexcept override { return {}; }
};

}  // namespace

RingQueue::RingQueue(Ref<Context> context, const gpo_queue_options& options, const queue::Ring::Shape& shape,
                     Stream* user)
    : DeviceQueue(std::move(context), options, user), ring_(memory(), shape),
      push_(queue::push_kernel(this->context())),
      push_label_(*label() ? runtime().intern(text("push ", label())) : "push") {
    memory().wait();
}

void RingQueue::describe_in(gpo_queue_info& info) { ring_.describe_in(info); }

gpo_status RingQueue::push(Stream& stream, const void* tasks, uint64_t count, uint32_t priority) {
    require_device(stream);
    const queue::RingHandle& ring = ring_.handle();
    if (priority >= ring.priorities)
        fail(GPO_INVALID_ARGUMENT, "priority is ", priority, ", and ", describe(), " has ", ring.priorities);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, uint64_t{ring.task_size}, &bytes))
        fail(GPO_INVALID_ARGUMENT, count, " tasks of ", ring.task_size, " bytes don't fit into 64 bits");
    if (count == 0) return GPO_SUCCESS;
    queue::Staged staged(staging(), bytes);
    std::memcpy(staged.as<void>(), tasks, bytes);
    const uint64_t words = ring_.words(priority), state = ring_.state_word(), sequence = ring_.sequence(priority),
                   slots = ring_.tasks(priority), source = reinterpret_cast<uint64_t>(staged.as<void>());
    const uint32_t tickets = ring.flags & queue::RingHandle::kTickets;
    const void* const arguments[] = {&words,          &state,   &sequence, &slots, &ring.capacity_log2,
                                     &ring.task_size, &tickets, &source,   &count};
    static constexpr uint32_t kSizes[] = {8, 8, 8, 8, 4, 4, 4, 8, 8};
    Push push(*push_, one_block(push_label_, count), arguments, kSizes, std::size(kSizes));
    return staged.submit(stream, push);
}

gpo_status RingQueue::reset(Stream& stream) {
    require_device(stream);
    return ring_.reset(stream);
}

void RingQueue::abort_quietly() noexcept { ring_.abort_quietly(); }

}  // namespace gpo
