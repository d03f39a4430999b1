#include "serving/batch_lane.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/handles.h"
#include "core/thrown.h"
#include "graph/buckets.h"
#include "memory/copies.h"
#include "memory/fill.h"
#include "serving/batcher.h"
#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

constexpr uint64_t kTeam = 1 << 20;   // bytes from which helpers move them
constexpr unsigned kInTurn = 4;       // batches that a turn forms
constexpr uint64_t kTogether = 4096;  // bytes of a gap that are copied too, if that saves a copy

constexpr uint64_t aligned(uint64_t bytes, uint64_t to) noexcept { return (bytes + to - 1) / to * to; }

uint64_t address_of(const void* memory) noexcept { return reinterpret_cast<uint64_t>(memory); }

template <class Any>
void submit_to(Stream& stream, Any&& operation) {
    if (stream.submit(operation) != GPO_SUCCESS) fail(GPO_LIMIT_EXCEEDED, "too much is held on ", stream.describe());
}

}  // namespace

/// A lane's turn on the executor.
class BatchTurn final : public Task {
public:
    BatchTurn(Executor& executor, Batcher& batcher, BatchLane& lane)
        : Task(executor, awaited), batcher_(batcher), lane_(lane) {}

private:
    void call(const Outcome&, bool cancelled) override {
        if (!cancelled) return lane_.turn(true);
        abandon();
    }
    void abandon() noexcept override {
        batcher_.note_executor_gone();
        lane_.run_elsewhere(0);
    }

    Batcher& batcher_;
    BatchLane& lane_;
};

/// Reports the end of a batch to its lane.
class BatchEnd final : public CompletionHandler {
public:
    BatchEnd(Batcher& batcher, BatchLane& lane, BatchLane::Slot& slot) noexcept : lane_(lane), slot_(slot) {
        batcher.retain();
    }
    void on_completed(const Outcome& outcome) noexcept override {
        slot_.outcome = outcome.error;
        slot_.ended_ns = outcome.completed_ns;
        slot_.ended.store(true, std::memory_order_release);
        if (lane_.add_turn()) lane_.post();
    }

private:
    BatchLane& lane_;
    BatchLane::Slot& slot_;
};

BatchLane::Layout::Layout(const BatchKey& key) noexcept {
    const uint64_t most = key.room;
    input = aligned((uint64_t{key.max_batch} + 1) * sizeof(uint32_t), kAlign);
    in_bytes = aligned(input + most * key.input_bytes, kAlign);
    output = key.variable_output() ? aligned(uint64_t{key.max_batch} * sizeof(uint32_t), kAlign) : 0;
    out_bytes = aligned(output + most * key.output_bytes, kAlign);
}

BatchLane::BatchLane(Batcher& batcher, Ref<Context> context, gpo_device_t device, uint32_t place, uint32_t number,
                     Ref<Arena> arena)
    : batcher_(batcher), context_(std::move(context)), device_(device), place_(place), number_(number),
      arena_(std::move(arena)), team_("gpo-batch", pipeline::team_helpers()) {
    for (Slot& slot : slots_) {
        slot.worked = make<Event>(context_, 0u, nullptr);
        slot.batch.track = static_cast<uint32_t>(batcher.number() % 65536 << 16 |
                                                 (number * kSlots + static_cast<uint64_t>(&slot - slots_)));
    }
}

BatchLane::~BatchLane() {
    for (Slot& slot : slots_) {
        drop_stream(slot);
        free_buffers(slot);
    }
}

// --- turns ---

// The caller's reference to the batcher goes to the turn. True: the caller must post it.
bool BatchLane::add_turn() noexcept {
    uint64_t turn = turn_state_.load(std::memory_order_relaxed);
    while (!turn_state_.compare_exchange_weak(turn, (turn | kPosted) + kReference, std::memory_order_seq_cst)) {
    }
    if (turn & kPosted) return false;
    batcher_.note_turn_posted();
    return true;
}

