#include "peers/collective_engine.h"

#include <vector>

#include "stream/group_work.h"

namespace gpo::peers {

namespace {

class CollectiveWork final : public GroupWork {
public:
    CollectiveWork(const Collective& collective, const char* label, Ref<StreamEngine> engine, Ref<Counted> prepared,
                   std::span<const Part> parts, std::span<Stream* const> streams)
        : GroupWork(kind_name(collective.kind), label, streams), collective_(collective), engine_(std::move(engine)),
          prepared_(std::move(prepared)), parts_(parts.begin(), parts.end()) {}

private:
    void issue() override {
        engine_->issue(collective_, parts_, prepared_.get(),
                       [](void* self) { static_cast<CollectiveWork*>(self)->begin(); }, this);
    }
    Ref<const Counted> owner() const noexcept override { return prepared_; }
    trace::Work work() const noexcept override { return {.engine = trace::Engine::kernel, .collective = true}; }

    const Collective collective_;
    const Ref<StreamEngine> engine_;
    const Ref<Counted> prepared_;
    const std::vector<Part> parts_;   // by rank
};

}  // namespace

gpo_status StreamEngine::submit(const Collective& collective, std::span<const Part> parts, const char* label) {
    bool captured = false;
    for (const Part& part : parts) part.stream->enter_capture();
    {
        const DriverScope scope(parts[0].stream->context());
        captured = parts[0].stream->captured();
    }
    Ref<Counted> prepared = prepare(collective, captured);
    std::vector<Stream*> streams;
    for (const Part& part : parts) streams.push_back(part.stream);
    return make<CollectiveWork>(collective, label, Ref<StreamEngine>(this), std::move(prepared), parts, streams)
        ->submit();
}

}  // namespace gpo::peers
