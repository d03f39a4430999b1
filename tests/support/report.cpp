// Reports to the runner, one line at a time, in the file named by GPUORCH_TEST_REPORT:
//     start NAME | pass NAME | fail NAME | empty NAME | skip NAME: REASON
// `empty` is a test that neither asserts nor skips anything: it couldn't fail. A crash leaves a start without an end,
// which names the test to the runner.
#include "support/report.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

namespace gpo::test {

namespace {

std::string running;           // the test case; set by the reporter on the main thread
bool skipped = false;          // the test called skip()
std::mutex reporting;          // any thread of a test may skip

void line(const char* kind, const std::string& text) {
    static std::FILE* const file = [] {
        const char* path = std::getenv("GPUORCH_TEST_REPORT");
        return path != nullptr ? std::fopen(path, "ae") : nullptr;
    }();
    if (file == nullptr) return;
    std::string one_line = text;
    for (char& letter : one_line)
        if (letter == '\n') letter = ' ';
    std::fprintf(file, "%s %s\n", kind, one_line.c_str());
    std::fflush(file);
}

/// Whether the program and the library use one C++ runtime. With a static C++ runtime, the program's own count of
/// uncaught exceptions stays too high after the library catches the program's exception.
bool shares_runtime() {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(&std::uncaught_exceptions), &info) && info.dli_fname;
    return known && std::strstr(info.dli_fname, "libstdc++.so") != nullptr;
}

struct Report : doctest::IReporter {
    explicit Report(const doctest::ContextOptions&) {}

    void test_case_start(const doctest::TestCaseData& test) override {
        const std::lock_guard lock(reporting);
        running = test.m_name;
        skipped = false;
        in_flight_ = std::uncaught_exceptions();
        line("start", running);
    }

    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        const std::lock_guard lock(reporting);
        // An exception of the test may still be in flight: from now on destructors would take it for their own.
        const bool left = shares_runtime() && std::uncaught_exceptions() != in_flight_;
        if (left)
            std::printf("%s: %d exceptions are in flight behind it, %d before\n", running.c_str(),
                        std::uncaught_exceptions(), in_flight_);
        if (!stats.testCaseSuccess || left) {
            line("fail", running);
        } else if (skipped) {
            line("end", running);
        } else {
            line(stats.numAssertsCurrentTest == 0 ? "empty" : "pass", running);
        }
    }

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override { line("finish", ""); }
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}

private:
    int in_flight_ = 0;   // exceptions, on the main thread, when the test began
};

REGISTER_LISTENER("runner", 1, Report);

}  // namespace

void skip(const std::string& reason, const std::string& what) {
    const std::lock_guard lock(reporting);
    const std::string name = what.empty() ? running : running + " / " + what;
    skipped = skipped || what.empty();
    std::printf("SKIP %s: %s\n", name.c_str(), reason.c_str());
    std::fflush(stdout);
    line("skip", name + ": " + reason);
}

std::string test_file(const std::string& name) {
    const char* folder = std::getenv("GPUORCH_TEST_FILES");
    return std::string(folder != nullptr ? folder : GPUORCH_TEST_FILES) + "/" + name;
}

}  // namespace gpo::test
