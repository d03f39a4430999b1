// A sequence of operations that a stream has learned, as a graph of the driver's: a chain of nodes, one for each
// *step*.
//
// Each step is also an operation. While withheld, a step carries the program's operation, is in the stream's list of
// held operations (stream/held.h), and can be issued by itself. Otherwise the step is in the Replay's list, at home.
#pragma once

#include "stream/arguments.h"
#include "stream/held.h"
#include "stream/room.h"
#include "stream/work.h"

namespace gpo {

/// A 63-bit hash of all properties that must be equal in each repetition. 0: not learnable.
uint64_t fingerprint_of(const LearnableWork& work) noexcept;

class ReplayStep final : public Operation {
public:
    /// `operation`: the first operation that the step stands for. `work`: its learnable work. Throws std::bad_alloc.
    ReplayStep(const Operation& operation, const LearnableWork& work);
    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override { return {engine_, bytes_}; }
    Ref<const Counted> owner() const noexcept override { return owner_; }

    /// Whether the step's node can do this work.
    bool can_do(const LearnableWork& work) const noexcept;
    /// From now on the step stands for this operation, with number `number` on the stream. Requires can_do(work).
    void take(const Operation& operation, const LearnableWork& work, uint64_t number) noexcept;

    // Inside a DriverScope.
    /// Makes the step's node after node `after`, and sets `after` to the new node. `priority`: for kernel nodes.
    Issued add_to(const Context& context, CUgraph graph, int32_t priority, CUgraphNode& after) noexcept;
    /// Updates the node if its parameters differ from the step's work.
    Issued send(const Context& context, CUgraphExec exec) noexcept;

private:
    // Copies the parameters. False if they haven't changed.
    bool take(const KernelWork& work) noexcept;
    bool take(const CopyWork& work) noexcept;
    bool take(const FillWork& work) noexcept;

    LearnableWork work_;
    Arguments arguments_;             // if the work is a kernel
    const Ref<const Counted> owner_;  // the kernel
    trace::Engine engine_;
    uint64_t bytes_;
    CUgraphNode node_ = nullptr;
    bool changed_ = false;  // work_ differs from the node's parameters
};

class Replay {
public:
    /// `priority`: the stream's: kernels in a graph don't inherit it from the stream of the launch.
    Replay(Context& context, int32_t priority) noexcept : context_(context), priority_(priority) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    /// Adds a step. Throws std::bad_alloc.
    void add(const Operation& operation, const LearnableWork& work);
    size_t size() const noexcept { return steps_.size(); }
    ReplayStep& step(size_t index) noexcept { return static_cast<ReplayStep&>(*steps_[index]->operation); }
    /// The list of steps that aren't withheld, and the place of a step in its list.
    Held::Spent& home() noexcept { return home_; }
    Held::Spent::iterator place(size_t index) noexcept { return steps_[index]; }

    /// Prepends `replay` to a list of given-up replays, without allocating memory.
    static void give_up(std::unique_ptr<Replay> replay, std::unique_ptr<Replay>& list) noexcept {
        if (!replay) return;
        replay->next_ = std::move(list);
        list = std::move(replay);
    }

    // Both are called inside a DriverScope and return the driver's result.
    /// Makes the executable graph. Called once all steps were added.
    CUresult build() noexcept;
    /// Launches the steps' operations. On failure nothing has been launched.
    CUresult launch(CUstream stream) noexcept;

private:
    Context& context_;
    const int32_t priority_;
    Held::Spent home_;
    std::vector<Held::Spent::iterator> steps_;
    CUgraph graph_ = nullptr;
    CUgraphExec exec_ = nullptr;
    Room::Share room_;
    std::unique_ptr<Replay> next_;  // in a list of given-up replays
};

}  // namespace gpo