void BatchLane::kick() noexcept {
    batcher_.retain();
    if (add_turn()) post();
}

// Once the turn is due, it may destroy the batcher.
void BatchLane::post() noexcept {
    Executor* executor = batcher_.executor();
    if (!executor) return run_elsewhere(0);
    try {
        const auto turn = make<BatchTurn>(*executor, batcher_, *this);
        static_cast<void>(executor->accept(*turn, this));  // a task that is awaited is never refused for lack of room
        turn->on_completed(Outcome());
    } catch (const Failure&) {
        batcher_.note_executor_gone();
        run_elsewhere(0);
    } catch (const std::bad_alloc&) {
        run_elsewhere(host::now() + Errands::kTryAgain);
    }
}

void BatchLane::post_later() noexcept {
    batcher_.retain();
    if (add_turn()) run_elsewhere(host::now() + Errands::kTryAgain);
}

void BatchLane::run_elsewhere(uint64_t due) noexcept {
    static_cast<void>(context_->runtime().errands().advance(*this, due));
}

void BatchLane::run() noexcept {
    if (batcher_.executor()) return post();
    batcher_.end_without_executor();
    turn(false);
}

void BatchLane::turn(bool forms) noexcept {
    const uint64_t state = turn_state_.exchange(0, std::memory_order_seq_cst);
    if (state & kPosted) batcher_.note_turn_begins();
    if (const std::unique_lock at_turn(turn_, std::try_to_lock); at_turn)
        work(forms);
    else
        post_later();  // the last turn of a destroyed executor is still in the program's function
    for (uint64_t i = state / kReference; i > 0; --i) batcher_.release();  // the last one may destroy the lane
}

void BatchLane::work(bool forms) noexcept {
    for (unsigned batches = 0;; ++batches) {
        for (Slot& slot : slots_) {
            if (slot.unmarked) put_mark(slot);
            if (slot.batch.key && slot.ended.load(std::memory_order_acquire)) finish(slot);
        }
        if (!forms || !batcher_.executor()) return;
        if (batches == kInTurn) return kick();  // other tasks of the executor come first
        // A turn that forms nothing still looks: submissions rely on posted turns.
        Slot* slot = free_slot();
        if (!slot) return batcher_.look();
        if (!batcher_.form(*this, slot->batch)) return;
        submit(*slot);
    }
}

BatchLane::Slot* BatchLane::free_slot() noexcept {
    const auto is_free = [](const Slot& slot) { return !slot.batch.key; };
    if (settling_ && !std::all_of(std::begin(slots_), std::end(slots_), is_free)) return nullptr;
    settling_ = false;
    const auto found = std::find_if(std::begin(slots_), std::end(slots_), is_free);
    return found == std::end(slots_) ? nullptr : &*found;
}

// --- a batch's way ---

void BatchLane::submit(Slot& slot) noexcept {
    slot.ended.store(false, std::memory_order_relaxed);
    slot.outcome = nullptr;
    slot.ended_ns = 0;
    slot.recorded = false;
    try {
        put(slot);
    } catch (const Failure& failure) {
        slot.batch.error = failure.error();
    } catch (const std::bad_alloc&) {
        slot.batch.error = bare_error(GPO_OUT_OF_MEMORY);
    } catch (const std::exception& exception) {
        slot.batch.error = make_error(GPO_INTERNAL, exception.what());
    }
    // A held batch may be cancelled, and its failure would be that of the next one, which waits for its work.
    if (slot.batch.error || (slot.stream && slot.stream->held().any())) {
        settling_ = true;
        batcher_.note_settles(*this);
    }
    slot.batch.submitted_ns = host::now();
    put_mark(slot);
}

