/* api.h: every function of the library as a member of one table, for programs that load it with dlopen:
 *
 *     const gpo_api *(*get)(uint32_t) = dlsym(dlopen(GPO_SONAME, RTLD_NOW | RTLD_LOCAL), "gpo_get_api");
 *     const gpo_api *gpo = get(GPO_VERSION);
 *
 * Members are only ever appended: `struct_size` tells how many this library has. Made from the other headers by
 * src/abi/generate_api.py.
 */
#ifndef GPUORCH_API_H
#define GPUORCH_API_H

#include "admission.h"
#include "advice.h"
#include "batcher.h"
#include "buckets.h"
#include "executor.h"
#include "interprocess.h"
#include "metrics.h"
#include "peers.h"
#include "pipeline.h"
#include "scheduler.h"
#include "symmetric.h"
#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_api {
    uint32_t struct_size;
    uint32_t library_version; /* GPO_VERSION of the library */
    const char *(*status_name)(gpo_status status);
    const char *(*status_text)(gpo_status status);
    gpo_status (*last_error)(gpo_error *error);
    gpo_status (*object_get_error)(const void *object, gpo_error *error);
    gpo_status (*object_set_label)(void *object, const char *label);
    gpo_status (*object_get_label)(const void *object, char *buffer, size_t capacity, size_t *needed);
    gpo_status (*runtime_create)(const gpo_runtime_options *options, gpo_runtime_t *runtime);
    gpo_status (*runtime_shutdown)(gpo_runtime_t runtime, int64_t timeout_ns);
    gpo_status (*runtime_get_driver)(gpo_runtime_t runtime, gpo_driver_info *info);
    gpo_status (*runtime_get_statistics)(gpo_runtime_t runtime, gpo_statistics *statistics);
    uint32_t (*version)(void);
    gpo_status (*runtime_get_device_count)(gpo_runtime_t runtime, uint32_t *count);
    gpo_status (*runtime_describe_device)(gpo_runtime_t runtime, uint32_t ordinal, gpo_device_properties *properties);
    gpo_status (*runtime_describe_peer)(gpo_runtime_t runtime, uint32_t from, uint32_t to,
                                        gpo_peer_properties *properties);
    gpo_status (*device_open)(gpo_runtime_t runtime, const gpo_device_options *options, gpo_device_t *device);
    gpo_status (*device_close)(gpo_device_t device);
    gpo_status (*device_get_properties)(gpo_device_t device, gpo_device_properties *properties);
    gpo_status (*device_wait)(gpo_device_t device, int64_t timeout_ns);
    gpo_status (*device_get_native)(gpo_device_t device, void **context, int32_t *ordinal);
    gpo_status (*device_get_memory)(gpo_device_t device, uint64_t *free_bytes, uint64_t *total_bytes);
    gpo_status (*device_enable_peer)(gpo_device_t device, gpo_device_t peer);
    gpo_status (*device_disable_peer)(gpo_device_t device, gpo_device_t peer);
    gpo_status (*device_get_limit)(gpo_device_t device, uint32_t limit, uint64_t *value);
    gpo_status (*device_set_limit)(gpo_device_t device, uint32_t limit, uint64_t value);
    gpo_status (*event_create)(gpo_device_t device, const gpo_event_options *options, gpo_event_t *event);
    gpo_status (*event_destroy)(gpo_event_t event);
    gpo_status (*event_record)(gpo_event_t event, gpo_stream_t stream);
    gpo_status (*event_query)(gpo_event_t event);
    gpo_status (*event_wait)(gpo_event_t event, int64_t timeout_ns);
    gpo_status (*event_get_elapsed)(gpo_event_t start, gpo_event_t end, int64_t *nanoseconds);
    gpo_status (*event_notify)(gpo_event_t event, gpo_cq_t cq, uint64_t user_data);
    gpo_status (*event_get_native)(gpo_event_t event, void **native);
    gpo_status (*timeline_create)(gpo_runtime_t runtime, const gpo_timeline_options *options, gpo_timeline_t *timeline);
    gpo_status (*timeline_destroy)(gpo_timeline_t timeline);
    gpo_status (*timeline_signal)(gpo_timeline_t timeline, uint64_t value);
    gpo_status (*timeline_fail)(gpo_timeline_t timeline, gpo_status status, const char *message);
    gpo_status (*timeline_get_value)(gpo_timeline_t timeline, uint64_t *value);
    gpo_status (*timeline_wait)(gpo_timeline_t timeline, uint64_t value, int64_t timeout_ns);
    gpo_status (*stream_create)(gpo_device_t device, const gpo_stream_options *options, gpo_stream_t *stream);
    gpo_status (*stream_wrap)(gpo_device_t device, void *native, const gpo_stream_options *options,
                              gpo_stream_t *stream);
    gpo_status (*stream_destroy)(gpo_stream_t stream);
    gpo_status (*device_get_priority_range)(gpo_device_t device, int32_t *least, int32_t *greatest);
    gpo_status (*stream_get_info)(gpo_stream_t stream, gpo_stream_info *info);
    gpo_status (*stream_get_native)(gpo_stream_t stream, void **native);
    gpo_status (*stream_query)(gpo_stream_t stream);
    gpo_status (*stream_wait)(gpo_stream_t stream, int64_t timeout_ns);
    gpo_status (*stream_cancel_held)(gpo_stream_t stream, uint64_t *count);
    gpo_status (*stream_wait_event)(gpo_stream_t stream, gpo_event_t event);
    gpo_status (*stream_wait_stream)(gpo_stream_t stream, gpo_stream_t other);
    gpo_status (*stream_wait_timeline)(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);
    gpo_status (*stream_signal_timeline)(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);
    gpo_status (*stream_pool_create)(gpo_device_t device, const gpo_stream_pool_options *options,
                                     gpo_stream_pool_t *pool);
    gpo_status (*stream_pool_destroy)(gpo_stream_pool_t pool);
    gpo_status (*stream_pool_acquire)(gpo_stream_pool_t pool, int32_t priority, gpo_stream_t *stream);
    gpo_status (*stream_pool_release)(gpo_stream_pool_t pool, gpo_stream_t stream);
    gpo_status (*arena_create)(gpo_device_t device, const gpo_arena_options *options, gpo_arena_t *arena);
    gpo_status (*arena_destroy)(gpo_arena_t arena);
    gpo_status (*arena_allocate)(gpo_arena_t arena, uint64_t bytes, uint64_t alignment, void **memory);
    gpo_status (*arena_free)(gpo_arena_t arena, void *memory);
    gpo_status (*arena_free_after)(gpo_arena_t arena, void *memory, gpo_stream_t stream);
    gpo_status (*arena_trim)(gpo_arena_t arena, uint64_t keep_bytes);
    gpo_status (*arena_get_statistics)(gpo_arena_t arena, gpo_memory_statistics *statistics);
    gpo_status (*host_register)(gpo_device_t device, void *memory, uint64_t bytes, uint32_t flags);
    gpo_status (*host_unregister)(gpo_device_t device, void *memory);
    gpo_status (*memory_allocate)(gpo_device_t device, uint64_t bytes, const char *label, uint64_t *address);
    gpo_status (*memory_free)(gpo_device_t device, uint64_t address);
    gpo_status (*memory_describe)(gpo_device_t device, uint64_t address, gpo_memory_info *info);
    gpo_status (*pool_create)(gpo_device_t device, const gpo_pool_options *options, gpo_pool_t *pool);
    gpo_status (*pool_destroy)(gpo_pool_t pool);
    gpo_status (*pool_allocate)(gpo_pool_t pool, gpo_stream_t stream, uint64_t bytes, uint64_t *address);
    gpo_status (*pool_free)(gpo_pool_t pool, gpo_stream_t stream, uint64_t address);
    gpo_status (*pool_trim)(gpo_pool_t pool, uint64_t keep_bytes);
    gpo_status (*pool_get_statistics)(gpo_pool_t pool, gpo_memory_statistics *statistics);
    gpo_status (*copy_to_device)(gpo_stream_t stream, uint64_t destination, const void *source, uint64_t bytes);
    gpo_status (*copy_to_host)(gpo_stream_t stream, void *destination, uint64_t source, uint64_t bytes);
    gpo_status (*copy_on_device)(gpo_stream_t stream, uint64_t destination, uint64_t source, uint64_t bytes);
    gpo_status (*copy_peer)(gpo_stream_t stream, gpo_device_t destination_device, uint64_t destination,
                            gpo_device_t source_device, uint64_t source, uint64_t bytes);
    gpo_status (*copy_batch)(gpo_stream_t stream, const gpo_copy *copies, uint64_t stride, uint64_t count);
    gpo_status (*copy_rows)(gpo_stream_t stream, const gpo_copy_2d *copy);
    gpo_status (*fill)(gpo_stream_t stream, uint64_t destination, uint32_t value, uint32_t element_bytes,
                       uint64_t count);
    gpo_status (*fill_rows)(gpo_stream_t stream, uint64_t destination, uint64_t pitch, uint32_t value, uint64_t width,
                            uint64_t height);
    gpo_status (*module_compile)(gpo_device_t device, const gpo_compile_options *options, gpo_module_t *module);
    gpo_status (*last_compile_log)(char *buffer, size_t capacity, size_t *needed);
    gpo_status (*module_load)(gpo_device_t device, const void *image, uint64_t bytes, const char *label,
                              gpo_module_t *module);
    gpo_status (*module_get_image)(gpo_module_t module, void *buffer, size_t capacity, size_t *needed);
    gpo_status (*module_load_builtin)(gpo_device_t device, gpo_module_t *module);
    gpo_status (*module_destroy)(gpo_module_t module);
    gpo_status (*module_get_kernel)(gpo_module_t module, const char *name, gpo_kernel_t *kernel);
    gpo_status (*kernel_destroy)(gpo_kernel_t kernel);
    gpo_status (*module_get_symbol)(gpo_module_t module, const char *name, uint64_t *address, uint64_t *bytes);
    gpo_status (*kernel_get_attributes)(gpo_kernel_t kernel, gpo_kernel_attributes *attributes);
    gpo_status (*kernel_get_name)(gpo_kernel_t kernel, char *buffer, size_t capacity, size_t *needed);
    gpo_status (*kernel_get_native)(gpo_kernel_t kernel, void **function);
    gpo_status (*kernel_set_max_dynamic_shared)(gpo_kernel_t kernel, uint64_t bytes);
    gpo_status (*kernel_get_occupancy)(gpo_kernel_t kernel, uint32_t threads, uint64_t dynamic_shared_bytes,
                                       uint32_t *blocks);
    gpo_status (*kernel_suggest_shape)(gpo_kernel_t kernel, uint64_t dynamic_shared_bytes, uint32_t max_threads,
                                       uint32_t *threads, uint32_t *blocks);
    gpo_status (*stream_launch_kernel)(gpo_stream_t stream, gpo_kernel_t kernel, const gpo_launch *launch,
                                       const void *const *arguments, const uint32_t *sizes, uint32_t count);
    gpo_status (*cq_create)(gpo_runtime_t runtime, const gpo_cq_options *options, gpo_cq_t *cq);
    gpo_status (*cq_destroy)(gpo_cq_t cq);
    gpo_status (*stream_notify)(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data);
    gpo_status (*stream_notify_timed)(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data, gpo_event_t since);
    gpo_status (*cq_drain)(gpo_cq_t cq, gpo_completion *entries, uint64_t stride, uint64_t capacity, uint64_t *count);
    gpo_status (*cq_wait)(gpo_cq_t cq, int64_t timeout_ns);
    gpo_status (*cq_wake)(gpo_cq_t cq);
    gpo_status (*cq_get_error)(gpo_cq_t cq, uint64_t error_id, gpo_error *error);
    gpo_status (*cq_get_statistics)(gpo_cq_t cq, gpo_cq_statistics *statistics);
    gpo_status (*pipeline_create)(gpo_device_t device, const gpo_pipeline_options *options, gpo_pipeline_t *pipeline);
    gpo_status (*pipeline_destroy)(gpo_pipeline_t pipeline);
    gpo_status (*pipeline_start)(gpo_pipeline_t pipeline, const gpo_source *source, const gpo_sink *sink);
    gpo_status (*pipeline_wait)(gpo_pipeline_t pipeline, int64_t timeout_ns, gpo_pipeline_result *result);
    gpo_status (*pipeline_cancel)(gpo_pipeline_t pipeline);
    gpo_status (*pipeline_notify)(gpo_pipeline_t pipeline, gpo_cq_t cq, uint64_t user_data);
    gpo_status (*pipeline_get_progress)(gpo_pipeline_t pipeline, gpo_pipeline_progress *progress);
    gpo_status (*runtime_get_metrics)(gpo_runtime_t runtime, gpo_metrics *metrics);
    gpo_status (*device_get_metrics)(gpo_device_t device, gpo_device_metrics *metrics);
    gpo_status (*runtime_get_metrics_text)(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);
    gpo_status (*cq_get_fd)(gpo_cq_t cq, int32_t *descriptor);
    gpo_status (*timeline_notify)(gpo_timeline_t timeline, uint64_t value, gpo_cq_t cq, uint64_t user_data);
    gpo_status (*executor_create)(gpo_runtime_t runtime, const gpo_executor_options *options, gpo_executor_t *executor);
    gpo_status (*executor_destroy)(gpo_executor_t executor);
    gpo_status (*executor_run)(gpo_executor_t executor, uint64_t *count);
    gpo_status (*executor_run_for)(gpo_executor_t executor, int64_t timeout_ns, uint64_t *count);
    gpo_status (*executor_poll)(gpo_executor_t executor, uint64_t *count);
    gpo_status (*executor_get_statistics)(gpo_executor_t executor, gpo_executor_statistics *statistics);
    gpo_status (*stream_then)(gpo_stream_t stream, gpo_executor_t executor, gpo_completion_fn callback, void *user);
    gpo_status (*event_then)(gpo_event_t event, gpo_executor_t executor, gpo_completion_fn callback, void *user);
    gpo_status (*timeline_then)(gpo_timeline_t timeline, uint64_t value, gpo_executor_t executor,
                                gpo_completion_fn callback, void *user);
    gpo_status (*pipeline_then)(gpo_pipeline_t pipeline, gpo_executor_t executor, gpo_completion_fn callback,
                                void *user);
    gpo_status (*stream_host_call)(gpo_stream_t stream, gpo_executor_t executor, gpo_host_fn function, void *user);
    gpo_status (*host_call_finish)(gpo_executor_t executor, uint64_t call, gpo_status status, const char *message);
    gpo_status (*runtime_set_log_executor)(gpo_runtime_t runtime, gpo_executor_t executor);
    gpo_status (*trace_start)(gpo_runtime_t runtime, const gpo_trace_options *options);
    gpo_status (*trace_stop)(gpo_runtime_t runtime);
    gpo_status (*trace_get_info)(gpo_runtime_t runtime, gpo_trace_info *info);
    gpo_status (*trace_get_summary)(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);
    gpo_status (*kernel_get_parameter)(gpo_kernel_t kernel, uint32_t index, uint64_t *offset, uint64_t *bytes);
    gpo_status (*template_create)(gpo_device_t device, const gpo_template_options *options,
                                  gpo_template_t *graph_template);
    gpo_status (*template_destroy)(gpo_template_t graph_template);
    gpo_status (*template_begin)(gpo_template_t graph_template, gpo_stream_t stream);
    gpo_status (*template_end)(gpo_template_t graph_template);
    gpo_status (*template_cancel)(gpo_template_t graph_template);
    gpo_status (*template_get_last_node)(gpo_template_t graph_template, gpo_stream_t stream, uint32_t *node);
    gpo_status (*template_set_last_node)(gpo_template_t graph_template, gpo_stream_t stream, uint32_t node);
    gpo_status (*template_add_kernel)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                      gpo_kernel_t kernel, const gpo_launch *launch, const void *const *arguments,
                                      const uint32_t *sizes, uint32_t count, uint32_t *node);
    gpo_status (*template_add_copy)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                    const gpo_copy *copy, uint32_t *node);
    gpo_status (*template_add_fill)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                    uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count,
                                    uint32_t *node);
    gpo_status (*template_add_empty)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                     uint32_t *node);
    gpo_status (*template_add_event_record)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                            gpo_event_t event, uint32_t *node);
    gpo_status (*template_add_event_wait)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                          gpo_event_t event, uint32_t *node);
    gpo_status (*template_add_host_call)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                         gpo_host_node_fn function, void *user, uint32_t *node);
    gpo_status (*template_add_child)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                     gpo_template_t child, const char *prefix, uint32_t *node);
    gpo_status (*template_add_parameter)(gpo_template_t graph_template, const char *name, uint32_t node, uint32_t what,
                                         uint32_t index);
    gpo_status (*template_get_parameter)(gpo_template_t graph_template, const char *name, uint32_t *parameter,
                                         uint64_t *bytes);
    gpo_status (*template_find_node)(gpo_template_t graph_template, const char *label, uint32_t *node);
    gpo_status (*template_get_native)(gpo_template_t graph_template, void **native);
    gpo_status (*template_clear)(gpo_template_t graph_template);
    gpo_status (*template_get_statistics)(gpo_template_t graph_template, gpo_template_statistics *statistics);
    gpo_status (*graph_create)(gpo_template_t graph_template, const gpo_graph_options *options, gpo_graph_t *graph);
    gpo_status (*graph_destroy)(gpo_graph_t graph);
    gpo_status (*graph_set)(gpo_graph_t graph, const char *name, const void *value, uint64_t bytes);
    gpo_status (*graph_set_parameter)(gpo_graph_t graph, uint32_t parameter, const void *value, uint64_t bytes);
    gpo_status (*graph_set_all)(gpo_graph_t graph, const gpo_setting *settings, uint64_t stride, uint64_t count);
    gpo_status (*graph_get)(gpo_graph_t graph, const char *name, void *value, uint64_t bytes);
    gpo_status (*graph_launch)(gpo_graph_t graph, gpo_stream_t stream);
    gpo_status (*graph_upload)(gpo_graph_t graph, gpo_stream_t stream);
    gpo_status (*graph_update)(gpo_graph_t graph, gpo_graph_update_report *report);
    gpo_status (*template_launch)(gpo_template_t graph_template, gpo_stream_t stream, const gpo_setting *settings,
                                  uint64_t stride, uint64_t count);
    gpo_status (*template_prepare)(gpo_template_t graph_template, uint32_t count, gpo_stream_t stream);
    gpo_status (*graph_get_native)(gpo_graph_t graph, void **native);
    gpo_status (*template_add_if)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                  const gpo_condition *condition, gpo_template_t *body, gpo_template_t *otherwise,
                                  uint32_t *node);
    gpo_status (*template_add_while)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                     const gpo_condition *condition, gpo_template_t *body, uint32_t *node);
    gpo_status (*template_add_switch)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                      const gpo_condition *condition, gpo_template_t *bodies, uint32_t count,
                                      uint32_t *node);
    gpo_status (*template_bind_condition)(gpo_template_t kernel_in, uint32_t kernel_node, uint32_t index,
                                          gpo_template_t conditional_in, uint32_t conditional);
    gpo_status (*graph_get_loop)(gpo_graph_t graph, gpo_template_t conditional_in, uint32_t node, uint64_t *iterations,
                                 uint32_t *limited);
    gpo_status (*graph_get_device_handle)(gpo_graph_t graph, uint64_t *native, uint64_t *status);
    gpo_status (*graph_get_device_status)(gpo_graph_t graph, gpo_status *device_status);
    gpo_status (*buckets_create)(gpo_device_t device, const gpo_buckets_options *options, gpo_buckets_t *buckets);
    gpo_status (*buckets_destroy)(gpo_buckets_t buckets);
    gpo_status (*buckets_prepare)(gpo_buckets_t buckets, gpo_stream_t stream);
    gpo_status (*buckets_launch)(gpo_buckets_t buckets, gpo_stream_t stream, uint64_t size, const gpo_setting *settings,
                                 uint64_t stride, uint64_t count, uint64_t *shape);
    gpo_status (*buckets_get_statistics)(gpo_buckets_t buckets, gpo_buckets_statistics *statistics);
    gpo_status (*template_import)(gpo_device_t device, void *native, const gpo_template_options *options,
                                  gpo_template_t *graph_template);
    gpo_status (*template_get_picture)(gpo_template_t graph_template, uint32_t format, char *buffer, size_t capacity,
                                       size_t *needed);
    gpo_status (*template_allocate)(gpo_template_t graph_template, uint64_t bytes, uint64_t *address);
    gpo_status (*template_allocate_host)(gpo_template_t graph_template, uint64_t bytes, void **memory);
    gpo_status (*template_add_allocation)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                          uint64_t bytes, uint64_t *address, uint32_t *node);
    gpo_status (*template_add_free)(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                    uint64_t address, uint32_t *node);
    gpo_status (*queue_create)(gpo_device_t device, const gpo_queue_options *options, gpo_queue_t *queue);
    gpo_status (*queue_destroy)(gpo_queue_t queue);
    gpo_status (*queue_get_device_handle)(gpo_queue_t queue, void *buffer, size_t capacity, size_t *needed);
    gpo_status (*queue_set_costs)(gpo_queue_t queue, gpo_stream_t stream, const float *costs, uint64_t count);
    gpo_status (*queue_reset)(gpo_queue_t queue, gpo_stream_t stream);
    gpo_status (*queue_close)(gpo_queue_t queue);
    gpo_status (*queue_abort)(gpo_queue_t queue);
    gpo_status (*queue_get_info)(gpo_queue_t queue, gpo_queue_info *info);
    gpo_status (*queue_push)(gpo_queue_t queue, gpo_stream_t stream, const void *tasks, uint64_t count,
                             uint32_t priority);
    gpo_status (*device_get_costs)(gpo_device_t device, uint32_t flags, gpo_costs *costs);
    gpo_status (*advise)(gpo_device_t device, const gpo_workload *workload, gpo_diagnosis *diagnosis,
                         gpo_advice *advice, uint64_t stride, uint64_t capacity, uint64_t *count);
    gpo_status (*queue_set_tenant)(gpo_queue_t queue, uint32_t tenant, const gpo_tenant_options *options);
    gpo_status (*queue_post)(gpo_queue_t queue, uint32_t tenant, const void *tasks, uint64_t count, uint64_t user_data,
                             uint64_t *posted);
    gpo_status (*queue_take)(gpo_queue_t queue, uint32_t tenant, gpo_answer *entries, uint64_t stride, void *answers,
                             uint64_t capacity, uint64_t *count);
    gpo_status (*queue_wait)(gpo_queue_t queue, uint32_t tenant, int64_t timeout_ns);
    gpo_status (*advise_trace)(const char *path, gpo_workload *workload, char *buffer, size_t capacity, size_t *needed);
    gpo_status (*scheduler_create)(gpo_device_t device, const gpo_scheduler_options *options,
                                   const gpo_handler *handlers, uint64_t stride, uint32_t count,
                                   gpo_scheduler_t *scheduler);
    gpo_status (*scheduler_destroy)(gpo_scheduler_t scheduler);
    gpo_status (*scheduler_start)(gpo_scheduler_t scheduler);
    gpo_status (*scheduler_drain)(gpo_scheduler_t scheduler, int64_t timeout_ns);
    gpo_status (*scheduler_stop)(gpo_scheduler_t scheduler, int64_t timeout_ns);
    gpo_status (*scheduler_wait)(gpo_scheduler_t scheduler, int64_t timeout_ns);
    gpo_status (*scheduler_get_info)(gpo_scheduler_t scheduler, gpo_scheduler_info *info);
    gpo_status (*scheduler_get_handler)(gpo_scheduler_t scheduler, uint32_t handler, gpo_handler_info *info);
    gpo_status (*scheduler_get_blocks)(gpo_scheduler_t scheduler, gpo_scheduler_block *blocks, uint64_t stride,
                                       uint64_t capacity, uint64_t *count);
    gpo_status (*scheduler_get_samples)(gpo_scheduler_t scheduler, gpo_depth_sample *samples, uint64_t stride,
                                        uint64_t capacity, uint64_t *count);
    gpo_status (*scheduler_get_errors)(gpo_scheduler_t scheduler, gpo_task_error *errors, uint64_t stride,
                                       uint64_t capacity, uint64_t *count);
    gpo_status (*peers_create)(const gpo_device_t *devices, uint32_t count, const gpo_peers_options *options,
                               gpo_peers_t *peers);
    gpo_status (*peers_destroy)(gpo_peers_t peers);
    gpo_status (*peers_split)(gpo_peers_t peers, const uint32_t *ranks, uint32_t count,
                              const gpo_peers_options *options, gpo_peers_t *part);
    gpo_status (*peers_get_info)(gpo_peers_t peers, gpo_peers_info *info);
    gpo_status (*peers_get_link)(gpo_peers_t peers, uint32_t from, uint32_t to, gpo_peer_properties *link);
    gpo_status (*peers_submit)(gpo_peers_t peers, const gpo_collective *collective, const gpo_rank_part *parts,
                               uint64_t stride, uint32_t count);
    gpo_status (*symmetric_allocate)(gpo_peers_t peers, uint64_t bytes, const gpo_symmetric_options *options,
                                     gpo_symmetric_t *memory);
    gpo_status (*symmetric_destroy)(gpo_symmetric_t memory);
    gpo_status (*symmetric_get_address)(gpo_symmetric_t memory, uint32_t rank, uint64_t *address);
    gpo_status (*symmetric_get_device_handle)(gpo_symmetric_t memory, uint32_t rank, void *buffer, size_t capacity,
                                              size_t *needed);
    gpo_status (*symmetric_reset)(gpo_symmetric_t memory, uint32_t rank, gpo_stream_t stream);
    gpo_status (*symmetric_get_info)(gpo_symmetric_t memory, gpo_symmetric_info *info);
    gpo_status (*peers_launch)(gpo_peers_t peers, const gpo_rank_launch *launches, uint64_t stride, uint32_t count);
    gpo_status (*peers_make_id)(void *buffer, size_t capacity, size_t *needed);
    gpo_status (*peers_join)(gpo_device_t device, const gpo_join_options *options, gpo_peers_t *peers);
    gpo_status (*peers_abort)(gpo_peers_t peers);
    gpo_status (*memory_export)(gpo_device_t device, uint64_t address, void *buffer, size_t capacity, size_t *needed);
    gpo_status (*memory_import)(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                                uint64_t *address, uint64_t *size);
    gpo_status (*event_export)(gpo_event_t event, void *buffer, size_t capacity, size_t *needed);
    gpo_status (*event_import)(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                               gpo_event_t *event);
    gpo_status (*pipeline_get_share)(gpo_pipeline_t pipeline, uint32_t device, gpo_pipeline_share *share);
    gpo_status (*admission_create)(gpo_runtime_t runtime, const gpo_admission_options *options,
                                   gpo_admission_t *admission);
    gpo_status (*admission_destroy)(gpo_admission_t admission);
    gpo_status (*admission_enter)(gpo_admission_t admission, const gpo_admission_request *request, gpo_cq_t cq,
                                  uint64_t user_data, uint64_t *ticket);
    gpo_status (*admission_enter_then)(gpo_admission_t admission, const gpo_admission_request *request,
                                       gpo_executor_t executor, gpo_completion_fn callback, void *user,
                                       uint64_t *ticket);
    gpo_status (*admission_cancel)(gpo_admission_t admission, uint64_t ticket);
    gpo_status (*admission_leave)(gpo_admission_t admission, uint64_t ticket);
    gpo_status (*admission_leave_after)(gpo_admission_t admission, uint64_t ticket, gpo_stream_t stream);
    gpo_status (*admission_set_budget)(gpo_admission_t admission, uint64_t count, uint64_t bytes);
    gpo_status (*admission_set_flow)(gpo_admission_t admission, uint64_t flow, uint32_t weight);
    gpo_status (*admission_get_info)(gpo_admission_t admission, gpo_admission_info *info);
    gpo_status (*batcher_create)(const gpo_batcher_options *options, gpo_batcher_t *batcher);
    gpo_status (*batcher_destroy)(gpo_batcher_t batcher);
    gpo_status (*batcher_add_key)(gpo_batcher_t batcher, const gpo_batcher_key_options *options, uint32_t *key);
    gpo_status (*batcher_submit)(gpo_batcher_t batcher, const gpo_batcher_request *request, gpo_cq_t cq,
                                 uint64_t user_data, uint64_t *ticket, uint64_t *wait_ns);
    gpo_status (*batcher_submit_then)(gpo_batcher_t batcher, const gpo_batcher_request *request,
                                      gpo_executor_t executor, gpo_completion_fn callback, void *user, uint64_t *ticket,
                                      uint64_t *wait_ns);
    gpo_status (*batcher_cancel)(gpo_batcher_t batcher, uint64_t ticket);
    gpo_status (*batcher_set_flow)(gpo_batcher_t batcher, uint64_t flow, uint32_t weight);
    gpo_status (*batcher_get_info)(gpo_batcher_t batcher, gpo_batcher_info *info);
    gpo_status (*batcher_get_key_info)(gpo_batcher_t batcher, uint32_t key, gpo_batcher_info *info);
    gpo_status (*batcher_get_flow_info)(gpo_batcher_t batcher, uint64_t flow, gpo_batcher_flow_info *info);
    gpo_status (*executor_post)(gpo_executor_t executor, gpo_completion_fn callback, void *user);
    gpo_status (*executor_post_at)(gpo_executor_t executor, uint64_t time_ns, gpo_completion_fn callback, void *user,
                                   uint64_t *ticket);
    gpo_status (*executor_cancel)(gpo_executor_t executor, uint64_t ticket);
    gpo_status (*executor_get_time)(gpo_executor_t executor, uint64_t *time_ns);
} gpo_api;

#ifdef __cplusplus
}
#endif

#endif
