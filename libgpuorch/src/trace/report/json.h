// The trace as Chrome's JSON array, in the form that Perfetto reads: one event on each line, in text that goes to the
// file at boundaries (file.h).
//
// In the file, host threads are the threads of process 1. Device N is process 100 + N, whose threads are the device's
// streams. A stream that was ever held has a second thread, which shows when it was held. Spans of one thread nest.
// Arrows lead from the call that submitted an operation (on threads of the library, from a short span for the
// submission) to the end of the operation's span, and from a notify to its completion. Process 2 has the requests of
// admissions and batchers, as asynchronous spans, and each slot of a batcher's lanes as a thread with the batches. An
// arrow leads from a request's submission to its batch to its completion.
#pragma once

#include <memory>
#include <set>

#include "trace/report/trace_file.h"
#include "trace/report/span.h"

namespace gpo::trace {

class Json {
public:
    /// Throws Failure(GPO_IO_ERROR), std::bad_alloc.
    Json(const std::string& path, uint64_t start, std::string_view program, bool alone = false);

    // All throw only std::bad_alloc.
    void thread(int number, const char* name);
    void device(int number, std::string_view name);
    void lane(uint32_t lane, int device, std::string_view name);

    void call(int thread, const Record& call);
    void callback(int thread, const Record& callback);
    /// The submission of an operation, or a notify: where its arrow begins.
    void submitted(int thread, const Record& operation);
    void serialising(int thread, const Record& mark);
    void completion(int thread, const Record& completion);
    void held(int device, const Record& held);
    /// A request's submission: where its arrow begins.
    void submission(int thread, const Record& submission);
    /// A request from its submission to its completion, and the completion on its thread.
    void request(int thread, const Record& request);
    void batch(const Record& batch);
    void span(const Span& span);
    void on_the_way(int device, uint64_t at, uint64_t bytes, uint64_t operations);
    void counter(const char* name, int device, uint64_t at, const char* series, uint64_t value);
    /// A line about the trace itself. `text`: the members of a JSON object, without the braces.
    void about(const char* name, std::string_view text);

    /// Passes the text to the file, if there is much of it or if `all`.
    void flush(bool all);
    void close() noexcept;
    const File& file() const noexcept { return file_; }

    /// `text` as a JSON string, with quotes. Bytes that aren't UTF-8 are replaced.
    static std::string quoted(std::string_view text);

private:
    void head(char phase, std::string_view name, const char* category, int process, int64_t thread, uint64_t at);
    void time(uint64_t ns);
    /// Begins a line. Removes an incomplete line first, which an exception for lack of memory has left.
    void begin() noexcept { text_.erase(whole_); }
    void finish() {
        text_ += "},\n";
        whole_ = text_.size();
    }
    void arrow(char phase, const char* category, int process, int64_t thread, uint64_t at, uint64_t lane,
               uint64_t number);
    void name_serving();
    void meta(const char* what, int process, int64_t thread, std::string_view argument);

    File file_;
    const uint64_t start_;
    std::string text_;
    size_t whole_ = 0;   // bytes of text_ in lines that have ended
    std::set<uint32_t> held_lanes_;
    std::set<uint32_t> batch_tracks_;
    bool serving_named_ = false;
};

}  // namespace gpo::trace