void BatchLane::put(Slot& slot) {
    const Layout layout(*slot.batch.key);
    context_->require_alive();  // pinned memory ends with a context that the program destroys
    note_size(slot);
    prepare(slot, layout);
    copy_in(slot, layout);
    clear_output(slot, layout);
    for (Slot& other : slots_)
        if (&other != &slot && other.recorded && !other.ended.load(std::memory_order_acquire))
            if (other.worked->put_wait(*slot.stream) != GPO_SUCCESS)
                fail(GPO_LIMIT_EXCEEDED, "too much is held on ", slot.stream->describe());
    put_work(slot, layout);
    slot.stream->refuse_captured();  // by the program's function: what follows would be recorded, and never run
    if (slot.worked->record(*slot.stream) != GPO_SUCCESS)
        fail(GPO_LIMIT_EXCEEDED, "too much is held on ", slot.stream->describe());
    slot.recorded = true;
    copy_out(slot, layout);
}

void BatchLane::note_size(Slot& slot) {
    Batch& batch = slot.batch;
    if (batch.key->number >= slot.seen.size()) slot.seen.resize(batch.key->number + 1);
    uint64_t& seen = slot.seen[batch.key->number];
    const uint64_t size = uint64_t{1} << BatchTimes::class_of(batch.elements);
    batch.first = !(seen & size);
    seen |= size;
}

void BatchLane::put_mark(Slot& slot) noexcept {
    slot.unmarked = false;
    if (!slot.stream) {  // nothing was submitted
        slot.ended.store(true, std::memory_order_release);
        return;
    }
    Ref<BatchEnd> end;
    try {
        end = make<BatchEnd>(batcher_, *this, slot);
        slot.stream->mark(end);
    } catch (...) {
        slot.unmarked = true;
        if (end) batcher_.release();
        post_later();
    }
}

void BatchLane::prepare(Slot& slot, const Layout& layout) {
    if (!slot.stream) make_stream(slot);
    if (layout.in_bytes <= slot.in_bytes && layout.out_bytes <= slot.out_bytes) return;
    make_buffers(slot, std::max(layout.in_bytes, slot.in_bytes), std::max(layout.out_bytes, slot.out_bytes));
}

void BatchLane::make_stream(Slot& slot) {
    const std::string label =
        text(*batcher_.label() ? batcher_.label() : "batcher", "/", number_, "ab"[&slot - slots_]);
    gpo_stream_options options{};
    options.struct_size = sizeof options;
    options.label = label.c_str();
    auto made = make<Stream>(context_, device_, options);
    made->announce();
    made->set_whole("a batcher, and goes with it");
    slot.stream = std::move(made);
}

void BatchLane::make_buffers(Slot& slot, uint64_t in_bytes, uint64_t out_bytes) {
    free_buffers(slot);
    const std::string owner = text(batcher_.describe());
    {
        DriverScope scope(*context_);
        const SerialisingScope serialising(context_->runtime(), Serialising::device_allocation);
        const uint64_t bytes = in_bytes + out_bytes;
        context_->check_allocation(context_->table().cuMemAlloc(&slot.device_in, bytes), "cuMemAlloc",
                                   {Context::Wanted::Where::device, bytes, owner});
    }
    try {
        Registry::of(context_->runtime()).insert_owned(slot.device_in, in_bytes + out_bytes, false, owner.c_str());
        slot.device_out = slot.device_in + in_bytes;
        const uint32_t thread = handle::take_thread_number();
        if (in_bytes) slot.staged_in = static_cast<char*>(arena_->allocate(in_bytes, 0, thread));
        if (out_bytes) slot.staged_out = static_cast<char*>(arena_->allocate(out_bytes, 0, thread));
    } catch (...) {
        free_buffers(slot);
        throw;
    }
    slot.in_bytes = in_bytes;
    slot.out_bytes = out_bytes;
}

void BatchLane::free_buffers(Slot& slot) noexcept {
    const uint32_t thread = handle::take_thread_number();
    for (char** memory : {&slot.staged_in, &slot.staged_out}) {
        if (!*memory) continue;
        try {
            arena_->free(std::exchange(*memory, nullptr), thread);
        } catch (const Failure&) {  // the arena has ended with its runtime
        }
    }
    if (const CUdeviceptr memory = std::exchange(slot.device_in, 0)) {
        Registry::of(context_->runtime()).erase_owned(memory, false);
        DriverTry scope(*context_);
        if (scope.entered()) Streams::of(*context_).blocking_calls().free_used_memory(memory);
    }
    slot.device_out = 0;
    slot.in_bytes = slot.out_bytes = 0;
}

