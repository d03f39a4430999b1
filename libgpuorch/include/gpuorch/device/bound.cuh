/* device/bound.cuh: bounds of waits. Part of device/queue.cuh and device/peer.cuh. */
#ifndef GPUORCH_DEVICE_BOUND_CUH
#define GPUORCH_DEVICE_BOUND_CUH

#include <gpuorch/device/atomic.cuh>

namespace gpo {

/* How long a call may wait: how often it looks, or for how long. */
struct bound {
    unsigned long long most;
    bool is_time;
};
__device__ inline bound polls(unsigned long long most) { return bound{most, false}; }
__device__ inline bound nanoseconds(unsigned long long most) { return bound{most, true}; }

/* A wait in progress: counts looks or time, and pauses for longer and longer. */
struct patience {
    bound limit;
    unsigned long long begin, looks;
    unsigned sleep;

    __device__ explicit patience(bound most) : limit(most), begin(0), looks(0), sleep(32) {}

    /* Whether the bound has passed, after `more` further looks. The first call starts the time. */
    __device__ bool over(unsigned more = 1) {
        if (!limit.is_time) return (looks += more) >= limit.most;
        const unsigned long long time = atomic::now();
        if (begin == 0) begin = time;
        return time - begin >= limit.most;
    }
    __device__ void give_way() {
        atomic::pause(sleep);
        if (sleep < 512) sleep *= 2;
    }
};

}  // namespace gpo

#endif
