// A runtime is opened and shut down many times: memory, threads and descriptors stay as they were.
// RUN: bare
// RUN: worked
// TIMEOUT: 1200
#include "process/process.h"

using namespace gpo::test;

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const bool bare = std::string(argv[1]) == "bare";
    const int turns = bare ? (full() ? 100'000 : 2'000) : (full() ? 10'000 : 100);
    int descriptors_before = 0, threads_before = 0;
    long resident_before = 0;
    for (int turn = 0; turn < turns; ++turn) {
        if (bare) {
            gpo_runtime_t runtime = nullptr;
            EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
            EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
        } else {
            Opened a;
            a.check_works();
            a.shut_down();
        }
        if (turn == turns / 4) {
            descriptors_before = descriptors();
            threads_before = threads();
            resident_before = resident();
        }
    }
    EXPECT(descriptors() == descriptors_before);
    EXPECT(threads() == threads_before);
    const long grown = resident() - resident_before;
    std::printf("%d turns: %ld KiB more\n", turns * 3 / 4, grown / 1024);
    EXPECT(grown < 4 << 20);
    return 0;
}