void BatchLane::drop_stream(Slot& slot) noexcept {
    if (slot.handle) handle::destroy(reinterpret_cast<uint64_t>(std::exchange(slot.handle, nullptr)), Type::stream);
    slot.stream = nullptr;
}

// Copies that continue the last one become a part of it, if both are `staged`: the program's memory may end in between.
void BatchLane::add_copy(uint64_t destination, uint64_t source, uint64_t bytes, bool staged) {
    if (bytes == 0) return;
    if (std::exchange(last_staged_, staged) && staged && !copies_.empty()) {
        gpo_copy& last = copies_.back();
        if (last.destination + last.bytes == destination && last.source + last.bytes == source) {
            last.bytes += bytes;
            return;
        }
    }
    gpo_copy copy{};
    copy.struct_size = sizeof copy;
    copy.destination = destination;
    copy.source = source;
    copy.bytes = bytes;
    copies_.push_back(copy);
}

void BatchLane::put_copies(Slot& slot) {
    if (copies_.size() == 1) {
        const gpo_copy& copy = copies_.front();
        const auto holds = [](CUdeviceptr from, uint64_t bytes, uint64_t address) { return address - from < bytes; };
        const bool in = holds(slot.device_in, slot.in_bytes, copy.destination);
        const uint64_t other = in ? copy.source : copy.destination;
        const bool staged = holds(address_of(slot.staged_in), slot.in_bytes, other) ||
                            holds(address_of(slot.staged_out), slot.out_bytes, other);
        if (staged)
            return submit_to(*slot.stream, Copy(*context_, in ? CopyWork::Way::to_device : CopyWork::Way::to_host,
                                                copy.destination, copy.source, copy.bytes));
    }
    if (!copies_.empty())
        submit_to(*slot.stream, CopyBatch(*context_, copies_.data(), sizeof copies_[0], copies_.size()));
}

void BatchLane::add_move(void* to, const void* from, uint64_t bytes) {
    const uint64_t at = moves_.empty() ? 0 : moves_.back().at + moves_.back().bytes;
    moves_.push_back({at, static_cast<char*>(to), static_cast<const char*>(from), bytes});
}

void BatchLane::move_all() noexcept {
    if (moves_.empty()) return;
    const uint64_t all = moves_.back().at + moves_.back().bytes;
    if (all < kTeam) {
        for (const Move& move : moves_) std::memcpy(move.to, move.from, move.bytes);
    } else {
        team_.run(all, [this](uint64_t offset, uint64_t bytes) {
            const auto behind = std::upper_bound(moves_.begin(), moves_.end(), offset,
                                                 [](uint64_t at, const Move& move) { return at < move.at; });
            for (auto move = std::prev(behind); bytes; ++move) {
                const uint64_t skipped = offset - move->at, part = std::min(bytes, move->bytes - skipped);
                std::memcpy(move->to + skipped, move->from + skipped, part);
                offset += part;
                bytes -= part;
            }
        });
    }
    moves_.clear();
}

bool BatchLane::goes_directly(uint64_t address, uint64_t bytes) const noexcept {
    if (bytes < kDirect) return false;
    const Range range = Registry::of(context_->runtime()).host.find(address);
    return range && bytes <= range.end - address;
}

