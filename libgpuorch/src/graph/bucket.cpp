#include "graph/bucket.h"

#include <optional>

#include "core/thrown.h"
#include "graph/instance.h"
#include "graph/instances.h"
#include "trace/record.h"

namespace gpo {

namespace {

gpo_bucket_work work_of(uint64_t shape, gpo_template_t graph_template, uint32_t phase) noexcept {
    gpo_bucket_work work{};
    work.struct_size = sizeof work;
    work.size = work.shape = shape;
    work.graph_template = graph_template;
    work.phase = phase;
    return work;
}

Ref<Template> make_template(Ref<Context> context, const char* label, uint64_t shape) {
    const std::string name = *label ? text(label, " ", shape) : text(shape);
    gpo_template_options options{};
    options.struct_size = sizeof options;
    options.label = name.c_str();
    auto made = make<Template>(std::move(context), options);
    made->set_whole("buckets, and goes with them");
    return made;
}

}  // namespace

void BucketCallbacks::call(const char* which, gpo_bucket_fn function, gpo_stream_t stream,
                           const gpo_bucket_work& work) const {
    gpo_status status = GPO_INTERNAL;
    std::optional<ThrownText> thrown;
    {
        const host::NoCancel no_cancel;
        const Runtime::CallbackScope scope(of_.runtime(), &of_);
        const trace::CallbackSpan span(of_.runtime(), which);
        try {
            status = function(user_, stream, &work);
        } catch (const std::exception& exception) {
            thrown = thrown_text(exception);
        } catch (...) {
            thrown = thrown_text();
        }
    }
    if (thrown) fail(GPO_CALLBACK_FAILED, "the ", which, " callback threw ", *thrown);
    if (status != GPO_SUCCESS)
        fail(GPO_CALLBACK_FAILED, "the ", which, " callback returned ", gpo_status_name(status), " (", status, ")");
}

// --- a bucket ---

Bucket::Bucket(Ref<Context> context, const char* label, uint64_t shape)
    : shape_(shape), template_(make_template(std::move(context), label, shape)),
      handle_(template_->runtime().publish<gpo_template_t>(*template_)) {}

// Breaks the cycle with graphs that a launch made after a shutdown had closed the template.
Bucket::~Bucket() {
    handle::destroy(reinterpret_cast<uint64_t>(handle_), Type::graph_template);
    template_->close();
}

// --- recording ---

BucketRecorder::BucketRecorder(const Object& of, Ref<Context> context, gpo_device_t device,
                               const BucketCallbacks& callbacks, uint32_t graphs, const gpo_buckets_options& options)
    : context_(std::move(context)), device_(device), callbacks_(callbacks), label_(of.label()), graphs_(graphs),
      warms_up_(!(options.flags & GPO_BUCKETS_NO_WARM_UP)), order_(make<Event>(context_, 0, label_)),
      restored_(context_, of.describe(), options) {
    if (!warms_up_ && options.restored_count)
        fail(GPO_INVALID_ARGUMENT, "options has both `restored` and GPO_BUCKETS_NO_WARM_UP");
}

void BucketRecorder::close() noexcept {
    if (handle_ != 0) handle::destroy(std::exchange(handle_, 0), Type::stream);
    stream_ = nullptr;
}

// If a callback left the stream failed, a new stream replaces it.
Stream& BucketRecorder::own() {
    if (stream_ && !stream_->failure()) return *stream_;
    close();
    gpo_stream_options options{};
    options.struct_size = sizeof options;
    options.label = label_;
    auto made = make<Stream>(context_, device_, options);
    made->announce();
    made->set_whole("buckets, and goes with them");
    handle_ = reinterpret_cast<uint64_t>(context_->runtime().publish<gpo_stream_t>(*made));
    stream_ = std::move(made);
    return *stream_;
}

gpo_status BucketRecorder::possible(Stream& caller) {
    if (caller.held().any()) return GPO_INVALID_STATE;
    {
        const DriverScope scope(*context_);
        if (caller.captured()) return GPO_CAPTURE_REFUSED;
    }
    return own().held().any() ? GPO_INVALID_STATE : GPO_SUCCESS;
}

// The wait is on the GPU: this call doesn't block.
void BucketRecorder::follow(Stream& later, Stream& earlier) {
    gpo_status status = order_->record(earlier);
    if (status == GPO_SUCCESS) status = order_->put_wait(later);
    if (status != GPO_SUCCESS)
        fail(GPO_INVALID_STATE, later.describe(), " can't be made to wait for ", earlier.describe(),
             ": too much is held on them");
}

void BucketRecorder::warm_up(uint64_t shape, Stream& caller) {
    follow(*stream_, caller);
    recording_ = true;
    restored_.save(*stream_);
    recording_ = false;
    try {
        callbacks_.record(reinterpret_cast<gpo_stream_t>(handle_), work_of(shape, nullptr, GPO_BUCKET_WARM_UP));
    } catch (...) {
        end_warm_up(caller);
        throw;
    }
    end_warm_up(caller);
}

void BucketRecorder::end_warm_up(Stream& caller) {
    const ErrorPtr left = restore();
    try {
        follow(caller, *stream_);
    } catch (const std::exception&) {
        if (!left) throw;
    }
    if (left) throw Failure(left);
}

// Why the memory can't be restored; NULL: it is restored.
ErrorPtr BucketRecorder::restore() {
    const char* const left = "the memory of options.restored has what the warm-up left, and can't be restored";
    try {
        restored_.restore(*stream_);
        return nullptr;
    } catch (const Failure& failure) {
        auto error = std::make_shared<Error>(*failure.error());
        error->message = text(left, ": ", failure.error()->sentence());
        return error;
    } catch (const std::bad_alloc&) {
        return make_error(GPO_OUT_OF_MEMORY, left);
    }
}

// If this fails, the bucket's end discards the recording.
void BucketRecorder::record_into(Bucket& bucket) {
    bucket.recorded().begin(stream_);
    try {
        callbacks_.record(reinterpret_cast<gpo_stream_t>(handle_),
                          work_of(bucket.shape(), bucket.handle(), GPO_BUCKET_RECORDING));
    } catch (const Failure& failure) {
        fail_record(bucket, failure);
    }
    bucket.recorded().end();
}

// Callbacks usually fail because a call was refused: the end of the recording names the call.
void BucketRecorder::fail_record(Bucket& bucket, const Failure& failure) {
    auto error = std::make_shared<Error>(*failure.error());
    try {
        bucket.recorded().end();
    } catch (const Failure& refused) {
        const gpo_status status = refused.error()->status;
        if (status == GPO_CAPTURE_REFUSED || status == GPO_OUT_OF_MEMORY)
            error->message = text(error->message, "; ", refused.error()->sentence());
    }
    throw Failure(std::move(error));
}

Ref<Bucket> BucketRecorder::record(uint64_t shape, Stream& caller) {
    recording_ = false;
    if (warms_up_) warm_up(shape, caller);
    recording_ = true;
    auto bucket = make<Bucket>(context_, label_, shape);
    const uint64_t before = free_bytes();
    record_into(*bucket);
    const Ref<Recipe> recipe = bucket->recorded().seal();
    bucket->recorded().instances().prepare(graphs_, caller, *recipe);
    const uint64_t after = free_bytes();
    bucket->set_bytes(before > after ? before - after : 0);
    return bucket;
}

uint64_t BucketRecorder::free_bytes() const {
    const DriverScope scope(*context_);
    size_t free = 0, total = 0;
    context_->check(context_->table().cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
}

}  // namespace gpo
