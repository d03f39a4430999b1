#include "stream/releasing.h"

#include "core/host_node.h"

namespace gpo {

namespace {
constinit thread_local unsigned t_releasing = 0;
}  // namespace

Releasing::Releasing(Runtime& runtime) noexcept : entry_(runtime.releases()) { ++t_releasing; }
Releasing::~Releasing() { --t_releasing; }
bool Releasing::here() noexcept { return t_releasing != 0; }

void Releasing::wait_for_others(Runtime& runtime) noexcept {
    if (!here() && !ServesDeferred::here() && !in_host_node()) runtime.releases().wait_for_all();
}

}  // namespace gpo