void BatchLane::copy_in(Slot& slot, const Layout& layout) {
    const Batch& batch = slot.batch;
    auto* offsets = reinterpret_cast<uint32_t*>(slot.staged_in);
    const uint64_t used = (batch.members.size() + 1) * sizeof(uint32_t);
    copies_.clear();
    add_copy(slot.device_in, address_of(slot.staged_in), layout.input - used <= kTogether ? layout.input : used, true);
    moves_.clear();
    moves_.reserve(batch.members.size());  // enough for scatter() too
    uint64_t elements = 0;
    size_t i = 0;
    for (BatchRequest* request : batch.members) {
        offsets[i++] = static_cast<uint32_t>(elements);
        const uint64_t bytes = request->elements * batch.key->input_bytes;
        const uint64_t at = layout.input + elements * batch.key->input_bytes;
        elements += request->elements;
        if (request->input_address) {
            add_copy(slot.device_in + at, request->input_address, bytes, false);
        } else if (goes_directly(address_of(request->input), bytes)) {
            add_copy(slot.device_in + at, address_of(request->input), bytes, false);
        } else if (bytes) {
            add_move(slot.staged_in + at, request->input, bytes);
            add_copy(slot.device_in + at, address_of(slot.staged_in) + at, bytes, true);
        }
    }
    offsets[i] = static_cast<uint32_t>(elements);
    move_all();
    put_copies(slot);
}

void BatchLane::clear_output(Slot& slot, const Layout& layout) {
    const BatchKey& key = *slot.batch.key;
    uint64_t bytes = key.variable_output() ? slot.batch.members.size() * sizeof(uint32_t) : 0;
    if (!(key.flags & GPO_BATCHER_KEEP_OUTPUT)) bytes = layout.output + slot.batch.elements * key.output_bytes;
    if (bytes) submit_to(*slot.stream, Fill(*context_, slot.device_out, 0, 4, (bytes + 3) / 4));
}

void BatchLane::put_work(Slot& slot, const Layout& layout) {
    if (!slot.handle) slot.handle = context_->runtime().publish<gpo_stream_t>(*slot.stream);
    if (slot.batch.key->buckets.empty())
        call_work(slot, layout);
    else
        launch_buckets(slot, layout);
}

void BatchLane::launch_buckets(Slot& slot, const Layout& layout) {
    const Batch& batch = slot.batch;
    const BatchKey& key = *batch.key;
    const uint64_t input = slot.device_in + layout.input, output = slot.device_out + layout.output;
    const uint64_t offsets = slot.device_in, made = slot.device_out, count = batch.members.size();
    gpo_setting settings[6]{};
    uint64_t used = 0;
    const auto set = [&](const char* name, const uint64_t& value) {
        settings[used].struct_size = sizeof settings[0];
        settings[used].name = name;
        settings[used].value = &value;
        settings[used++].bytes = sizeof value;
    };
    if (key.input_bytes) set("input", input);
    if (key.output_bytes) set("output", output);
    const uint64_t needed = used;
    set("offsets", offsets);
    set("count", count);
    set("elements", batch.elements);
    if (key.variable_output()) set("made", made);
    const uint64_t size = key.ragged ? batch.elements : count;
    uint64_t shape = 0;
    Pin<Buckets> buckets(key.buckets[place_]);
    const gpo_status status =
        buckets->launch(*slot.stream, slot.handle, {size, settings, sizeof settings[0], used, needed}, &shape);
    if (status != GPO_SUCCESS) fail(GPO_LIMIT_EXCEEDED, "too much is held on ", slot.stream->describe());
    slot.batch.padding = shape ? shape - size : 0;
}

