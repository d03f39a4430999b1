// buckets.hpp: shape buckets (buckets.h).
#ifndef GPUORCH_CPP_BUCKETS_HPP
#define GPUORCH_CPP_BUCKETS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "buckets_calls.hpp"
#include "graph_template.hpp"
#include "stream.hpp"

namespace gpuorch {

/// The work that a callable of buckets puts on its stream. Valid during the call.
class bucket_work {
public:
    bucket_work(const gpo_bucket_work& work, gpo_stream_t stream) noexcept : raw_(work), stream_(stream) {}

    /// Elements of the request.
    std::uint64_t size() const noexcept { return raw_.size; }
    /// Elements that the work is for.
    std::uint64_t shape() const noexcept { return raw_.shape; }
    /// Why the callable is called: GPO_BUCKET_*; 0 if the library is older than that.
    std::uint32_t phase() const noexcept {
        return raw_.struct_size > offsetof(gpo_bucket_work, phase) ? raw_.phase : 0;
    }
    const gpo_bucket_work& raw() const noexcept { return raw_; }

    /// The request's value for the parameter of this name; `otherwise` if the request sets none, and without a request.
    /// Throws GPO_INVALID_ARGUMENT for a setting of another size.
    template <class T>
    auto value(const char* name, const T& otherwise) const {
        auto value = detail::kernel_argument(otherwise);
        for (std::uint64_t i = 0; i < raw_.setting_count; ++i) {
            const gpo_setting& given = setting(i);
            if (given.name == nullptr || std::strcmp(given.name, name) != 0) continue;
            if (given.bytes != sizeof value) throw error(error::of_status(GPO_INVALID_ARGUMENT));
            std::memcpy(static_cast<void*>(std::addressof(value)), given.value, sizeof value);
        }
        return value;
    }

    /// For the callable that records. Names something of the node that was recorded last (GPO_PARAMETER_*). Does
    /// nothing when the work runs.
    void parameter(const char* name, std::uint32_t what, std::uint32_t index = 0) const {
        if (raw_.graph_template != nullptr) recording(raw_.graph_template, stream_).parameter(name, what, index);
    }
    /// An argument of that node, a kernel.
    void argument(const char* name, std::uint32_t index) const { parameter(name, GPO_PARAMETER_ARGUMENT, index); }

private:
    const gpo_setting& setting(std::uint64_t index) const noexcept {
        const auto* bytes = reinterpret_cast<const unsigned char*>(raw_.settings);
        return *reinterpret_cast<const gpo_setting*>(bytes + index * raw_.setting_stride);
    }

    const gpo_bucket_work& raw_;
    gpo_stream_t stream_;
};

/// A template for each shape of a table, from device::create_buckets. The callables are destroyed with the object,
/// which may be destroyed in its own callables.
class buckets : public owner<buckets_calls, gpo_buckets_destroy> {
public:
    using owner::owner;

    /// The callables are leaked: the handle needs them.
    gpo_buckets_t release() noexcept {
        if (auto* leaked = callables_.get()) leaked->itself = std::move(callables_);
        return owner::release();
    }

    /// Runs a request of `size` elements with these values. Returns the shape of its bucket; 0: it ran eagerly.
    template <class... T>
    std::uint64_t launch(gpo_stream_t stream, std::uint64_t size, const setting<T>&... settings) const {
        const auto stay = callables_;
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        std::uint64_t shape = 0;
        check(gpo_buckets_launch(get(), stream, size, all.data(), sizeof(gpo_setting), all.size(), &shape));
        return shape;
    }
    void prepare(gpo_stream_t stream) const {
        const auto stay = callables_;
        check(gpo_buckets_prepare(get(), stream));
    }

private:
    friend class device;
    struct callables {
        std::shared_ptr<callables> itself;  // keeps leaked callables alive
    };
    template <class Record, class Pad>
    struct callables_of : callables {
        callables_of(Record&& to_record, Pad&& to_pad) : record(std::move(to_record)), pad(std::move(to_pad)) {}
        static gpo_status call_record(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            static_cast<callables_of*>(user)->record(stream_ref(stream), bucket_work(*work, stream));
            return GPO_SUCCESS;
        }
        static gpo_status call_pad(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            static_cast<callables_of*>(user)->pad(stream_ref(stream), bucket_work(*work, stream));
            return GPO_SUCCESS;
        }
        Record record;
        Pad pad;
    };
    struct no_pad {};

    template <class Record, class Pad>
    static buckets create(gpo_device_t device, const std::vector<std::uint64_t>& shapes, Record record, Pad pad,
                          gpo_buckets_options options) {
        using Own = callables_of<Record, Pad>;
        constexpr bool pads = !std::is_same_v<Pad, no_pad>;
        static_assert(std::is_invocable_v<Record&, stream_ref, const bucket_work&> &&
                          (!pads || std::is_invocable_v<Pad&, stream_ref, const bucket_work&>),
                      "buckets take callables with (gpuorch::stream_ref, const gpuorch::bucket_work&)");
        const auto own = std::make_shared<Own>(std::move(record), std::move(pad));
        options.shapes = shapes.data();
        options.shape_count = shapes.size();
        options.record = &Own::call_record;
        if constexpr (pads) options.pad = &Own::call_pad;
        options.user = own.get();
        auto made = detail::made<buckets>(gpo_buckets_create, device, detail::with_size<gpo_buckets_options>(options));
        made.callables_ = own;
        return made;
    }

    std::shared_ptr<callables> callables_;
};

}  // namespace gpuorch

#endif
