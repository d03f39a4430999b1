// The header in front of every kernel source of the software GPU.
#pragma once
#pragma GCC system_header

#include <new>   // NVRTC knows placement new without it
#include "gpo_vectors.h"
#include "gpo_thread.h"
#include "gpo_atomics.h"
#include "gpo_warp.h"
#include "gpo_cluster.h"
#include "gpo_graphs.h"
#include "gpo_spaces.h"
#include "gpo_special.h"
#include "gpo_lanes.h"
#include "gpo_print.h"
#include "assert.h"
