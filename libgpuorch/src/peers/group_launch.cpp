#include "peers/group_launch.h"

#include "kernel/launch.h"
#include "stream/group_work.h"

namespace gpo::peers {

class Launcher::Work final : public GroupWork {
public:
    Work(Launcher& launcher, std::vector<std::unique_ptr<Operation>> launches, std::vector<Stream*> streams)
        : GroupWork("kernels", launches.front()->label(), streams), launcher_(&launcher),
          launches_(std::move(launches)), streams_(std::move(streams)) {}

private:
    void issue() override {
        std::lock_guard lock(launcher_->lock_);
        const LaunchTogether together(streams_[0]->runtime());
        launcher_->barrier_.issue([&](size_t rank) -> Stream& { return *streams_[rank]; });
        for (size_t rank = 0; rank < streams_.size(); ++rank) {
            if (rank == 1) begin();   // if the first launch fails, the streams have only met and can go on
            const DriverScope scope(streams_[rank]->context());
            launches_[rank]->issue(*streams_[rank]);
        }
    }
    const Operation* content(const DriverStream& stream) const noexcept override {
        for (size_t rank = 0; rank < streams_.size(); ++rank)
            if (streams_[rank] == &stream) return launches_[rank].get();
        return nullptr;
    }

    const Ref<Launcher> launcher_;
    const std::vector<std::unique_ptr<Operation>> launches_;  // by rank; they own their arguments
    const std::vector<Stream*> streams_;                      // by rank; kept by GroupWork
};

Launcher::Launcher(std::span<const Ref<Context>> contexts, uint32_t first_rank)
    : contexts_(contexts.begin(), contexts.end()), first_rank_(first_rank), barrier_(contexts) {}

std::unique_ptr<Operation> Launcher::made(const RankLaunch& launch, uint32_t place) const {
    Stream& stream = *launch.stream;
    Context& context = *contexts_[place];
    const uint32_t rank = first_rank_ + place;
    const auto refuse = [&](gpo_status status, const auto&... why) {
        fail(status, "the stream of rank ", rank, ", ", stream.describe(), ", is ", why...);
    };
    if (&stream.runtime() != &context.runtime()) refuse(GPO_INVALID_HANDLE, "of another runtime");
    if (&stream.context() != &context) refuse(GPO_INVALID_ARGUMENT, "of another device than the rank");
    if (stream.residence())
        refuse(GPO_NOT_SUPPORTED, "resident: kernels that wait for each other are no work that stays");
    try {
        LaunchKernel::require_device(*launch.kernel, stream);
        gpo_launch shape = launch.launch;
        shape.flags |= GPO_LAUNCH_COOPERATIVE;
        return LaunchKernel(*launch.kernel, shape, launch.arguments, launch.sizes, launch.count).held_copy();
    } catch (const Failure& failure) {
        auto error = std::make_shared<Error>(*failure.error());
        error->message = text("rank ", rank, ": ", failure.error()->sentence());
        throw Failure(std::move(error));
    }
}

gpo_status Launcher::submit(std::span<const RankLaunch> launches) {
    std::vector<std::unique_ptr<Operation>> made_launches;
    std::vector<Stream*> streams;
    for (uint32_t rank = 0; rank < launches.size(); ++rank) {
        made_launches.push_back(made(launches[rank], rank));
        streams.push_back(launches[rank].stream);
    }
    return make<Work>(*this, std::move(made_launches), std::move(streams))->submit();
}

}  // namespace gpo::peers
