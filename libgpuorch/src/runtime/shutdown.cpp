#include "runtime/shutdown.h"

#include "device/contexts.h"
#include "memory/holds.h"
#include "memory/registry.h"
#include "trace/recorder/recorder.h"

namespace gpo {

namespace {

// The annex if it exists already, otherwise NULL. A thread that makes the annex later notices the shutdown itself.
template <class A>
A* made(const Runtime& runtime) noexcept {
    return runtime.find_annex<A>(std::memory_order_seq_cst);
}

// Waits with a deadline until all marks have been reached: later, the scanners wait for their last marks without one.
// A stream whose handle was destroyed has a mark while work is pending on it.
bool drain_marks(const Runtime& runtime, uint64_t deadline) noexcept {
    const Contexts* contexts = made<Contexts>(runtime);
    return !contexts || contexts->drain_marks(deadline);
}

// Call this after all objects were closed. The order matters: an errand may put a mark on a stream, which a scanner
// must then watch, and a mark that is reached may post an errand. After the errands' thread has ended, scanners run
// such errands themselves. A scanner ends when no mark is left.
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
    // Streams whose handles were destroyed aren't objects that stop_objects() reaches. A stream may wait for a
    // signal that is held behind the wait. Only the cancellation ends that wait.
    const Contexts* const contexts = made<Contexts>(runtime);
    // First all that can be cancelled at once: the program may let a stream go on when it sees that.
    const bool cancelled = !contexts || contexts->cancel_held(0) || contexts->cancel_held(deadline);
    if (!runtime.drain_objects(deadline) || !cancelled || !drain_marks(runtime, deadline)) return GPO_TIMEOUT;
    runtime.report_leaks();
    runtime.set_log_route(nullptr);
    if (!runtime.close_objects(deadline)) return GPO_TIMEOUT;
    runtime.set_log_route(nullptr);   // again: a call in progress may have set one, which holds the runtime
    if (!runtime.end_lingering(deadline)) return GPO_TIMEOUT;
    if (!drain_marks(runtime, deadline)) return GPO_TIMEOUT;   // closed objects free memory behind their streams' work
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
