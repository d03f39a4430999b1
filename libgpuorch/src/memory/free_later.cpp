#include "memory/free_later.h"

#include <algorithm>

#include "stream/streams.h"

namespace gpo {

// Closes the open batch: it waits for its mark in `under_way`.
Ref<FreeLater::Batch> FreeLater::close(Line& line) noexcept {
    line.under_way.splice(line.under_way.end(), line.open);
    return line.under_way.back();
}

void FreeLater::add(Stream& stream, const SlabHeap::Piece& piece) {
    Ref<Batch> due;
    {
        std::lock_guard lock(lock_);
        if (lines_.size() >= kLines)
            std::erase_if(lines_,
                          [](const auto& line) { return line.second.open.empty() && line.second.under_way.empty(); });
        Line& line = lines_[&stream];
        if (line.open.empty()) {
            line.open.push_back(make<Batch>(*this, stream));
            stream.marks().expect_mark();
        }
        Batch& batch = *line.open.front();
        batch.pieces[batch.count++] = piece;
        batch.bytes += piece.bytes;
        waiting_.fetch_add(piece.bytes, std::memory_order_acq_rel);
        ++pieces_;
        if (line.under_way.empty() || batch.count == kPieces || batch.bytes >= kLarge) due = close(line);
    }
    if (due) mark(due);
}

// Under no lock: makes a driver call.
void FreeLater::mark(const Ref<Batch>& batch) noexcept {
    try {
        batch->stream_->mark(batch);
    } catch (...) {
        // Without a mark, the stream's next mark, poll() or this wait frees the batch, whichever comes first.
        wait_for_all(batch);
    }
    batch->stream_->marks().end_expecting_mark();
}

// Under no lock. Called when no batch of the line was under way.
void FreeLater::mark_open(Stream& stream) noexcept {
    Ref<Batch> due;
    {
        std::lock_guard lock(lock_);
        const auto found = lines_.find(&stream);
        if (found == lines_.end() || found->second.open.empty()) return;
        due = close(found->second);
    }
    mark(due);
}

void FreeLater::Batch::on_completed(const Outcome& outcome) noexcept {
    const Ref<Batch> self(this);
    if (!outcome.error || stream_->context().lost()) {
        of_.free_through(*stream_, this);
        return;
    }
    retain();
    stream_->runtime().errands().post(*this);
}

// The stream has failed, and earlier work may still run on it; or memory for the wait was lacking.
void FreeLater::Batch::run() noexcept {
    of_.wait_for_all(Ref<Batch>::adopt(this));
}

void FreeLater::wait_for_all(Ref<Batch> batch) noexcept {
    try {
        Streams::of(batch->stream_->context())
            .when_all_pass([batch](bool) { batch->of_.free_through(*batch->stream_, batch.get()); },
                           batch->stream_.get());
    } catch (...) {
        Batch& again = *batch.leak();
        again.stream_->runtime().errands().post(again, host::now() + Errands::kTryAgain);
    }
}

// Frees all of the stream's batches up to `last`. If `last` isn't there any more, another thread has freed them.
void FreeLater::free_through(Stream& stream, const Batch* last) noexcept {
    Batches done;  // released under no lock
    bool open = false;
    {
        std::lock_guard lock(lock_);
        const auto found = lines_.find(&stream);
        if (found == lines_.end()) return;
        auto& under_way = found->second.under_way;
        const auto position =
            std::find_if(under_way.begin(), under_way.end(), [&](auto& b) { return b.get() == last; });
        if (position == under_way.end()) return;
        done.splice(done.end(), under_way, under_way.begin(), std::next(position));
        open = under_way.empty() && !found->second.open.empty();
        // Released under the lock: a thread that polls for lack of room finds the batch here or its pieces in the heap.
        for (const auto& batch : done) {
            for (unsigned i = 0; i < batch->count; ++i) heap_.release(batch->pieces[i]);
            waiting_.fetch_sub(batch->bytes, std::memory_order_acq_rel);
            pieces_ -= batch->count;
        }
    }
    if (open)
        stream.runtime().errands().post_body(
            [this, owner = Ref<Object>(&owner_), on = Ref<Stream>(&stream)] { mark_open(*on); });
}

// The lock keeps waiting pieces from becoming free between the reads.
FreeLater::Account FreeLater::account() noexcept {
    std::lock_guard lock(lock_);
    return {heap_.totals(), waiting(), pieces_};
}

void FreeLater::count(const SlabHeap::Piece& piece) noexcept {
    std::lock_guard lock(lock_);
    waiting_.fetch_add(piece.bytes, std::memory_order_acq_rel);
    ++pieces_;
}

void FreeLater::free_counted(const SlabHeap::Piece& piece) noexcept {
    std::lock_guard lock(lock_);
    heap_.release(piece);
    waiting_.fetch_sub(piece.bytes, std::memory_order_acq_rel);
    --pieces_;
}

void FreeLater::poll() noexcept {
    if (waiting() == 0) return;
    std::vector<Ref<Batch>> newest;
    std::vector<Ref<Batch>> unmarked;
    try {
        std::lock_guard lock(lock_);
        newest.reserve(lines_.size());
        unmarked.reserve(lines_.size());
        for (auto& [stream, line] : lines_) {
            if (!line.open.empty()) unmarked.push_back(close(line));
            if (!line.under_way.empty()) newest.push_back(line.under_way.back());
        }
    } catch (const std::bad_alloc&) {
        return;
    }
    for (const auto& batch : unmarked) mark(batch);
    for (const auto& batch : newest) {
        try {
            if (batch->stream_->query() == GPO_SUCCESS) free_through(*batch->stream_, batch.get());
        } catch (...) {
            // The stream is captured or has failed: its marks decide.
            if (batch->stream_->context().lost()) free_through(*batch->stream_, batch.get());
        }
    }
}

}  // namespace gpo
