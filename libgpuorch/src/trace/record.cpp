#include "trace/record.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <type_traits>

#include "core/runtime.h"
#include "trace/nvtx.h"

namespace gpo::trace {

namespace {

thread_local Buffer* t_buffer = nullptr;  // one reference
thread_local uint32_t t_calls = 0;  // open spans of calls; in a callback, only those inside the innermost callback
thread_local bool t_inside = false;  // whether a call's span is open around the innermost callback

host::Mutex g_collectors_lock;
constinit Collector* g_collectors = nullptr;

pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_made = false;

void leave_buffer(void* buffer) {
    t_buffer = nullptr;  // if another destructor of the thread calls the library later, it makes a new buffer
    static_cast<Buffer*>(buffer)->release();
}

[[gnu::noinline]] Buffer* take_buffer(uint32_t tag) noexcept {
    Ref<Buffer> made = Collector::make_buffer_of(tag);
    if (!made) return nullptr;
    pthread_once(&g_key_once, [] { g_key_made = pthread_key_create(&g_key, leave_buffer) == 0; });
    if (!g_key_made || pthread_setspecific(g_key, made.get()) != 0) return nullptr;
    if (t_buffer) t_buffer->release();
    return t_buffer = made.leak();
}

void call_log(const Runtime& runtime, const Runtime::LogLine& line) {
    const CallbackSpan span(runtime, "log function");
    line.call();
}

}  // namespace

void add_watcher() noexcept {
    Runtime::set_log_caller(call_log);
    host::detail::process_flags.unusual.fetch_add(host::detail::kWatcher, std::memory_order_seq_cst);
}

void remove_watcher() noexcept {
    host::detail::process_flags.unusual.fetch_sub(host::detail::kWatcher, std::memory_order_seq_cst);
}

const char* engine_name(Engine engine) noexcept {
    constexpr const char* kNames[kEngines] = {"", "copy in", "copy out", "copy on device", "fill", "kernel", "graph"};
    return kNames[static_cast<size_t>(engine)];
}

Buffer::Buffer(uint32_t runtime_tag)
    : tag(runtime_tag), thread(static_cast<int>(syscall(SYS_gettid))),
      ring_(static_cast<Record*>(std::calloc(kRecords, sizeof(Record)))) {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (!ring_) throw std::bad_alloc();
    if (pthread_getname_np(pthread_self(), thread_name, sizeof thread_name) != 0) thread_name[0] = '\0';
}

bool Buffer::push(const Record& record) noexcept {
    const uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    const uint64_t waiting = pushed - popped_.load(std::memory_order_acquire);
    if (waiting == kRecords) {
        count_dropped();
        return false;
    }
    ring_[pushed % kRecords] = record;
    pushed_.store(pushed + 1, std::memory_order_release);
    return waiting == kRecords / 4;
}

bool Buffer::pop(Record& record) noexcept {
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    if (popped == pushed_.load(std::memory_order_acquire)) return false;
    record = ring_[popped % kRecords];
    popped_.store(popped + 1, std::memory_order_release);
    return true;
}

void Collector::enlist() noexcept {
    std::lock_guard lock(g_collectors_lock);
    next_ = std::exchange(g_collectors, this);
}

void Collector::delist() noexcept {
    std::lock_guard lock(g_collectors_lock);
    Collector** at = &g_collectors;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
}

Collector* Collector::find(uint32_t tag) noexcept {
    for (Collector* collector = g_collectors; collector; collector = collector->next_)
        if (collector->tag == tag && collector->collecting()) return collector;
    return nullptr;
}

Ref<Buffer> Collector::make_buffer_of(uint32_t tag) noexcept {
    std::lock_guard lock(g_collectors_lock);
    Collector* collector = find(tag);
    return collector ? collector->make_buffer() : nullptr;
}

void Collector::wake_of(uint32_t tag) noexcept {
    std::lock_guard lock(g_collectors_lock);
    if (Collector* collector = find(tag)) collector->wake();
}

Buffer* buffer_of(uint32_t tag) noexcept {
    Buffer* buffer = t_buffer;
    if (buffer && buffer->tag == tag && buffer->open.load(std::memory_order_acquire)) [[likely]]
        return buffer;
    return take_buffer(tag);
}

void record(uint32_t tag, const Record& record) noexcept {
    Buffer* buffer = buffer_of(tag);
    if (buffer && buffer->push(record)) Collector::wake_of(tag);
}

bool CallSpan::open() noexcept { return t_calls != 0; }

void CallSpan::begin(const char* function) noexcept {
    function_ = function;
    if (++t_calls == 1) handle::set_last_tag(0);
    nvtx::push(function);
    begin_ = host::now();
}

void CallSpan::end() noexcept {
    const uint64_t now = host::now();
    nvtx::pop();
    const bool outermost = --t_calls == 0;
    const uint32_t tag = handle::last_tag();
    if (!outermost || tag == 0) return;  // nested calls of the library are part of the outer call
    Record call;
    call.name = function_;
    call.begin = begin_;
    call.end = now;
    call.status = status_;
    call.inside_call = t_inside;
    record(tag, call);
}

void CallbackSpan::begin(const Runtime& runtime, const char* what) noexcept {
    what_ = what;
    tag_ = runtime.tag();
    outer_tag_ = handle::last_tag();
    outer_calls_ = std::exchange(t_calls, 0);
    outer_inside_ = std::exchange(t_inside, t_inside || outer_calls_ != 0);
    begin_ = host::now();
}

void CallbackSpan::end() noexcept {
    Record callback;
    callback.kind = Kind::callback;
    callback.name = what_;
    callback.begin = begin_;
    callback.end = host::now();
    callback.inside_call = t_inside;
    t_calls = outer_calls_;
    t_inside = outer_inside_;
    handle::set_last_tag(outer_tag_);
    record(tag_, callback);
}

void note_serialising(const Runtime& runtime, const char* what, uint64_t bytes, uint64_t begin) noexcept {
    Record mark;
    mark.kind = Kind::serialising;
    mark.name = what;
    mark.end = host::now();
    mark.begin = begin ? begin : mark.end;
    mark.bytes = bytes;
    mark.inside_call = CallSpan::open();
    record(runtime.tag(), mark);
}

}  // namespace gpo::trace
