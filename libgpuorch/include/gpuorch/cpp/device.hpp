// device.hpp: devices, and what is made on them (device.h).
#ifndef GPUORCH_CPP_DEVICE_HPP
#define GPUORCH_CPP_DEVICE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "advice.hpp"
#include "arena.hpp"
#include "buckets.hpp"
#include "device_calls.hpp"
#include "event.hpp"
#include "graph_template.hpp"
#include "module.hpp"
#include "peers.hpp"
#include "pipeline.hpp"
#include "pool.hpp"
#include "queue.hpp"
#include "scheduler.hpp"
#include "stream.hpp"
#include "stream_pool.hpp"

namespace gpuorch {

class device : public owner<device_calls, gpo_device_close> {
public:
    using owner::owner;

    /// The best form of work comes first. `now` may be NULL.
    template <class Workload = workload>
    std::vector<gpo_advice> advise(const Workload& work, gpo_diagnosis* now = nullptr) const {
        return gpuorch::advise(work, now, get());
    }
    template <class T>
    [[nodiscard]] buffer<T> allocate(std::uint64_t count, const char* label = nullptr) const {
        std::uint64_t address = 0;
        check(gpo_memory_allocate(get(), detail::bytes_of<T>(count), label, &address));
        return buffer<T>(get(), address, count);
    }
    /// Another process's memory, of as many elements as fit.
    template <class T>
    [[nodiscard]] buffer<T> import_memory(const exported_bytes& exported, const char* label = nullptr) const {
        std::uint64_t address = 0, bytes = 0;
        check(gpo_memory_import(get(), exported.data(), exported.size(), label, &address, &bytes));
        return buffer<T>(get(), address, bytes / sizeof(T));
    }
    [[nodiscard]] event import_event(const exported_bytes& exported, const char* label = nullptr) const {
        return detail::made<event>(gpo_event_import, get(), exported.data(), exported.size(), label);
    }

    /// This function sets the source in the options.
    template <class Options = compile_options>
    [[nodiscard]] module compile(std::string_view source, const Options& options = {}) const {
        gpo_compile_options raw = options;
        raw.source = source.empty() ? "" : source.data();
        raw.source_bytes = source.size();
        return detail::made<module>(gpo_module_compile, get(), detail::with_size<gpo_compile_options>(raw));
    }
    [[nodiscard]] module load(const void* image, std::uint64_t bytes, const char* label = nullptr) const {
        return detail::made<module>(gpo_module_load, get(), image, bytes, label);
    }

    /// Handlers are device functions of `source`, by their names. The options have at least a queue; the form is
    /// GPO_SCHEDULER_RESIDENT unless they name another.
    template <class Options = scheduler_options>
    [[nodiscard]] scheduler create_scheduler(std::string_view source, const std::vector<std::string>& handlers,
                                             const Options& options) const {
        std::vector<gpo_handler> rows(handlers.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].struct_size = sizeof rows[i];
            rows[i].name = handlers[i].c_str();
        }
        gpo_scheduler_options raw = options;
        raw.source = source.data();
        raw.source_bytes = source.size();
        if (raw.form == 0) raw.form = GPO_SCHEDULER_RESIDENT;
        return create_scheduler(rows, raw);
    }
    /// Handlers in the form of the C function: for a scheduler of graphs.
    template <class Options = scheduler_options>
    [[nodiscard]] scheduler create_scheduler(const std::vector<gpo_handler>& handlers, const Options& options) const {
        return detail::made<scheduler>(gpo_scheduler_create, get(), detail::with_size<gpo_scheduler_options>(options),
                                       handlers.data(), std::uint64_t{sizeof(gpo_handler)},
                                       static_cast<std::uint32_t>(handlers.size()));
    }

    /// `record(stream_ref, const bucket_work&)` puts the work for a shape on the stream and names its parameters
    /// (buckets.h). An exception fails the request with GPO_CALLBACK_FAILED. This function sets the shapes and
    /// callbacks in the options.
    template <class Record, class Options = buckets_options,
              std::enable_if_t<std::is_convertible_v<Options, gpo_buckets_options>, int> = 0>
    [[nodiscard]] buckets create_buckets(const std::vector<std::uint64_t>& shapes, Record&& record,
                                         const Options& options = {}) const {
        using Own = std::decay_t<Record>;
        return buckets::create<Own>(get(), shapes, std::forward<Record>(record), buckets::no_pad(), options);
    }
    /// With a second callable, which writes the elements from work.size() to work.shape() before a launch.
    template <class Record, class Pad, class Options = buckets_options,
              std::enable_if_t<!std::is_convertible_v<Pad, gpo_buckets_options>, int> = 0>
    [[nodiscard]] buckets create_buckets(const std::vector<std::uint64_t>& shapes, Record&& record, Pad&& pad,
                                         const Options& options = {}) const {
        using Own = std::decay_t<Record>;
        return buckets::create<Own, std::decay_t<Pad>>(get(), shapes, std::forward<Record>(record),
                                                       std::forward<Pad>(pad), options);
    }

    /// device.create_pipeline({kernel_stage(...), kernel_stage(...)}, options). This function sets the stages in the
    /// options.
    template <class Options = pipeline_options>
    [[nodiscard]] pipeline create_pipeline(const std::vector<stage>& stages, const Options& options = {}) const {
        return pipeline::create(get(), stages, options);
    }
};

}  // namespace gpuorch

#endif