void BatchLane::call_work(Slot& slot, const Layout& layout) {
    const Batch& batch = slot.batch;
    const BatchKey& key = *batch.key;
    members_.clear();
    uint64_t first = 0;
    for (const BatchRequest* request : batch.members) {
        members_.push_back({sizeof(gpo_batch_request), 0, request->target.user_data, request->flow_number,
                            request->elements, first, request->elements * key.input_bytes,
                            request->elements * key.output_bytes});
        first += request->elements;
    }
    gpo_batch view{};
    view.struct_size = sizeof view;
    view.requests = static_cast<uint32_t>(batch.members.size());
    view.elements = view.shape = batch.elements;
    view.input = slot.device_in + layout.input;
    view.output = slot.device_out + layout.output;
    view.offsets = slot.device_in;
    view.made = key.variable_output() ? slot.device_out : 0;
    view.key = key.number;
    view.device = place_;
    view.lane = number_;
    view.members = members_.data();
    view.member_stride = sizeof members_[0];
    gpo_status status = GPO_INTERNAL;
    std::optional<ThrownText> thrown;
    {
        const host::NoCancel no_cancel;
        const Runtime::CallbackScope scope(context_->runtime(), &batcher_);
        const trace::CallbackSpan span(context_->runtime(), "batch");
        try {
            status = key.work(key.user, slot.handle, &view);
        } catch (const std::exception& exception) {
            thrown = thrown_text(exception);
        } catch (...) {
            thrown = thrown_text();
        }
    }
    if (thrown) fail(GPO_CALLBACK_FAILED, "the work callback threw ", *thrown);
    if (status != GPO_SUCCESS)
        fail(GPO_CALLBACK_FAILED, "the work callback returned ", gpo_status_name(status), " (", status, ")");
}

void BatchLane::copy_out(Slot& slot, const Layout& layout) {
    const Batch& batch = slot.batch;
    const BatchKey& key = *batch.key;
    copies_.clear();
    if (key.variable_output()) {
        const uint64_t used = batch.members.size() * sizeof(uint32_t);
        add_copy(address_of(slot.staged_out), slot.device_out, layout.output - used <= kTogether ? layout.output : used,
                 true);
    }
    uint64_t elements = 0;
    for (BatchRequest* request : batch.members) {
        const uint64_t bytes = request->elements * key.output_bytes;
        const uint64_t at = layout.output + elements * key.output_bytes;
        elements += request->elements;
        // Only bytes that the work made are written to host memory.
        const bool may = !key.variable_output() && goes_directly(address_of(request->output), bytes);
        request->direct_output = request->output_address || may;
        const uint64_t direct = request->output_address ? request->output_address : address_of(request->output);
        add_copy(request->direct_output ? direct : address_of(slot.staged_out) + at, slot.device_out + at, bytes,
                 !request->direct_output);
    }
    put_copies(slot);
}

// --- a batch's end ---

void BatchLane::finish(Slot& slot) noexcept {
    Batch& batch = slot.batch;
    if (!batch.error) batch.error = std::move(slot.outcome);
    batch.ended_ns = slot.ended_ns;
    if (!batch.error) {
        try {
            context_->require_alive();
            scatter(slot);
        } catch (const Failure& failure) {
            batch.error = failure.error();
        } catch (const std::bad_alloc&) {
            batch.error = bare_error(GPO_OUT_OF_MEMORY);
        }
    }
    slot.outcome = nullptr;
    slot.recorded = false;
    slot.ended.store(false, std::memory_order_relaxed);
    if (context_->lost()) batcher_.note_lost(*this);
    if (slot.stream && slot.stream->failure()) drop_stream(slot);
    batcher_.finish(*this, batch);
}

void BatchLane::scatter(Slot& slot) noexcept {
    moves_.clear();  // a batch may have failed halfway
    const Batch& batch = slot.batch;
    const BatchKey& key = *batch.key;
    const Layout layout(key);
    const auto* made = key.variable_output() ? reinterpret_cast<const uint32_t*>(slot.staged_out) : nullptr;
    uint64_t elements = 0;
    for (size_t i = 0; i < batch.members.size(); ++i) {
        const BatchRequest& request = *batch.members[i];
        uint64_t bytes = request.elements * key.output_bytes;
        if (made && made[i]) bytes = std::min<uint64_t>(bytes, made[i]);
        if (!request.direct_output && bytes)
            add_move(request.output, slot.staged_out + layout.output + elements * key.output_bytes, bytes);
        if (request.output_made) *request.output_made = bytes;
        elements += request.elements;
    }
    move_all();
}

}  // namespace gpo
