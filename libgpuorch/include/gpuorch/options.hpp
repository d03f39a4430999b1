// options.hpp: the C structs that a C++ program fills in, with a default for each field. gpuorch.hpp includes it.
//
//     device.create_stream({.priority = -1});                                     // C++20
//     const gpo_stream_options options = gpuorch::stream_options{.priority = -1};  // for functions of C
//
// A gpuorch::NAME has the fields of the C struct gpo_NAME in their order, and converts to that struct. Its size is set.
// GCC's -Wextra reports fields of a C struct that a designated initialiser doesn't name, and none of these structs. The
// C headers say what the fields mean. Made from the public headers by src/abi/generate_api.py.
#ifndef GPUORCH_OPTIONS_HPP
#define GPUORCH_OPTIONS_HPP

#include <cstring>
#include <type_traits>

#include "gpuorch.h"

namespace gpuorch {

namespace detail {

/// The C struct with the same fields.
template <class Struct, class Options>
Struct same(const Options& options) noexcept {
    static_assert(sizeof(Struct) == sizeof(Options) && std::is_trivially_copyable_v<Options>);
    Struct out;
    std::memcpy(&out, &options, sizeof out);
    return out;
}

}  // namespace detail

struct admission_options {
    uint32_t struct_size = sizeof(gpo_admission_options);
    uint32_t flags{};
    uint64_t count{};
    uint64_t bytes{};
    uint32_t capacity{};
    uint32_t priorities{};
    gpo_pool_t pool{};
    uint64_t high_bytes{};
    uint64_t low_bytes{};
    const char *label{};
    operator gpo_admission_options() const noexcept { return detail::same<gpo_admission_options>(*this); }
};

struct admission_request {
    uint32_t struct_size = sizeof(gpo_admission_request);
    uint32_t priority{};
    uint64_t count{};
    uint64_t bytes{};
    uint64_t flow{};
    uint64_t deadline_ns{};
    operator gpo_admission_request() const noexcept { return detail::same<gpo_admission_request>(*this); }
};

struct costs {
    uint32_t struct_size = sizeof(gpo_costs);
    uint32_t measured{};
    uint64_t launch_ns{};
    uint64_t wait_ns{};
    uint64_t decision_ns{};
    uint64_t graph_launch_ns{};
    uint64_t graph_node_ns{};
    uint64_t while_turn_ns{};
    uint64_t device_launch_ns{};
    uint64_t doorbell_ns{};
    uint64_t host_tasks_per_second{};
    uint64_t claims_per_second{};
    uint64_t ring_tasks_per_second{};
    uint64_t copy_ns{};
    uint64_t copy_in_rate{};
    uint64_t copy_out_rate{};
    uint64_t copy_both_rate{};
    uint64_t pageable_in_rate{};
    uint64_t pageable_out_rate{};
    uint64_t memory_rate{};
    uint64_t operation_rate{};
    uint32_t multiprocessors{};
    uint32_t reserved{};
    operator gpo_costs() const noexcept { return detail::same<gpo_costs>(*this); }
};

struct workload {
    uint32_t struct_size = sizeof(gpo_workload);
    uint32_t flags{};
    const gpo_costs *costs{};
    uint64_t launches{};
    uint64_t round_ns{};
    uint64_t kernel_ns{};
    uint64_t decisions{};
    uint32_t streams{};
    uint32_t blocks{};
    uint64_t bytes{};
    uint64_t operations{};
    uint64_t copies{};
    uint64_t copy_in_bytes{};
    uint64_t copy_out_bytes{};
    uint64_t tasks{};
    uint64_t task_ns{};
    uint32_t order{};
    uint32_t workers{};
    uint32_t block_workers{};
    uint32_t reserved{};
    const float *task_costs{};
    uint64_t cost_stride{};
    uint64_t cost_count{};
    uint64_t cost_deviation{};
    uint64_t cost_max{};
    operator gpo_workload() const noexcept { return detail::same<gpo_workload>(*this); }
};

struct batcher_options {
    uint32_t struct_size = sizeof(gpo_batcher_options);
    uint32_t flags{};
    const gpo_device_t *devices{};
    uint64_t device_count{};
    uint32_t lanes{};
    uint32_t capacity{};
    gpo_executor_t executor{};
    const char *label{};
    operator gpo_batcher_options() const noexcept { return detail::same<gpo_batcher_options>(*this); }
};

struct batcher_key_options {
    uint32_t struct_size = sizeof(gpo_batcher_key_options);
    uint32_t flags{};
    uint32_t layout{};
    uint32_t max_batch{};
    uint64_t input_bytes{};
    uint64_t output_bytes{};
    uint64_t max_elements{};
    uint64_t max_delay_ns{};
    const gpo_buckets_t *buckets{};
    uint64_t bucket_count{};
    gpo_batch_fn work{};
    void *user{};
    const char *label{};
    gpo_batch_release_fn release{};
    operator gpo_batcher_key_options() const noexcept { return detail::same<gpo_batcher_key_options>(*this); }
};

struct batcher_request {
    uint32_t struct_size = sizeof(gpo_batcher_request);
    uint32_t key{};
    uint64_t flow{};
    uint64_t elements{};
    const void *input{};
    uint64_t input_address{};
    void *output{};
    uint64_t output_address{};
    uint64_t *output_made{};
    uint64_t deadline_ns{};
    operator gpo_batcher_request() const noexcept { return detail::same<gpo_batcher_request>(*this); }
};

struct memory_range {
    uint32_t struct_size = sizeof(gpo_memory_range);
    uint32_t reserved{};
    uint64_t address{};
    uint64_t bytes{};
    operator gpo_memory_range() const noexcept { return detail::same<gpo_memory_range>(*this); }
};

struct buckets_options {
    uint32_t struct_size = sizeof(gpo_buckets_options);
    uint32_t flags{};
    const uint64_t *shapes{};
    uint64_t shape_count{};
    uint64_t max_bytes{};
    uint32_t max_buckets{};
    uint32_t streams{};
    gpo_bucket_fn record{};
    gpo_bucket_fn pad{};
    void *user{};
    uint64_t pad_address{};
    uint64_t pad_element_bytes{};
    const char *label{};
    const gpo_memory_range *restored{};
    uint64_t restored_stride{};
    uint64_t restored_count{};
    operator gpo_buckets_options() const noexcept { return detail::same<gpo_buckets_options>(*this); }
};

struct cq_options {
    uint32_t struct_size = sizeof(gpo_cq_options);
    uint32_t flags{};
    uint32_t capacity{};
    uint32_t reserved{};
    const char *label{};
    operator gpo_cq_options() const noexcept { return detail::same<gpo_cq_options>(*this); }
};

struct device_options {
    uint32_t struct_size = sizeof(gpo_device_options);
    uint32_t flags{};
    uint32_t ordinal{};
    uint32_t reserved{};
    void *native_context{};
    const char *label{};
    operator gpo_device_options() const noexcept { return detail::same<gpo_device_options>(*this); }
};

struct event_options {
    uint32_t struct_size = sizeof(gpo_event_options);
    uint32_t flags{};
    const char *label{};
    operator gpo_event_options() const noexcept { return detail::same<gpo_event_options>(*this); }
};

struct executor_options {
    uint32_t struct_size = sizeof(gpo_executor_options);
    uint32_t flags{};
    uint32_t threads{};
    uint32_t capacity{};
    const char *label{};
    operator gpo_executor_options() const noexcept { return detail::same<gpo_executor_options>(*this); }
};

struct arena_options {
    uint32_t struct_size = sizeof(gpo_arena_options);
    uint32_t flags{};
    uint64_t max_bytes{};
    uint64_t slab_bytes{};
    uint64_t initial_bytes{};
    int32_t numa_node{};
    uint32_t reserved{};
    const char *label{};
    operator gpo_arena_options() const noexcept { return detail::same<gpo_arena_options>(*this); }
};

struct pool_options {
    uint32_t struct_size = sizeof(gpo_pool_options);
    uint32_t flags{};
    uint64_t max_bytes{};
    uint64_t keep_bytes{};
    uint64_t initial_bytes{};
    const char *label{};
    operator gpo_pool_options() const noexcept { return detail::same<gpo_pool_options>(*this); }
};

struct copy {
    uint32_t struct_size = sizeof(gpo_copy);
    uint32_t flags{};
    uint64_t destination{};
    uint64_t source{};
    uint64_t bytes{};
    operator gpo_copy() const noexcept { return detail::same<gpo_copy>(*this); }
};

struct copy_2d {
    uint32_t struct_size = sizeof(gpo_copy_2d);
    uint32_t flags{};
    uint64_t destination{};
    uint64_t destination_pitch{};
    uint64_t source{};
    uint64_t source_pitch{};
    uint64_t width{};
    uint64_t height{};
    operator gpo_copy_2d() const noexcept { return detail::same<gpo_copy_2d>(*this); }
};

struct compile_options {
    uint32_t struct_size = sizeof(gpo_compile_options);
    uint32_t flags{};
    const char *source{};
    uint64_t source_bytes{};
    const char *file_name{};
    const char *const *options{};
    uint32_t option_count{};
    uint32_t name_expression_count{};
    const char *const *name_expressions{};
    const char *const *header_names{};
    const char *const *header_texts{};
    uint32_t header_count{};
    uint32_t reserved{};
    const char *label{};
    operator gpo_compile_options() const noexcept { return detail::same<gpo_compile_options>(*this); }
};

struct launch {
    uint32_t struct_size = sizeof(gpo_launch);
    uint32_t flags{};
    uint32_t grid[3]{};
    uint32_t block[3]{};
    uint32_t cluster[3]{};
    int32_t priority{};
    uint64_t dynamic_shared_bytes{};
    const char *label{};
    operator gpo_launch() const noexcept { return detail::same<gpo_launch>(*this); }
};

struct peers_options {
    uint32_t struct_size = sizeof(gpo_peers_options);
    uint32_t flags{};
    uint32_t engine{};
    uint32_t reserved{};
    const char *label{};
    operator gpo_peers_options() const noexcept { return detail::same<gpo_peers_options>(*this); }
};

struct join_options {
    uint32_t struct_size = sizeof(gpo_join_options);
    uint32_t flags{};
    uint32_t by{};
    uint32_t engine{};
    uint32_t rank{};
    uint32_t ranks{};
    int64_t timeout_ns{};
    const char *path{};
    const void *id{};
    void *communicator{};
    const char *label{};
    operator gpo_join_options() const noexcept { return detail::same<gpo_join_options>(*this); }
};

struct collective {
    uint32_t struct_size = sizeof(gpo_collective);
    uint32_t kind{};
    uint32_t type{};
    uint32_t reduction{};
    uint32_t root{};
    uint32_t flags{};
    uint64_t count{};
    const char *label{};
    operator gpo_collective() const noexcept { return detail::same<gpo_collective>(*this); }
};

struct rank_part {
    uint32_t struct_size = sizeof(gpo_rank_part);
    uint32_t reserved{};
    gpo_stream_t stream{};
    uint64_t send{};
    uint64_t receive{};
    uint32_t send_to{};
    uint32_t receive_from{};
    operator gpo_rank_part() const noexcept { return detail::same<gpo_rank_part>(*this); }
};

struct stage_argument {
    uint32_t struct_size = sizeof(gpo_stage_argument);
    uint32_t kind{};
    const void *value{};
    uint64_t bytes{};
    operator gpo_stage_argument() const noexcept { return detail::same<gpo_stage_argument>(*this); }
};

struct pipeline_options {
    uint32_t struct_size = sizeof(gpo_pipeline_options);
    uint32_t flags{};
    uint64_t chunk_bytes{};
    uint64_t granule{};
    uint32_t slots{};
    uint32_t output_numerator{};
    uint32_t output_denominator{};
    uint32_t stage_count{};
    const gpo_stage *stages{};
    uint64_t stage_stride{};
    uint64_t scratch_bytes{};
    uint64_t result_bytes{};
    uint64_t max_pinned_bytes{};
    gpo_progress_fn progress{};
    void *progress_user{};
    uint64_t progress_ns{};
    const char *label{};
    gpo_executor_t executor{};
    const gpo_device_t *devices{};
    uint32_t device_count{};
    uint32_t reserved{};
    operator gpo_pipeline_options() const noexcept { return detail::same<gpo_pipeline_options>(*this); }
};

struct queue_options {
    uint32_t struct_size = sizeof(gpo_queue_options);
    uint32_t kind{};
    uint32_t flags{};
    uint32_t batch{};
    uint64_t count{};
    uint64_t capacity{};
    uint32_t task_size{};
    uint32_t priorities{};
    uint32_t answer_size{};
    uint32_t tenants{};
    gpo_stream_t stream{};
    const char *label{};
    operator gpo_queue_options() const noexcept { return detail::same<gpo_queue_options>(*this); }
};

struct tenant_options {
    uint32_t struct_size = sizeof(gpo_tenant_options);
    uint32_t reserved{};
    uint64_t limit{};
    gpo_cq_t completions{};
    operator gpo_tenant_options() const noexcept { return detail::same<gpo_tenant_options>(*this); }
};

struct runtime_options {
    uint32_t struct_size = sizeof(gpo_runtime_options);
    uint32_t flags{};
    const char *device{};
    gpo_log_fn log{};
    void *log_user{};
    int32_t log_level{};
    uint32_t completion_mode{};
    uint64_t schedule_seed{};
    const char *cache{};
    const char *label{};
    operator gpo_runtime_options() const noexcept { return detail::same<gpo_runtime_options>(*this); }
};

struct handler {
    uint32_t struct_size = sizeof(gpo_handler);
    uint32_t graph_count{};
    const char *name{};
    const gpo_graph_t *graphs{};
    uint64_t task_memory{};
    operator gpo_handler() const noexcept { return detail::same<gpo_handler>(*this); }
};

struct scheduler_options {
    uint32_t struct_size = sizeof(gpo_scheduler_options);
    uint32_t form{};
    gpo_queue_t queue{};
    const char *source{};
    uint64_t source_bytes{};
    const char *file_name{};
    const char *const *compile_options{};
    uint32_t compile_option_count{};
    uint32_t workers{};
    uint32_t threads{};
    uint32_t blocks_per_multiprocessor{};
    uint32_t multiprocessors{};
    uint32_t leave_free{};
    uint32_t batch{};
    uint32_t max_errors{};
    uint64_t argument{};
    uint64_t dynamic_shared_bytes{};
    uint64_t idle_timeout_ns{};
    uint64_t sample_interval_ns{};
    const char *label{};
    operator gpo_scheduler_options() const noexcept { return detail::same<gpo_scheduler_options>(*this); }
};

struct stream_options {
    uint32_t struct_size = sizeof(gpo_stream_options);
    uint32_t flags{};
    int32_t priority{};
    uint32_t max_held{};
    const char *label{};
    operator gpo_stream_options() const noexcept { return detail::same<gpo_stream_options>(*this); }
};

struct stream_pool_options {
    uint32_t struct_size = sizeof(gpo_stream_pool_options);
    uint32_t flags{};
    uint32_t streams{};
    uint32_t priorities{};
    const char *label{};
    operator gpo_stream_pool_options() const noexcept { return detail::same<gpo_stream_pool_options>(*this); }
};

struct symmetric_options {
    uint32_t struct_size = sizeof(gpo_symmetric_options);
    uint32_t flags{};
    uint64_t alignment{};
    const char *label{};
    uint32_t engine{};
    uint32_t reserved{};
    operator gpo_symmetric_options() const noexcept { return detail::same<gpo_symmetric_options>(*this); }
};

struct rank_launch {
    uint32_t struct_size = sizeof(gpo_rank_launch);
    uint32_t flags{};
    gpo_stream_t stream{};
    gpo_kernel_t kernel{};
    const gpo_launch *launch{};
    const void *const *arguments{};
    const uint32_t *sizes{};
    uint32_t argument_count{};
    uint32_t reserved{};
    operator gpo_rank_launch() const noexcept { return detail::same<gpo_rank_launch>(*this); }
};

struct template_options {
    uint32_t struct_size = sizeof(gpo_template_options);
    uint32_t flags{};
    uint32_t max_instances{};
    uint32_t reserved{};
    const char *label{};
    operator gpo_template_options() const noexcept { return detail::same<gpo_template_options>(*this); }
};

struct condition {
    uint32_t struct_size = sizeof(gpo_condition);
    uint32_t comparison{};
    uint64_t word{};
    uint32_t constant{};
    uint32_t initial{};
    uint64_t max_iterations{};
    operator gpo_condition() const noexcept { return detail::same<gpo_condition>(*this); }
};

struct graph_options {
    uint32_t struct_size = sizeof(gpo_graph_options);
    uint32_t flags{};
    const char *label{};
    operator gpo_graph_options() const noexcept { return detail::same<gpo_graph_options>(*this); }
};

struct timeline_options {
    uint32_t struct_size = sizeof(gpo_timeline_options);
    uint32_t flags{};
    uint64_t value{};
    const char *label{};
    operator gpo_timeline_options() const noexcept { return detail::same<gpo_timeline_options>(*this); }
};

struct trace_options {
    uint32_t struct_size = sizeof(gpo_trace_options);
    uint32_t flags{};
    const char *path{};
    const char *picture{};
    const char *title{};
    operator gpo_trace_options() const noexcept { return detail::same<gpo_trace_options>(*this); }
};

}  // namespace gpuorch

#endif
