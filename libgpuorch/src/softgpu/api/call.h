// The beginning of every function of the table: finds the machine and the thread's current context, and refuses calls
// that are not allowed.
//
// A call is refused by throwing Refused (softgpu/machine/refused.h), before anything has been changed. `enter` turns
// Refused and other exceptions into a CUresult.
#pragma once

#include <cuda.h>

#include <new>
#include <system_error>

#include "softgpu/capture/capture.h"
#include "softgpu/machine/batch.h"
#include "softgpu/machine/machine.h"
#include "softgpu/machine/refused.h"
#include "softgpu/memory/address_room.h"

namespace gpo::softgpu {

template <class Body>
CUresult enter(Body&& body) noexcept {
    Machine* machine = Machine::running();
    if (!machine) return CUDA_ERROR_NOT_INITIALIZED;
    if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
    try {
        const CUresult result = body(*machine);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) forget_last_shortage();
        return result;
    } catch (const Refused& refused) {
        return refused.result;
    } catch (const std::bad_alloc& error) {
        set_last_shortage(error);
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::system_error&) {
        return CUDA_ERROR_OPERATING_SYSTEM;
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

/// `enter` for calls that submit work or query its state. They fail once the devices are lost.
template <class Body>
CUresult enter_live(Body&& body) noexcept {
    return enter([&](Machine& machine) -> CUresult {
        if (const int code = machine.fault_code.load(std::memory_order_acquire)) return CUresult(code);
        return body(machine);
    });
}

/// `enter_live` for a call that is unsafe beside a capture in progress: see Capture.
template <class Body>
CUresult enter_unsafe(Body&& body) noexcept {
    return enter_live([&](Machine& machine) -> CUresult {
        refuse_beside_capture(machine);
        return body(machine);
    });
}

/// The result of a call that destroys an object or has found that work is done: the fault's code if the devices are
/// lost. A loss marks unfinished work as done, so queries must check for the loss after they have read the state.
inline CUresult success_unless_lost(const Machine& machine) noexcept {
    return CUresult(machine.fault_code.load(std::memory_order_acquire));
}

// The thread's stack of contexts.
CUcontext current_handle(const Machine&) noexcept;
void set_current(const Machine&, CUcontext);
void push_current(const Machine&, CUcontext);
bool pop_current(const Machine&, CUcontext*);
/// Refuses with INVALID_CONTEXT without a current context, CONTEXT_IS_DESTROYED after its destruction.
Context& current_context(Machine&);
Context& context_of(Machine&, CUcontext);
/// NULL: the current one.
Context& context_or_current(Machine&, CUcontext);

Device& device_of(Machine&, CUdevice);
/// The stream of a handle. The default streams need a current context. Lock held.
Stream& stream_of(Machine&, CUstream);
Event& event_of(Machine&, CUevent);
Function& function_of(Machine&, CUfunction);

}  // namespace gpo::softgpu
