// The functions that fill the driver table, grouped by concern; each group is one file.
#pragma once

#include "driver/table.h"

namespace gpo::softgpu {

void fill_error_entries(driver::Table&) noexcept;
void fill_device_entries(driver::Table&) noexcept;
void fill_context_entries(driver::Table&) noexcept;
void fill_stream_entries(driver::Table&) noexcept;
void fill_event_entries(driver::Table&) noexcept;
void fill_memory_entries(driver::Table&) noexcept;
void fill_pool_entries(driver::Table&) noexcept;
void fill_copy_entries(driver::Table&) noexcept;
void fill_module_entries(driver::Table&) noexcept;
void fill_launch_entries(driver::Table&) noexcept;
void fill_graph_entries(driver::Table&) noexcept;
void fill_conditional_entries(driver::Table&) noexcept;
void fill_node_entries(driver::Table&) noexcept;
void fill_exec_entries(driver::Table&) noexcept;

}  // namespace gpo::softgpu
