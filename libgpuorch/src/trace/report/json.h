// The trace as Chrome's JSON array, in the form that Perfetto reads: one event on each line, in text that goes to the
// file at boundaries (file.h).
//
// Host threads are the threads of process 1. Each device is a process, numbered 100 + its number, with its streams as
// threads. A stream that was held has a second thread for the held times. Spans of one thread nest. Arrows go from the
// call that submitted an operation (or, on threads of the library, from a short span of the submission) to the end of
// the operation's span, and from a notify to its completion.
#pragma once

#include <memory>
#include <set>

#include "trace/report/file.h"
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
    void span(const Span& span);
    void on_the_way(int device, uint64_t at, uint64_t bytes, uint64_t operations);
    void counter(const char* name, int device, uint64_t at, const char* series, uint64_t value);
    /// A line about the trace itself: `text` is the inside of a JSON object.
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
    /// Removes a line that was begun, but not ended for lack of memory.
    void begin() noexcept { text_.erase(whole_); }
    void finish() {
        text_ += "},\n";
        whole_ = text_.size();
    }
    void arrow(char phase, const char* category, int process, int64_t thread, uint64_t at, uint64_t lane,
               uint64_t number);
    void meta(const char* what, int process, int64_t thread, std::string_view argument);

    File file_;
    const uint64_t start_;
    std::string text_;
    size_t whole_ = 0;   // bytes of text_ in lines that have ended
    std::set<uint32_t> held_lanes_;
};

}  // namespace gpo::trace
