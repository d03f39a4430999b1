// stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU where
// there is none. A kernel (stream_files.cu, beside the program) counts the bytes of each chunk, maps them by a table of
// 256 (by default the complement) and takes the CRC-32; the pipeline reads, copies and writes meanwhile. Without files
// it takes the machine's largest. -o writes the mapped files, --trace a picture of what happened, timeline.svg, and
// trace.json for ui.perfetto.dev.
#include <gpuorch/gpuorch.hpp>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#define __device__ inline
#include "../stream_files.cu"  // what the kernel shares with its host: Result, Tables, multiply, with_zeros

namespace fs = std::filesystem;
namespace chunk = gpuorch::chunk;

static Tables tables;
static volatile std::sig_atomic_t interrupted;
static bool writable = true;  // the standard output

struct Figures {  // of a file, or of all
    Result sum{};
    double bytes = 0, elapsed = 0, copied = 0, hidden = 0;
    void add(const Figures& next) {
        for (int i = 0; i < 256; ++i) sum.histogram[i] += next.sum.histogram[i];
        sum.crc = with_zeros(sum.crc, static_cast<std::uint64_t>(next.bytes), tables.powers) ^ next.sum.crc;
        bytes += next.bytes, elapsed += next.elapsed, copied += next.copied, hidden += next.hidden;
    }
};

static void show(const std::string& line) {  // on a terminal, over the line before
    if (isatty(2)) std::fprintf(stderr, "\r\033[K%s", line.c_str());
}
static int end(int code, const std::string& why) {
    return show(""), std::fprintf(stderr, "stream_files: %s\n", why.c_str()), code;
}
static void print(const std::string& name, const Figures& f) {
    double entropy = 0;
    for (const auto count : f.sum.histogram)
        if (const double share = static_cast<double>(count) / f.bytes; count != 0) entropy -= share * std::log2(share);
    const unsigned crc = with_zeros(~0u, static_cast<std::uint64_t>(f.bytes), tables.powers) ^ f.sum.crc ^ ~0u;
    std::printf("%s: %.0f bytes, entropy %.4f, CRC-32 %08x, %.2f GB/s, %.0f %% of copying hidden\n", name.c_str(),
                f.bytes, entropy, crc, f.bytes > 0 ? f.bytes / f.elapsed : 0,
                f.copied > 0 ? 100 * f.hidden / f.copied : 0);
    if (std::fflush(stdout) != 0 && std::exchange(writable, false)) std::perror("stream_files: standard output");
}
static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static int stream_file(gpuorch::pipeline& pipeline, const std::string& path, const std::string& folder,
                       Figures& total) try {
    const fs::path target = folder.empty() ? fs::path() : folder / fs::path(path).filename();
    std::error_code none;
    if (fs::equivalent(path, target, none)) return end(1, path + ": it would be written over itself");
    if (fs::is_regular_file(path, none) && fs::is_empty(path, none) && read(path).empty())  // else one of /proc
        return end(1, path + ": it is empty");
    Figures f;
    const auto take = [&](const gpo_chunk& done) {  // called for each chunk, in order
        f.add({*static_cast<const Result*>(done.result), static_cast<double>(done.bytes)});
    };
    pipeline.start(gpuorch::from_file(path).unchanged(),
                   folder.empty() ? gpuorch::to_callable(take) : gpuorch::to_file(target).take(take));
    const auto run = pipeline.wait(std::chrono::milliseconds(100), [&](const gpo_pipeline_progress& now) {
        if (interrupted) pipeline.cancel();
        const auto megabytes = [](std::uint64_t bytes) { return std::to_string((bytes + 500000) / 1000000); };
        show(path + ": " + megabytes(now.bytes_done) + " of " + megabytes(now.bytes_total) + " MB");
    });
    show("");
    f.add({{}, 0, double(run.elapsed_ns), double(run.copy_in_ns + run.copy_out_ns), double(run.copy_hidden_ns)});
    return print(path, f), total.add(f), 0;
} catch (const gpuorch::error& error) {
    return end(1, path + ": " + error.message());
}

static std::vector<std::string> largest() {
    constexpr char command[] =
        "find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\\t%p\\n' 2>/dev/null | sort -rn | "
        "awk -F '\\t' '{ n = $2; sub(/.*\\//, \"\", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }'";
    const auto list = popen(command, "r");
    std::vector<std::string> files;
    for (char line[8192]; list && std::fgets(line, sizeof line, list);) files.emplace_back(line, std::strlen(line) - 1);
    return list ? pclose(list) : 0, files;
}

int main(int count, char** words) try {
    std::map<std::string, std::string> options{{"-o", ""}, {"--table", ""}, {"--trace", ""}}, named;
    int next = 1;
    for (; next < count && words[next][0] == '-'; next += 2) {
        if (!options.count(words[next]) || next + 1 == count || !*words[next + 1])
            return std::fputs("usage: stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...\n", stderr), 2;
        options[words[next]] = words[next + 1];
    }
    const std::string &folder = options["-o"], &table = options["--table"], &trace = options["--trace"];
    const auto files = next == count ? largest() : std::vector<std::string>(words + next, words + count);
    if (std::error_code none; !folder.empty()) fs::create_directory(folder, none);  // the library says what is wrong
    for (const auto& file : files)
        if (const auto [first, is_new] = named.emplace(fs::path(file).filename(), file); !folder.empty() && !is_new)
            return end(2, first->second + " and " + file + " would be one in " + folder);
    for (int i = 0; i < 256; ++i) tables.map[i] = static_cast<unsigned char>(~i);
    for (int k = 0; k < 32; ++k) tables.powers[k] = k ? multiply(tables.powers[k - 1], tables.powers[k - 1]) : 1u << 23;
    if (const auto map = read(table); map.size() == 256) map.copy(reinterpret_cast<char*>(tables.map), 256);
    else if (!table.empty()) return end(2, table + " is not a file of 256 bytes");
    struct sigaction once{};
    once.sa_handler = [](int number) { interrupted = number; };
    once.sa_flags = SA_RESETHAND;  // the second of a kind kills
    std::signal(SIGPIPE, SIG_IGN);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})  // a SIGHUP that nohup ignores stays ignored
        if (number != SIGHUP || std::signal(number, SIG_IGN) != SIG_IGN) sigaction(number, &once, nullptr);

    const auto runtime = gpuorch::runtime::create();
    const auto device = runtime.open_device();
    const auto source = read(fs::read_symlink("/proc/self/exe").replace_filename("stream_files.cu"));
    const auto kernel = device.compile(source).kernel("stream_files");
    auto stage = gpuorch::kernel_stage(kernel, chunk::input, chunk::output, chunk::result, chunk::input_bytes, tables);
    gpo_pipeline_options settings{};
    settings.flags = GPO_PIPELINE_TIMES, settings.result_bytes = sizeof(Result);
    auto pipeline = device.create_pipeline({stage.block(64).bytes_per_block(64 << 10)}, settings);
    if (!trace.empty()) runtime.start_trace(trace + "/trace.json", trace + "/timeline.svg");
    std::printf("device: %s\n", device.properties().name);
    Figures total;
    int failed = 0;
    for (const auto& file : files)
        if (!interrupted && (!folder.empty() || writable)) failed |= stream_file(pipeline, file, folder, total);
    print("total", total);
    if (!trace.empty()) {
        runtime.stop_trace();
        std::printf("trace: %s/timeline.svg, %s/trace.json\n", trace.c_str(), trace.c_str());
    }
    return interrupted ? 128 + interrupted : failed || !writable;
} catch (const std::exception& error) {
    return end(1, error.what());
}
