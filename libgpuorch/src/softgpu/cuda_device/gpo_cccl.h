// How threads wait in CCCL's headers: other threads run meanwhile. Read before each of these headers; their calls of
// the system's functions go to the functions here (../compiler/cccl.h).
#pragma once

#include <sched.h>
#include <time.h>

static inline int __gpo_sched_yield() {
    __gpo_jump();
    return 0;
}
static inline int __gpo_nanosleep(const struct timespec*, struct timespec*) {
    __gpo_jump();
    return 0;
}
