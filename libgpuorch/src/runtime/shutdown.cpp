#include "runtime/shutdown.h"

#include "device/contexts.h"
#include "memory/holds.h"
#include "memory/registry.h"
#include "trace/recorder/recorder.h"

namespace gpo {

namespace {

// A call that makes an annex after this look sees the shutdown.
template <class A>
A* made(const Runtime& runtime) noexcept {
    return runtime.find_annex<A>(std::memory_order_seq_cst);
}

// The scanners end when all marks are reached, and wait for them without a deadline. A stream without a handle has a
// mark while anything runs on it.
bool drain_marks(const Runtime& runtime, uint64_t deadline) noexcept {
    const Contexts* contexts = made<Contexts>(runtime);
    return !contexts || contexts->drain_marks(deadline);
}

// Objects are closed. The order matters: an errand may mark a stream, which needs the scanner, and a reached mark may
// become an errand. After the end of the errands' thread, errands run on the scanner that finds them due. The scanner
// goes on until it finds none.
void end_contexts(Runtime& runtime) noexcept {
    std::map<Contexts::Key, Ref<Context>> contexts;
    if (Contexts* all = made<Contexts>(runtime)) contexts = all->take_all();
    if (trace::Recorder* recorder = made<trace::Recorder>(runtime)) recorder->finish();
    if (Holds* holds = made<Holds>(runtime)) holds->shut_down();
    for (auto& [key, context] : contexts) context->begin_end();
    runtime.errands().finish();
    for (auto& [key, context] : contexts) context->finish();
    if (Registry* registry = made<Registry>(runtime)) registry->shut_down();
    while (!contexts.empty()) contexts.erase(contexts.begin());
}

gpo_status take_steps(Runtime& runtime, uint64_t deadline) {
    runtime.stop_objects();
    // Streams without a handle: only this releases a stream that waits for a signal held behind the wait.
    if (const Contexts* contexts = made<Contexts>(runtime)) contexts->cancel_held();
    if (!runtime.drain_objects(deadline) || !drain_marks(runtime, deadline)) return GPO_TIMEOUT;
    runtime.report_leaks();
    runtime.set_log_route(nullptr);
    if (!runtime.close_objects(deadline)) return GPO_TIMEOUT;
    runtime.set_log_route(nullptr);   // a route set by a call that was still inside would keep the runtime
    if (!runtime.end_lingering(deadline)) return GPO_TIMEOUT;
    if (!drain_marks(runtime, deadline)) return GPO_TIMEOUT;   // memory freed with the objects waits for streams
    end_contexts(runtime);
    runtime.end_handles();
    return GPO_SUCCESS;
}

}  // namespace

gpo_status shut_down(Runtime& runtime, uint64_t deadline) {
    if (const gpo_status turn = runtime.begin_turn(deadline); turn != GPO_SUCCESS) return turn;
    struct Turn {
        ~Turn() { runtime.end_turn(done); }
        Runtime& runtime;
        bool done = false;
    } turn{runtime};
    const gpo_status status = take_steps(runtime, deadline);
    turn.done = status == GPO_SUCCESS;
    if (!turn.done) runtime.for_each([](Object& object) { object.shutdown_timed_out(); });
    return status;
}

}  // namespace gpo
