/* device/queue.cuh: kernels that take their work from queues (gpuorch/queue.h).
 *
 * For CUDA C++ by nvcc, NVRTC or Clang, for compute capability 7.0 or newer, and for the software GPU. Needs no device
 * link step. gpo_module_compile finds this header by itself.
 *
 * A kernel takes a queue as an argument, by value: gpo::range, gpo::ring or gpo::host_ring, as
 * gpo_queue_get_device_handle writes it. Each call returns a gpo::queue_status. No call traps, asserts, or waits
 * without bound.
 *
 * Range: numbers from 0 to count - 1, for tasks that exist before the launch and differ in length
 *
 *     #include <gpuorch/device/queue.cuh>
 *
 *     extern "C" __global__ void rows(gpo::range rows, float *matrix) {
 *         gpo::warp_range mine(rows);
 *         unsigned long long first, last;
 *         while (mine.next(first, last) == gpo::queue_success)
 *             for (unsigned long long i = first; i < last; ++i) row(matrix, mine.number(i), threadIdx.x % 32);
 *     }
 *
 *   Batches of numbers go to *workers*. All workers of a launch are of one form:
 *     gpo::thread_range(rows)           A thread.
 *     gpo::warp_range(rows)             The lanes of a warp that come together. Others of the warp must keep away.
 *     gpo::block_range(rows, memory)    A block. All its threads call together: next() is a barrier.
 *                                       memory: a __shared__ gpo::block_range_memory.
 *     gpo::shared_range(rows, memory, batches)
 *                                       A warp, which takes batches out of the stock of its block. The block claims
 *                                       `batches` at a time, 32767 at most. For batches so short that many warps would
 *                                       meet at one counter. The constructor is a barrier of the block.
 *                                       memory: a __shared__ gpo::shared_range_memory.
 *   next(first, last) gives the places first to last - 1 of a batch, or returns gpo::queue_end. number(place) is the
 *   number there: the place itself, unless the range has an order.
 *   Every worker of the grid calls next() until it gets gpo::queue_end, or calls stop() instead: then workers get no
 *   more of the range in this launch than they have claimed already. If only some workers of the grid take part, each
 *   gives its index and their number: gpo::warp_range(rows, index, workers).
 *   Launches that use a range must not overlap. A reset in between is needed only if a launch has failed.
 *   workers * batch must be below 2^64.
 *
 *   Cost: one atomic for each batch, made during the work on the previous batch, so that no worker waits for it (as in
 *   the scheduler of FlashAttention-3). The first batch of each worker costs nothing. With GPO_QUEUE_LATE_CLAIMS
 *   next() makes the atomic and waits for it, and a block_range has a second barrier.
 *
 * Ring: tasks of up to 256 bytes that kernels push and pop, for work that is found while it is done
 *
 *     struct visit { unsigned node, depth; };
 *
 *     extern "C" __global__ void search(gpo::ring frontier, graph where) {
 *         const gpo::bound second = gpo::nanoseconds(1000000000);
 *         visit here;
 *         for (;;) {
 *             const int status = gpo::pop(frontier, here, second);
 *             if (status == gpo::queue_would_block) continue;
 *             if (status != gpo::queue_success) break;
 *             for (unsigned next : where.new_neighbours(here.node))
 *                 if (gpo::push(frontier, visit{next, here.depth + 1}, second) != gpo::queue_success)
 *                     where.leave_out(next);
 *             gpo::done(frontier);
 *         }
 *     }
 *
 *   A task is of a trivially copyable type T. sizeof(T), rounded up to a multiple of 16, is the ring's task size.
 *
 *     form     calls
 *     thread   try_push(ring, task, priority)      push(ring, task, bound, priority)
 *              try_pop(ring, task)                 pop(ring, task, bound)               done(ring)
 *     warp     warp_try_push, warp_push, warp_try_pop, warp_pop, warp_done: the same arguments
 *     block    block_try_push(ring, memory, task, priority) and so on; block_done(ring)
 *
 *   Thread form: each thread has a task and a status of its own. Threads of a warp that come together share the
 *   atomics. A push returns when the tasks of all of them are in the ring, or its bound has passed. A pop gives tasks
 *   to as many of them as it finds tasks for. The others get gpo::queue_would_block, also from pop(), so that no thread
 *   with a task waits for a neighbour without one.
 *   Warp form: the lanes have one task together. A push takes the task of the first lane, a pop gives the task to all.
 *   Block form: the same for all threads of a block. Each call is a barrier.
 *   memory: a __shared__ gpo::block_task<T>.
 *   The last argument of the calls for threads and warps is a mask of the lanes that come together. By default these
 *   are the lanes that are active at the call, so calls are right in diverged warps too. A mask that is given must
 *   name the lanes that come to this very call, as for __syncwarp.
 *
 *   Bounds: gpo::polls(n) looks n times, and pauses for up to half a microsecond in between. gpo::nanoseconds(n) looks
 *   for n nanoseconds. A call that returns gpo::queue_timeout has moved no task. To wait, use pop() rather than
 *   try_pop() in a loop: pop() polls without disturbing threads that push.
 *   Priorities: a pop takes tasks of the first priority that has any. Each priority has the ring's capacity.
 *   Ends: after the work on a task call done(), behind the task's own pushes. close(ring) declares that only tasks push
 *   tasks from now on. When the ring is closed and all tasks are done, pops return gpo::queue_end, and all writes of
 *   the tasks are visible. abort(ring) ends all waits: all calls return gpo::queue_aborted, and tasks stay in the ring.
 *   If done() is missing for a task, the ring has no end, and pops end at their bounds.
 *   If a ring is too small for tasks that push tasks, all workers come to wait for room. Their pushes end at their
 *   bounds. A worker can then work on the task itself.
 *
 *   Tickets (GPO_QUEUE_TICKETS): a call takes a place in the ring at once, and then waits until it can use the place.
 *   Tickets are two to three times as fast. try_ calls return gpo::queue_invalid, threads that come together wait for
 *   the tasks of all of them, and there is one priority. A wait that exceeds its bound aborts the ring, since its place
 *   can't be given back. Tickets are for kernels in which a task comes for each pop.
 *
 *   Cost of a push or a pop of up to 32 tasks: three atomics, two of them waited for; with tickets, one. For each task
 *   an acquiring load and a releasing store of a sequence number; the task itself moves in pieces of 16 bytes. done()
 *   costs an atomic behind a fence. The ring is the Broker Work Distributor of Kerbl et al. (2018) with the sequence
 *   numbers of Vyukov's bounded queue.
 *
 * Host ring: tasks from the host for a kernel that stays on the GPU. Each task gets an answer
 *
 *     extern "C" __global__ void serve(gpo::host_ring requests) {
 *         __shared__ gpo::dispatch_memory memory;
 *         const gpo::bound minute = gpo::nanoseconds(60000000000ull);
 *         if (blockIdx.x == 0) {
 *             gpo::dispatch(requests, memory, minute);
 *             return;
 *         }
 *         gpo::host_task<request> next;
 *         while (gpo::warp_pop(requests.tasks, next, minute) == gpo::queue_success)
 *             gpo::warp_answer(requests, next.ticket, 0, reply_to(next.task));
 *     }
 *
 *   The *dispatcher* is a block of the kernel that reads the host's tasks, and hands them out by requests.tasks, a ring
 *   in device memory. (If all blocks looked at the host's memory, they would be in each other's way.) All threads of
 *   the block call dispatch(requests, memory, idle).
 *   dispatch() returns gpo::queue_end when the host has closed the ring and all tasks are handed out, or
 *   gpo::queue_aborted; the ring requests.tasks is closed or aborted then. If for the bound `idle` no task has come or
 *   no worker has taken any, dispatch() returns gpo::queue_timeout, and may be called again, also by a later launch.
 *   The other blocks pop tasks of type gpo::host_task<T> from requests.tasks, in any form. In place of done() they call
 *   answer(requests, ticket, status, reply), warp_answer or block_answer, once for each task, in any order. The host
 *   gets the status and the reply. sizeof(reply), rounded up to a multiple of 4, is the ring's answer size.
 *   answer(requests, ticket, status) gives a status and zeros.
 *   If a task writes more for the host into pinned memory, __threadfence_system() goes before its answer.
 *   A kernel with a single worker needs no dispatcher: one thread, or the lanes of one warp, make a gpo::host_taker
 *   taker(requests), and call taker.take(task, bound).
 *
 *   Cost: tasks and answers cross the bus once, 4 bytes of data in each word of 8 (NCCL's LL protocol). A dispatcher
 *   reads as many words at a time as it has threads.
 */
#ifndef GPUORCH_DEVICE_QUEUE_CUH
#define GPUORCH_DEVICE_QUEUE_CUH

#include <gpuorch/device/host_ring.cuh>
#include <gpuorch/device/range.cuh>

#endif
