#include "pipeline/range_source.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpo::pipeline {

namespace {

class RangeSource final : public Source {
public:
    RangeSource(std::unique_ptr<const Bytes> range, uint64_t at, uint64_t bytes, Team& team) noexcept
        : range_(std::move(range)), total_(bytes), at_(at), left_(bytes), team_(team) {}
    ~RangeSource() override {
        for (; finished_ != begun_; ++finished_) team_.abandon(fetch(finished_));
    }

    uint64_t total() const noexcept override { return total_; }
    const void* direct() const noexcept override { return range_->direct(); }
    bool staged() const noexcept override { return range_->staged(); }
    unsigned ahead() const noexcept override { return kAhead; }

    void begin(void* buffer, uint64_t capacity) override {
        Fetch& next = fetch(begun_++);
        next.range = range_.get();
        next.to = static_cast<char*>(buffer);
        next.at = at_;
        next.bytes = std::min(capacity, left_);
        next.error.store(0, std::memory_order_relaxed);
        at_ += next.bytes;
        left_ -= next.bytes;
        team_.begin(next, next.bytes);
    }

    uint64_t finish() override {
        Fetch& oldest = fetch(finished_);
        team_.finish(oldest);
        ++finished_;
        if (const int error = oldest.error.load(std::memory_order_relaxed)) range_->fail(error);
        filled_ += oldest.bytes;
        if (filled_ == total_ && !std::exchange(ended_, true)) range_->check_end();
        return oldest.bytes;
    }

private:
    static constexpr unsigned kAhead = 2;  // the fetch that is waited for, and the next

    struct Fetch final : Team::Job {
        void move(uint64_t offset, uint64_t count) noexcept override {
            const int number = range->fetch(to + offset, at + offset, count);
            if (number != 0) error.store(number, std::memory_order_relaxed);
        }
        const Bytes* range = nullptr;
        char* to = nullptr;
        uint64_t at = 0, bytes = 0;
        std::atomic<int> error{0};
    };

    Fetch& fetch(uint64_t number) noexcept { return fetches_[number % kAhead]; }

    const std::unique_ptr<const Bytes> range_;
    const uint64_t total_;
    uint64_t at_, left_;
    Team& team_;
    uint64_t begun_ = 0, finished_ = 0, filled_ = 0;
    bool ended_ = false;
    std::array<Fetch, kAhead> fetches_;
};

}  // namespace

std::unique_ptr<Source> read_range(std::unique_ptr<const Bytes> range, uint64_t at, uint64_t bytes, Team& team) {
    return std::make_unique<RangeSource>(std::move(range), at, bytes, team);
}

}  // namespace gpo::pipeline
