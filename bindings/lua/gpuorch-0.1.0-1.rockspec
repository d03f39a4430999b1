rockspec_format = "3.0"
package = "gpuorch"
version = "0.1.0-1"
source = {
   url = "git+file://.", -- made in its folder: luarocks make
}
description = {
   summary = "GPU work that overlaps, awaited by coroutines: libgpuorch for Lua",
   detailed = [[
Devices, streams, kernels from CUDA C++ in the script, typed arrays, pipelines over files, completions for event loops.
Needs libgpuorch.so.0.1 at run time, no CUDA: without a GPU it runs on the library's software GPU.]],
   license = "Apache-2.0",
}
supported_platforms = {"linux"}
dependencies = {"lua >= 5.1, < 5.5"}
external_dependencies = {
   GPUORCH = {header = "gpuorch/api.h"}, -- GPUORCH_DIR or GPUORCH_INCDIR say where
}
build = {
   type = "builtin",
   modules = {
      gpuorch = {
         sources = {
            "src/address.c", "src/advice.c", "src/array.c", "src/await.c", "src/batcher.c", "src/bridge.c", "src/bucket_call.c",
            "src/buckets.c", "src/callback.c", "src/calls.c", "src/conditional.c", "src/copy.c", "src/device_queue.c",
            "src/element.c", "src/executor.c", "src/graph.c", "src/kernel.c", "src/memory.c", "src/module.c",
            "src/number.c", "src/object.c", "src/owned.c", "src/pack.c", "src/parameters.c", "src/peers.c",
            "src/peers_launch.c", "src/pipeline.c", "src/queue.c", "src/recipe.c", "src/record.c",
            "src/records.c", "src/runtime.c", "src/scheduler.c", "src/signal.c",
            "src/status.c", "src/stream.c", "src/template.c", "src/wait.c",
         },
         defines = {"_GNU_SOURCE"},
         incdirs = {"$(GPUORCH_INCDIR)"},
         libraries = {"dl", "pthread"},
      },
      ["gpuorch.loop"] = "lua/gpuorch/loop.lua",
      ["gpuorch.luv"] = "lua/gpuorch/luv.lua",
      ["gpuorch.cqueues"] = "lua/gpuorch/cqueues.lua",
   },
   copy_directories = {"types"}, -- for language servers: below `luarocks show --rock-dir gpuorch`
}
