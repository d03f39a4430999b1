#include "core/object.h"

#include "core/runtime.h"

namespace gpo {

const char* type_name(Type type) noexcept {
    switch (type) {
        case Type::runtime: return "runtime";
        case Type::device: return "device";
        case Type::stream: return "stream";
        case Type::stream_pool: return "stream pool";
        case Type::event: return "event";
        case Type::timeline: return "timeline";
        case Type::cq: return "completion queue";
        case Type::arena: return "arena";
        case Type::pool: return "pool";
        case Type::module: return "module";
        case Type::kernel: return "kernel";
        case Type::pipeline: return "pipeline";
        case Type::executor: return "executor";
        case Type::graph_template: return "template";
        case Type::graph: return "graph";
        case Type::buckets: return "buckets";
        case Type::queue: return "queue";
        case Type::scheduler: return "scheduler";
        case Type::peers: return "peers";
        case Type::symmetric: return "symmetric memory";
        case Type::admission: return "admission";
        case Type::batcher: return "batcher";
        case Type::none: break;
    }
    return "object";
}

bool Counted::try_retain() const noexcept {
    uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0)
        if (references_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
    return false;
}

Object::Object(Runtime& runtime, Type type, const char* label)
    : runtime_(runtime), label_(label && *label ? runtime.intern(label) : ""), type_(type) {
    if (handle::outlives_runtime(type_))
        runtime_.retain();
    else
        runtime_.begin_use();
}

Object::Object(Runtime& self, Type type) : runtime_(self), label_(""), type_(type) {}

Object::~Object() {
    if (handle::outlives_runtime(type_))
        runtime_.release();
    else if (type_ != Type::runtime)
        runtime_.end_use();
}

void Object::set_label(const char* label) {
    label_.store(label && *label ? runtime().intern(label) : "", std::memory_order_release);
}

FixedText<96> Object::describe() const noexcept {
    FixedText<96> out;
    out.append(type_name(type_));
    if (const char* name = label(); *name) out.append(" `").append(name).append("`");
    return out;
}

ErrorPtr Object::error() const {
    std::lock_guard lock(error_lock_);
    return error_;
}

void Object::note_error(ErrorPtr error) noexcept {
    std::lock_guard lock(error_lock_);
    if (!error_sticky_) error_.swap(error);  // the old error is released after the lock
}

void Object::note_sticky_error(ErrorPtr error) noexcept {
    std::lock_guard lock(error_lock_);
    if (error_sticky_) return;
    error_.swap(error);
    error_sticky_ = true;
}

}  // namespace gpo
