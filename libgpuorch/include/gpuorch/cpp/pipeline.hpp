// pipeline.hpp: pipelines (pipeline.h).
#ifndef GPUORCH_CPP_PIPELINE_HPP
#define GPUORCH_CPP_PIPELINE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "callable.hpp"
#include "pipeline_calls.hpp"
#include "sink.hpp"
#include "source.hpp"
#include "stage.hpp"

namespace gpuorch {

/// A pipeline and the callables of its stages and its newest run. The destructor cancels a run and waits for its end:
/// no callable is called afterwards. In a callback of the same pipeline the destructor can't wait, and the callables
/// are leaked.
class pipeline : public owner<pipeline_calls, gpo_pipeline_destroy> {
public:
    using owner::owner;
    pipeline() noexcept = default;
    pipeline(pipeline&& other) noexcept = default;
    pipeline& operator=(pipeline&& other) noexcept {
        if (this == &other) return *this;
        end();
        owner::operator=(std::move(other));
        executor_ = other.executor_;
        callables_ = std::move(other.callables_);
        return *this;
    }
    ~pipeline() { end(); }

    /// The callables are leaked: the handle needs them.
    gpo_pipeline_t release() noexcept {
        static_cast<void>(callables_.release());
        return owner::release();
    }
    void reset(gpo_pipeline_t adopted = nullptr) noexcept {
        end();
        owner::reset(adopted);
    }

    /// Starts a run: pipeline.start(from_file("in"), to_file("out")). The callables of source and sink stay until the
    /// next run.
    void start(source from, sink to) {
        from.raw_ = sized(from.raw_);
        from.raw_.path = from.path_ ? from.path_->c_str() : nullptr;
        to.raw_ = sized(to.raw_);
        to.raw_.path = to.path_ ? to.path_->c_str() : nullptr;
        if (callables_ == nullptr) callables_ = std::make_unique<callables>();
        check(gpo_pipeline_start(get(), &from.raw_, &to.raw_));
        callables_->source = std::move(from.callable_);  // the run that used the old one has ended
        callables_->sink = std::move(to.callable_);
    }
    using owner::wait;
    /// Waits for the run's end. Meanwhile `callable(const gpo_pipeline_progress&)` is called on this thread, once per
    /// `interval`. The callable may cancel the run.
    template <class Callable>
    gpo_pipeline_result wait(std::chrono::nanoseconds interval, Callable&& callable) const {
        for (;;) {
            if (const auto result = wait(interval)) return *result;
            callable(progress());
        }
    }
    /// Starts a run and waits for its end.
    gpo_pipeline_result run(source from, sink to) {
        start(std::move(from), std::move(to));
        return wait();
    }
    /// When the run has ended. See stream_ref::then.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_pipeline_then, get(), executor));
    }

private:
    friend class device;
    struct callables {
        std::vector<std::shared_ptr<void>> stages;
        std::shared_ptr<void> source, sink;
    };

    static pipeline create(gpo_device_t device, const std::vector<stage>& stages, gpo_pipeline_options options) {
        std::vector<std::vector<gpo_stage_argument>> arguments;
        std::vector<gpo_stage> raw;
        auto calls = std::make_unique<callables>();
        const std::size_t devices = options.devices != nullptr ? options.device_count : 1;
        for (const stage& stage : stages) {
            arguments.emplace_back();
            if (!stage.kernels_.empty() && stage.kernels_.size() != devices)
                throw error(refused("a stage hasn't one kernel for each device of the pipeline"));
            for (const auto& argument : stage.arguments_) {
                if (argument.kind == GPO_ARGUMENT_DEVICE_VALUE && argument.value.size() != devices * argument.bytes)
                    throw error(refused("an argument of a stage hasn't one value for each device of the pipeline"));
                auto out = sized<gpo_stage_argument>();
                out.kind = argument.kind;
                out.value = argument.value.empty() ? nullptr : argument.value.data();
                out.bytes = argument.bytes;
                arguments.back().push_back(out);
            }
            gpo_stage out = sized(stage.raw_);
            out.arguments = arguments.back().data();
            out.argument_stride = sizeof(gpo_stage_argument);
            out.argument_count = static_cast<std::uint32_t>(arguments.back().size());
            out.label = stage.label_.c_str();
            out.kernels = stage.kernels_.empty() ? nullptr : stage.kernels_.data();
            raw.push_back(out);
            calls->stages.push_back(stage.callable_);
        }
        options.stages = raw.data();
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = static_cast<std::uint32_t>(raw.size());
        auto made =
            detail::made<pipeline>(gpo_pipeline_create, device, detail::with_size<gpo_pipeline_options>(options));
        made.executor_ = options.executor;
        made.callables_ = std::move(calls);
        return made;
    }

    static gpo_error refused(const char* message) noexcept {
        gpo_error details = error::of_status(GPO_INVALID_ARGUMENT);
        std::strncpy(details.message, message, sizeof details.message - 1);
        return details;
    }

    /// Waits until no callable is called any more. Meanwhile an executor without threads is run here, as perhaps no
    /// other thread runs it.
    void end() noexcept {
        if (get() == nullptr) return;
        static_cast<void>(gpo_pipeline_cancel(get()));
        auto about = sized<gpo_executor_statistics>();
        const bool ours =
            executor_ != nullptr && gpo_executor_get_statistics(executor_, &about) == GPO_SUCCESS && about.threads == 0;
        gpo_status status = GPO_SUCCESS;
        do {
            if (ours) static_cast<void>(gpo_executor_poll(executor_, nullptr));
            status = gpo_pipeline_wait(get(), ours ? 1000000 : -1, nullptr);
        } while (status == GPO_TIMEOUT);
        if (status == GPO_WOULD_DEADLOCK || status == GPO_FORKED) static_cast<void>(callables_.release());
        owner::reset();
        executor_ = nullptr;
        callables_.reset();
    }

    gpo_executor_t executor_ = nullptr;
    std::unique_ptr<callables> callables_;
};

}  // namespace gpuorch

#endif
