// The main job (samples/c/stream_files.c) over files in the page cache: against the same readers without a GPU, and, on
// the software GPU, against a plain loop with the same work. The main job in other languages runs against C's if the
// environment has the command: GPUORCH_BENCH_PYTHON, _RUST, _LUA or _LUAJIT.
// LINK: objects
#include <fcntl.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <sstream>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "pipeline/team.h"

extern char** environ;

using namespace gpo::bench;

namespace {

[[noreturn]] void fail_errno(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

class File {
public:
    File(const std::string& path, int flags) : number(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        if (number < 0) fail_errno(path);
    }
    ~File() { close(number); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const int number;
};

/// Files of random bytes in memory, deleted by the destructor: in tmpfs if there is room, else in a folder in the page
/// cache, because it was just written.
class Files {
public:
    Files(int count, uint64_t bytes_each) : bytes_each_(bytes_each) {
        const uint64_t bytes = bytes_each * static_cast<uint64_t>(count);
        for (const char* const parent : {"/dev/shm", "/tmp"}) {
            struct statvfs room;
            if (statvfs(parent, &room) != 0 || uint64_t{room.f_bavail} * room.f_frsize < bytes + (bytes >> 3)) continue;
            folder_ = std::string(parent) + "/gpuorch-bench-XXXXXX";
            if (!mkdtemp(folder_.data())) fail_errno(folder_);
            break;
        }
        if (folder_.empty())
            throw Skip("no room for " + std::to_string(bytes >> 20) + " MiB of files in /dev/shm or /tmp");
        std::mt19937_64 random(3);
        std::vector<uint64_t> block((8 << 20) / 8);
        for (uint64_t& word : block) word = random() & 0x7f7f7f7f0fffffff;  // byte values of unequal frequency
        try {
            for (int i = 0; i < count; ++i) {
                paths.push_back(folder_ + "/" + std::to_string(i));
                const File file(paths.back(), O_WRONLY | O_CREAT | O_EXCL);
                for (uint64_t at = 0; at < bytes_each;) {
                    block[0] = at + static_cast<uint64_t>(i);
                    const uint64_t want = std::min<uint64_t>(block.size() * 8, bytes_each - at);
                    const ssize_t put = write(file.number, block.data(), want);
                    if (put <= 0) fail_errno(paths.back());
                    at += static_cast<uint64_t>(put);
                }
            }
        } catch (...) {
            remove();
            throw;
        }
    }
    ~Files() { remove(); }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;

    uint64_t bytes() const { return bytes_each_ * paths.size(); }
    std::vector<std::string> paths;

private:
    void remove() noexcept {
        for (const std::string& path : paths) unlink(path.c_str());
        rmdir(folder_.c_str());
    }
    std::string folder_;
    const uint64_t bytes_each_;
};

/// The sample's path: in this program's folder.
std::string sample() {
    if (const char* const given = std::getenv("GPUORCH_BENCH_SAMPLE")) return given;
    const std::string path = program_folder() + "/stream_files";
    if (access(path.c_str(), X_OK) != 0) throw Skip("the sample is not there: " + path);
    return path;
}

struct SampleRun {
    double gigabytes_per_s = 0;  // as the sample prints it: the rate while the pipeline ran
    double seconds = 0;          // of the whole process
    std::string total;           // its last line
};

/// `command`: a program and, behind spaces, the arguments in front of the files.
SampleRun run_sample(const std::string& command, const Files& files) {
    std::istringstream text(command);
    std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    const std::string& program = words.at(0);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    for (const std::string& path : files.paths) arguments.push_back(const_cast<char*>(path.c_str()));
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail_errno("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    const double begin = now_ns();
    pid_t child = 0;
    const int problem = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (problem != 0) {
        close(ends[0]);
        errno = problem;
        fail_errno(program);
    }
    std::string output;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        output.append(buffer, static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    SampleRun run;
    run.seconds = (now_ns() - begin) / 1e9;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(program + " failed: " + output);
    const size_t total = output.rfind("total: ");
    const size_t speed = total == std::string::npos ? total : output.find(" GB/s", total);
    if (speed == std::string::npos) throw std::runtime_error(program + " says no total: " + output);
    run.total = output.substr(total, output.find('\n', total) - total);
    run.gigabytes_per_s = std::atof(output.c_str() + output.rfind(' ', speed - 1));
    return run;
}

/// Reads like a pipeline's source: a chunk at a time, with as many threads, into a few buffers in turn.
double read_only(const Files& files, gpo::pipeline::Team& team, std::vector<char>& buffers, uint64_t chunk) {
    const double begin = now_ns();
    for (const std::string& path : files.paths) {
        const File file(path, O_RDONLY);
        posix_fadvise(file.number, 0, 0, POSIX_FADV_SEQUENTIAL);
        const auto size = static_cast<uint64_t>(lseek(file.number, 0, SEEK_END));
        std::atomic<bool> failed{false};
        for (uint64_t at = 0; at < size; at += chunk) {
            char* const buffer = buffers.data() + at / chunk % (buffers.size() / chunk) * chunk;
            team.run(std::min(chunk, size - at), [&](uint64_t offset, uint64_t bytes) {
                while (bytes != 0) {
                    const ssize_t got = pread(file.number, buffer + offset, bytes, static_cast<off_t>(at + offset));
                    if (got <= 0) return failed.store(true);
                    offset += static_cast<uint64_t>(got);
                    bytes -= static_cast<uint64_t>(got);
                }
            });
        }
        if (failed) throw std::runtime_error(path + " can't be read");
    }
    return static_cast<double>(files.bytes()) / (now_ns() - begin);
}

/// The main job's work on a file, in code that ignores speed: read, histogram, map, CRC-32 by table.
class PlainLoop {
public:
    PlainLoop() {
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t crc = i;
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
            crc_table_[i] = crc;
            map_[i] = static_cast<unsigned char>(~i);
        }
    }
    /// The CRC-32 of all files' mapped bytes, one behind the other.
    uint32_t run(const Files& files) {
        uint32_t crc = ~0u;
        histogram_.fill(0);
        for (const std::string& path : files.paths) {
            const File file(path, O_RDONLY);
            for (ssize_t got; (got = read(file.number, in_.data(), in_.size())) != 0;) {
                if (got < 0) fail_errno(path);
                for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
                    const unsigned char byte = in_[i], mapped = map_[byte];
                    ++histogram_[byte];
                    out_[i] = mapped;
                    crc = crc >> 8 ^ crc_table_[(crc ^ mapped) & 255];
                }
            }
        }
        return ~crc;
    }

private:
    std::array<uint32_t, 256> crc_table_{};
    std::array<unsigned char, 256> map_{};
    std::array<uint64_t, 256> histogram_{};
    std::vector<unsigned char> in_ = std::vector<unsigned char>(1 << 20), out_ = std::vector<unsigned char>(1 << 20);
};

std::string whole_process(const std::vector<double>& seconds) {
    char text[64];
    std::snprintf(text, sizeof text, "whole process %.2f s", median(seconds));
    return text;
}

void against_readers(Row& row) {
    const std::string program = sample();
    const Files files(row.size(8, 4), row.size(uint64_t{1} << 30, uint64_t{8} << 20));
    const uint64_t chunk = 8 << 20;
    std::vector<char> buffers(8 * chunk, 1);
    gpo::pipeline::Team team("bench-read", gpo::pipeline::team_helpers());
    std::vector<double> seconds;
    std::string total;
    row.pairs([&] { return read_only(files, team, buffers, chunk); },
              [&] {
                  const SampleRun run = run_sample(program, files);
                  seconds.push_back(run.seconds);
                  total = run.total;
                  return run.gigabytes_per_s;
              });
    row.note(whole_process(seconds));
    row.note(total);
}

void against_loop(Row& row) {
    const std::string program = sample();
    const Files files(row.size(8, 4), row.size(uint64_t{32} << 20, uint64_t{8} << 20));
    PlainLoop loop;
    std::vector<double> seconds;
    std::string total;
    uint32_t crc = 0;
    row.pairs(
        [&] {
            const double begin = now_ns();
            crc = loop.run(files);
            return static_cast<double>(files.bytes()) / (now_ns() - begin);
        },
        [&] {
            const SampleRun run = run_sample(program, files);
            seconds.push_back(run.seconds);
            total = run.total;
            return run.gigabytes_per_s;
        });
    char text[32];
    std::snprintf(text, sizeof text, "CRC-32 %08x", crc);
    if (total.find(text) == std::string::npos)
        throw std::runtime_error("the loop has " + std::string(text) + ", the sample " + total);
    row.note(whole_process(seconds));
    row.note(total);
}

/// The part of a total that is the same in every language: all before the speed.
std::string figures_of(const std::string& total) { return total.substr(0, total.rfind(',', total.find(" GB/s"))); }

/// Compares the programs' own figures: the library's time from the start of the pipeline's runs to their ends. The note
/// has the times of the whole processes, with interpreter and device.
void against_c(Row& row, const std::string& command) {
    const std::string in_c = sample();
    const Files files(row.size(8, 4), row.size(uint64_t{1} << 30, uint64_t{8} << 20));
    std::vector<double> seconds_in_c, seconds;
    std::string total_in_c, total;
    const auto arm = [&](const std::string& program, std::vector<double>& lasted, std::string& said) {
        return [&] {
            const SampleRun run = run_sample(program, files);
            lasted.push_back(run.seconds);
            said = run.total;
            return run.gigabytes_per_s;
        };
    };
    row.pairs(arm(in_c, seconds_in_c, total_in_c), arm(command, seconds, total));
    if (figures_of(total) != figures_of(total_in_c))
        throw std::runtime_error("C says " + total_in_c + ", " + command + " says " + total);
    row.note(whole_process(seconds) + ", of C's " + whole_process(seconds_in_c).substr(std::strlen("whole process ")));
    row.note(total);
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("files", argc, argv);
    bench.row({.name = "main_job", .what = "main job over 8 GiB of files in the page cache", .unit = "GB/s",
               .base = "the same readers, no GPU", .target = ratio_at_least(0.8)},
              against_readers);
    bench.row({.name = "soft_main_job", .what = "main job over 256 MiB of files in the page cache", .unit = "GB/s",
               .base = "plain loop, one thread", .target = ratio_at_least(1), .target_on = on_soft, .devices = on_soft},
              against_loop);
    // Pairs of the same program: the part of a difference that no language causes.
    bench.row({.name = "main_job_c", .what = "main job in C, over 8 GiB of files in the page cache", .unit = "GB/s",
               .base = "the same program"},
              [](Row& row) { against_c(row, sample()); });
    static constexpr struct {
        const char *variable, *row;
    } languages[] = {{"GPUORCH_BENCH_PYTHON", "main_job_python"},
                     {"GPUORCH_BENCH_RUST", "main_job_rust"},
                     {"GPUORCH_BENCH_LUA", "main_job_lua"},
                     {"GPUORCH_BENCH_LUAJIT", "main_job_luajit"}};
    for (const auto& language : languages)
        if (const char* const command = std::getenv(language.variable))
            bench.row({.name = language.row,
                       .what = "main job in another language over 8 GiB of files in the page cache",
                       .unit = "GB/s",
                       .base = "the same in C",
                       .target = ratio_at_least(0.97)},
                      [command](Row& row) { against_c(row, command); });
    return bench.finish();
}
