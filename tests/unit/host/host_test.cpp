// The host seam on the real machine: clock, parking, mutex, condition, threads, processes.
#include <doctest/doctest.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "host/host.h"
#include "support/report.h"

using namespace gpo::host;

TEST_CASE("the clock is steady and deadlines saturate") {
    const uint64_t first = now(), second = now();
    CHECK(first > 0);
    CHECK(second >= first);
    CHECK(deadline_after(-1) == kForever);
    CHECK(deadline_after(INT64_MIN) == kForever);
    CHECK(deadline_after(0) >= second);
    CHECK(deadline_after(INT64_MAX) > static_cast<uint64_t>(INT64_MAX));
}

TEST_CASE("a wait returns at once when the word differs, and with false when its deadline has passed") {
    const std::atomic<uint32_t> word{5};
    CHECK(wait(word, 4));
    CHECK(wait(word, 4, 0));
    CHECK_FALSE(wait(word, 5, 0));
    const uint64_t deadline = now() + 2'000'000;
    while (wait(word, 5, deadline)) {
    }
    CHECK(now() >= deadline);
    sleep_until(now() + 1'000'000);
}

TEST_CASE("waiters are woken, one or all") {
    std::atomic<uint32_t> word{0};
    std::atomic<int> through{0};
    std::vector<Thread> waiters;
    for (int i = 0; i < 4; ++i)
        waiters.emplace_back("waiter", [&] {
            while (word.load() == 0) wait(word, 0);
            ++through;
        });
    word = 1;
    wake_one(word);
    wake_all(word);
    waiters.clear();
    CHECK(through == 4);
}

TEST_CASE("a mutex excludes under contention") {
    Mutex mutex;
    int counter = 0;
    {
        std::vector<Thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back("adder", [&] {
                for (int turn = 0; turn < 20'000; ++turn) {
                    const Lock lock(mutex);
                    ++counter;
                }
            });
    }
    CHECK(counter == 80'000);
    CHECK(mutex.try_lock());
    CHECK_FALSE(mutex.try_lock());
    mutex.unlock();
}

TEST_CASE("a condition hands a ball back and forth, and a timed wait ends") {
    Mutex mutex;
    Condition moved;
    int ball = 0;
    {
        auto play = [&](int side) {
            for (int turn = 0; turn < 2'000; ++turn) {
                Lock lock(mutex);
                moved.wait(lock, kForever, [&] { return ball % 2 == side; });
                ++ball;
                moved.notify_one();
            }
        };
        Thread ping("ping", [&] { play(0); }), pong("pong", [&] { play(1); });
    }
    CHECK(ball == 4'000);
    Lock lock(mutex);
    const uint64_t deadline = now() + 1'000'000;
    CHECK_FALSE(moved.wait(lock, deadline, [] { return false; }));
    CHECK(now() >= deadline);
    CHECK(lock.owns_lock());
}

TEST_CASE("a signal storm does not stretch a timed wait, nor end it") {
    struct sigaction quiet {}, before {};
    quiet.sa_handler = [](int) {};
    sigaction(SIGUSR1, &quiet, &before);
    std::atomic<bool> over{false};
    const pthread_t target = pthread_self();
    std::thread storm([&] {
        while (!over) {
            pthread_kill(target, SIGUSR1);
            std::this_thread::yield();
        }
    });
    const std::atomic<uint32_t> word{0};
    const uint64_t deadline = now() + 20'000'000;
    CHECK_FALSE(wait(word, 0, deadline));
    CHECK(now() >= deadline);
    over = true;
    storm.join();
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a thread has its name, all asynchronous signals blocked, and knows itself") {
    char name[16]{};
    sigset_t blocked;
    sigset_t mine_before, mine_after;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine_before);
    std::atomic<bool> current{false};
    std::atomic<uint32_t> go{0};
    Thread thread;
    CHECK_FALSE(thread.joinable());
    thread = Thread("a name longer than fifteen", [&] {
        pthread_getname_np(pthread_self(), name, sizeof name);
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        while (go.load() == 0) wait(go, 0);
        current = thread.is_current();
    });
    CHECK(thread.joinable());
    CHECK_FALSE(thread.is_current());
    go = 1;
    wake_all(go);
    thread.join();
    CHECK_FALSE(thread.joinable());
    CHECK(std::strcmp(name, "a name longer t") == 0);
    CHECK(current);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGUSR1, SIGPROF})
        CHECK(sigismember(&blocked, signal) == 1);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) CHECK(sigismember(&blocked, signal) == 0);
    pthread_sigmask(SIG_SETMASK, nullptr, &mine_after);
    CHECK(sigismember(&mine_after, SIGTERM) == sigismember(&mine_before, SIGTERM));
}

TEST_CASE("what a thread captured is gone when it has been joined") {
    auto owned = std::make_shared<int>(1);
    Thread thread("owner", [owned] {});
    thread.join();
    CHECK(owned.use_count() == 1);
}

TEST_CASE("processors honours the affinity of the caller") {
    cpu_set_t before, one;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CHECK(processors() >= 1);
    CHECK(processors() <= static_cast<unsigned>(CPU_COUNT(&before)));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(processors() == 1);
    sched_setaffinity(0, sizeof before, &before);
}

TEST_CASE("a forked child knows that it is one, and letting go of its parent's threads does not hang it") {
    std::atomic<uint32_t> stop{0};
    auto thread = std::make_unique<Thread>("stays", [&] {
        while (stop.load() == 0) wait(stop, 0);
    });
    CHECK_FALSE(forked());
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(10);
        const bool known = forked();
        thread.reset();
        bool ran = false;
#if defined(__SANITIZE_THREAD__)
        ran = true;  // TSan allows no thread in the child of a process that had several
#else
        Thread own("the child's own", [&] { ran = true; });
        own.join();
#endif
        _exit(known && ran ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK_FALSE(forked());
    stop = 1;
    wake_all(stop);
}

TEST_CASE("a thread that can't be started is a std::system_error") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    gpo::test::skip("sanitizers need the address space that this test takes away");
#else
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // No room for another stack (this limit holds for root too); the first few threads may reuse old stacks.
        const rlimit none{1, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &none);
        static std::atomic<uint32_t> stop{0};
        static Thread threads[64];
        try {
            for (Thread& thread : threads)
                thread = Thread("one too many", [] {
                    while (stop.load() == 0) wait(stop, 0);
                });
        } catch (const std::system_error&) {
            _exit(0);
        }
        _exit(1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
#endif
}
