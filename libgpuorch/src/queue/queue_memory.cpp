#include "queue/queue_memory.h"

#include <cstring>

#include "stream/streams.h"

namespace gpo::queue {

namespace {

CUstream make_control_stream(Context& context, Room::Share& room) {
    DriverScope scope(context);
    room = Streams::of(context).room().take(Room::kStream, "making a queue's stream");
    const driver::Table& table = context.table();
    int least = 0, greatest = 0;
    context.check(table.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
    CUstream stream = nullptr;
    context.check(table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest),
                  "cuStreamCreateWithPriority");
    return stream;
}

}  // namespace

Memory::Memory(Ref<Context> context, Ref<gpo::Stream> user, const FixedText<96>& owner)
    : context_(std::move(context)), user_(std::move(user)), memory_(make<OwnedMemory>(context_, owner)),
      control_(make_control_stream(*context_, room_)) {
    if (!user_) return;
    user_->marks().expect_mark();
    expecting_ = true;
}

Memory::~Memory() {
    if (expecting_) user_->marks().end_expecting_mark();  // the queue couldn't be created
    DriverTry scope(*context_);
    if (!scope.entered()) return;
    context_->table().cuStreamSynchronize(control_);  // an abort may have written just now
    context_->table().cuStreamDestroy(control_);
}

uint64_t Memory::allocate(uint64_t bytes) {
    const uint64_t address = memory_->allocate(bytes);
    device_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return address;
}

void* Memory::allocate_host(uint64_t bytes) {
    void* const memory = memory_->allocate_host(bytes);
    std::memset(memory, 0, bytes);
    pinned_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return memory;
}

void Memory::clear(uint64_t address, uint64_t bytes) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuMemsetD32Async(address, 0, bytes / 4, control_), "cuMemsetD32Async");
}

void Memory::write(uint64_t address, uint32_t value) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuStreamWriteValue32(control_, address, value, CU_STREAM_WRITE_VALUE_DEFAULT),
                    "cuStreamWriteValue32");
}

void Memory::copy_in(uint64_t address, const void* from, uint64_t bytes) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuMemcpyHtoDAsync(address, from, bytes, control_), "cuMemcpyHtoDAsync");
    context_->check(context_->table().cuStreamSynchronize(control_), "cuStreamSynchronize");
}

void Memory::copy_out(void* to, uint64_t address, uint64_t bytes) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuMemcpyDtoHAsync(to, address, bytes, control_), "cuMemcpyDtoHAsync");
    context_->check(context_->table().cuStreamSynchronize(control_), "cuStreamSynchronize");
}

void Memory::wait() {
    DriverScope scope(*context_);
    context_->check(context_->table().cuStreamSynchronize(control_), "cuStreamSynchronize");
}

// --- the end ---

void Memory::part() noexcept {
    if (!user_) return;
    expecting_ = false;
    retain();
    run();
}

// Runs twice. The first run marks the user's stream, on the thread that closes the queue; without memory for a mark,
// the errands try again. The second run releases this object after the mark's completion, on the errands' thread. The
// second run may begin as soon as the stream is marked: from then on the first run accesses no member.
void Memory::run() noexcept {
    if (marked_) return release();
    const Ref<gpo::Stream> user = user_;
    bool passing = false;
    try {
        marked_ = true;
        user->mark(Ref<CompletionHandler>(this));
        user->marks().end_expecting_mark();
        return;
    } catch (const std::exception& error) {
        passing = is_passing(error);
    }
    marked_ = false;
    if (passing) return context_->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
    user->marks().end_expecting_mark();
    release();
}

void Memory::on_completed(const Outcome&) noexcept { context_->runtime().errands().post(*this); }

}  // namespace gpo::queue
