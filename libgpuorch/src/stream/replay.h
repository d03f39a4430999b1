// A sequence of operations that a stream has learned, as a graph of the driver's: a chain of nodes, one for each
// *step*.
//
// Each step is also an operation. While it is withheld it has what the program has asked for, lies among what the
// stream holds (stream/held.h), and can be issued by itself. Otherwise it lies here, at home.
#pragma once

#include "stream/arguments.h"
#include "stream/held.h"
#include "stream/work.h"

namespace gpo {

/// Of all that must be the same each time: 63 bits. 0: of nothing that can be learned.
uint64_t fingerprint_of(const LearnableWork& work) noexcept;

class ReplayStep final : public Operation {
public:
    /// `operation` is the first that the step stands for, and `work` what can be learned of it. Throws std::bad_alloc.
    ReplayStep(const Operation& operation, const LearnableWork& work);
    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override { return {engine_, bytes_}; }
    Ref<const Counted> owner() const noexcept override { return owner_; }

    /// Whether the step's node can do this work.
    bool can_do(const LearnableWork& work) const noexcept;
    /// The step stands for this operation from now on, the stream's one of that number. `work` is one that it can do.
    void take(const Operation& operation, const LearnableWork& work, uint64_t number) noexcept;

    // Inside a DriverScope.
    /// Makes its node behind `after`, which becomes that node. `priority`: of a kernel's node.
    Issued add_to(const Context& context, CUgraph graph, int32_t priority, CUgraphNode& after) noexcept;
    /// Gives its node what it stands for, if that isn't what the node has.
    Issued send(const Context& context, CUgraphExec exec) noexcept;

private:
    // False where they are what the step has already.
    bool take(const KernelWork& work) noexcept;
    bool take(const CopyWork& work) noexcept;
    bool take(const FillWork& work) noexcept;

    LearnableWork work_;
    Arguments arguments_;             // of a kernel
    const Ref<const Counted> owner_;  // the kernel
    trace::Engine engine_;
    uint64_t bytes_;
    CUgraphNode node_ = nullptr;
    bool changed_ = false;  // work_ isn't what the node has
};

class Replay {
public:
    /// `priority`: of the stream, which a kernel in a graph doesn't get from the stream that the graph is launched on.
    Replay(Context& context, int32_t priority) noexcept : context_(context), priority_(priority) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    /// Adds a step. Throws std::bad_alloc.
    void add(const Operation& operation, const LearnableWork& work);
    size_t size() const noexcept { return steps_.size(); }
    ReplayStep& step(size_t index) noexcept { return static_cast<ReplayStep&>(*steps_[index]->operation); }
    /// Where steps lie that aren't withheld, and where in a list a step lies.
    Held::Spent& home() noexcept { return home_; }
    Held::Spent::iterator place(size_t index) noexcept { return steps_[index]; }

    /// Puts it at the beginning of a list of those that are given up, which it takes no memory to be on.
    static void give_up(std::unique_ptr<Replay> replay, std::unique_ptr<Replay>& list) noexcept {
        if (!replay) return;
        replay->next_ = std::move(list);
        list = std::move(replay);
    }

    // Inside a DriverScope. What the driver answered.
    /// Once all steps have been added.
    CUresult build() noexcept;
    /// Launches what the steps stand for. Unless it succeeds, nothing has been launched.
    CUresult launch(CUstream stream) noexcept;

private:
    Context& context_;
    const int32_t priority_;
    Held::Spent home_;
    std::vector<Held::Spent::iterator> steps_;
    CUgraph graph_ = nullptr;
    CUgraphExec exec_ = nullptr;
    std::unique_ptr<Replay> next_;  // in a list of those that are given up
};

}  // namespace gpo
