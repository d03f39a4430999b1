/* calls.h: the methods that are written by hand, and the functions that are made in calls.c.
 * Made from abi.json by generator/generate.py. */
#ifndef GPUORCH_LUA_CALLS_H
#define GPUORCH_LUA_CALLS_H

#include "binding.h"

#pragma GCC visibility push(hidden)

int runtime_shutdown(lua_State *L);
int stream_create(lua_State *L);
int stream_wait_event(lua_State *L);
int stream_wait_stream(lua_State *L);
int stream_pool_acquire(lua_State *L);
int stream_pool_release(lua_State *L);
int arena_create(lua_State *L);
int host_register(lua_State *L);
int host_unregister(lua_State *L);
int memory_free(lua_State *L);
int pool_free(lua_State *L);
int copy_to_device(lua_State *L);
int copy_to_host(lua_State *L);
int copy_on_device(lua_State *L);
int copy_peer(lua_State *L);
int copy_batch(lua_State *L);
int copy_rows(lua_State *L);
int fill(lua_State *L);
int fill_rows(lua_State *L);
int module_compile(lua_State *L);
int module_get_kernel(lua_State *L);
int module_get_symbol(lua_State *L);
int stream_launch_kernel(lua_State *L);
int cq_create(lua_State *L);
int cq_drain(lua_State *L);
int cq_wait(lua_State *L);
int cq_get_error(lua_State *L);
int pipeline_create(lua_State *L);
int pipeline_start(lua_State *L);
int pipeline_wait(lua_State *L);
int runtime_get_metrics(lua_State *L);
int cq_get_fd(lua_State *L);
int executor_create(lua_State *L);
int executor_run(lua_State *L);
int executor_run_for(lua_State *L);
int executor_poll(lua_State *L);
int host_call_finish(lua_State *L);
int template_create(lua_State *L);
int template_begin(lua_State *L);
int template_end(lua_State *L);
int template_cancel(lua_State *L);
int template_add_kernel(lua_State *L);
int template_add_copy(lua_State *L);
int template_add_fill(lua_State *L);
int template_add_child(lua_State *L);
int template_clear(lua_State *L);
int graph_create(lua_State *L);
int graph_set(lua_State *L);
int graph_get(lua_State *L);
int graph_launch(lua_State *L);
int graph_update(lua_State *L);
int template_launch(lua_State *L);
int template_add_if(lua_State *L);
int template_add_while(lua_State *L);
int template_add_switch(lua_State *L);
int graph_get_device_handle(lua_State *L);
int buckets_create(lua_State *L);
int buckets_prepare(lua_State *L);
int buckets_launch(lua_State *L);
int template_import(lua_State *L);
int template_add_allocation(lua_State *L);
int template_add_free(lua_State *L);
int queue_create(lua_State *L);
int queue_set_costs(lua_State *L);
int queue_push(lua_State *L);
int queue_set_tenant(lua_State *L);
int queue_post(lua_State *L);
int queue_take(lua_State *L);
int queue_wait(lua_State *L);
int scheduler_create(lua_State *L);
int peers_create(lua_State *L);
int peers_split(lua_State *L);
int symmetric_allocate(lua_State *L);
int peers_launch(lua_State *L);
int peers_join(lua_State *L);
int memory_import(lua_State *L);
int batcher_create(lua_State *L);
int batcher_add_key(lua_State *L);
int batcher_submit(lua_State *L);
int executor_post_at(lua_State *L);
int runtime_completions(lua_State *L);
int device_advise(lua_State *L);
int stream_device(lua_State *L);
int cq_pump(lua_State *L);
int template_record(lua_State *L);
int template_parameter(lua_State *L);
int symmetric_array(lua_State *L);
int peers_submit(lua_State *L, uint32_t kind);

void destroy_runtime(lua_State *L, state *s, object *o, int collected);
void destroy_stream(lua_State *L, state *s, object *o, int collected);
void destroy_cq(lua_State *L, state *s, object *o, int collected);
void destroy_pipeline(lua_State *L, state *s, object *o, int collected);
void destroy_executor(lua_State *L, state *s, object *o, int collected);
void destroy_template(lua_State *L, state *s, object *o, int collected);
void destroy_graph(lua_State *L, state *s, object *o, int collected);
void destroy_buckets(lua_State *L, state *s, object *o, int collected);
void destroy_scheduler(lua_State *L, state *s, object *o, int collected);
void destroy_symmetric(lua_State *L, state *s, object *o, int collected);
void destroy_batcher(lua_State *L, state *s, object *o, int collected);
void destroy_array(lua_State *L, state *s, object *o, int collected);
void destroy_operation(lua_State *L, state *s, object *o, int collected);

extern const luaL_Reg gpuorch_calls[]; /* functions that are no methods */

#pragma GCC visibility pop

#endif
