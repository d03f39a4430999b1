// Kernels' inputs and outputs beside memory: the device's clock, and printf, which comes out on the process's stdout.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <stdio.h>
extern "C" __global__ void say(int n) { printf("thread %d of %s: %5.2f\n", (int)threadIdx.x, "block", n * 0.5); }
extern "C" __global__ void say_together() {
    printf("a%d\n", threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) printf("b %c %u %lld %x %s%%\n", 'x', 4000000000u, -5000000000ll, 255, "100");
}
extern "C" __global__ void wait_cycles(long long *took, long long cycles) {
    long long begin = clock64(), now = begin;
    while (now - begin < cycles) now = clock64();
    took[threadIdx.x] = now - begin;
}
)";

/// Catches the process's stdout from construction to `end`.
class Stdout {
public:
    Stdout() {
        fflush(stdout);
        char path[] = "/tmp/gpuorch-test-stdout-XXXXXX";
        const int file = mkstemp(path);
        REQUIRE(file >= 0);
        unlink(path);
        before_ = dup(STDOUT_FILENO);
        REQUIRE(dup2(file, STDOUT_FILENO) >= 0);
        close(file);
    }
    ~Stdout() { end(); }
    std::string end() {
        if (before_ < 0) return {};
        fflush(stdout);
        std::string text(static_cast<size_t>(lseek(STDOUT_FILENO, 0, SEEK_END)), '\0');
        const ssize_t got = pread(STDOUT_FILENO, text.data(), text.size(), 0);
        dup2(before_, STDOUT_FILENO);
        close(before_);
        before_ = -1;
        CHECK(got == static_cast<ssize_t>(text.size()));
        return text;
    }

private:
    int before_ = -1;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        lines.push_back(text.substr(begin, end - begin));
    return lines;
}

}  // namespace

TEST_CASE("what kernels print is on stdout once the runtime is shut down, each thread's lines in order") {
    std::string text;
    {
        Stdout out;
        {
            Program program(kKernels);
            program.run("say", shape_of(1, 3), 3);
            program.run("say_together", shape_of(1, 40));
        }
        text = out.end();
    }
    std::vector<std::string> lines = lines_of(text);
    REQUIRE(lines.size() == 3 + 40 + 1);
    // Threads that don't wait for one another may print in any order.
    std::sort(lines.begin(), lines.begin() + 3);
    for (int i = 0; i < 3; ++i) CHECK(lines[i] == "thread " + std::to_string(i) + " of block:  1.50");
    CHECK(lines.back() == "b x 4000000000 -5000000000 ff 100%");
    std::vector<int> threads;
    for (int i = 3; i < 43; ++i) {
        REQUIRE(lines[i][0] == 'a');
        threads.push_back(std::atoi(lines[i].c_str() + 1));
    }
    std::sort(threads.begin(), threads.end());
    for (int i = 0; i < 40; ++i) CHECK(threads[i] == i);
}

TEST_CASE("printf returns the number of its arguments, and -1 where it has no format") {
    std::vector<int> out(3);
    Stdout text;
    {
        Program program(R"(
extern "C" __global__ void counts(int *out, const char *nothing) {
    out[0] = printf("nothing\n");
    out[1] = printf("%d of %s, %f\n", 1, "block", 2.5f);
    out[2] = printf(nothing);
}
)");
        program.run("counts", single(), out, uint64_t{0});
    }
    CHECK(text.end() == "nothing\n1 of block, 2.500000\n");
    CHECK(out == std::vector<int>{0, 3, -1});
}

TEST_CASE("a kernel that waits for its clock ends") {
    Program program(kKernels);
    std::vector<long long> took(33);
    program.run("wait_cycles", shape_of(1, 33), took, 100000ll);
    for (const long long ticks : took) CHECK(ticks >= 100000);
}
