// The benchmarks' harness: a program is a Bench with rows. A row measures libgpuorch ("ours") and, for comparison, the
// driver or plain code (the "base", if any), in alternating blocks of one process.
//
//     bench.row({.name = "launch", .what = "...", .base = "cuLaunchKernel", .target = ratio_at_most(1.05, 100)},
//               [&](Row& row) { row.pairs([&] { return base_block(); }, [&] { return our_block(); }); });
//
// A *block* repeats enough to make the clock's resolution irrelevant, and returns one figure in the row's unit. A
// *pair* is a block of each arm. In each two pairs, each arm comes first once, in random order, so drift and the effect
// of the predecessor cancel out. A row's answer is the median of the pairs' ratios. The interval is between order
// statistics, without assumptions about the distribution: the median lies between these ranks with a probability of
// 95 % or more (for fewer than six pairs: the whole range).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpo::bench {

/// A row's target. `text`: the target in tables.
struct Target {
    enum Kind { none, ratio_most, ratio_least, difference_most, value_most, value_least };
    Kind kind = none;
    double bound = 0;
    double plus = 0;   // ratio_most: or base + plus, if larger
    std::string text;
};
Target ratio_at_most(double bound, double plus = 0);
Target ratio_at_least(double bound);
Target difference_at_most(double bound);
Target value_at_most(double bound);
Target value_at_least(double bound);

enum Devices : unsigned { on_cuda = 1, on_soft = 2, on_any = 3 };

struct RowSpec {
    const char* name;              // the name for --rows
    const char* what;
    const char* unit = "ns";       // of the figures; "ns" and "ms" are better low, "GB/s" and "M/s" better high
    const char* base = "";         // describes the other arm; "": none
    Target target = {};
    unsigned target_on = on_cuda;  // where the target holds; elsewhere the row shows that the program works
    unsigned devices = on_any;     // where the row makes sense
    double limit_seconds = 0;      // a row that takes longer has failed and ends the program: see Limit. 0: none
};

/// Minimum of pairs for a valid measurement, regardless of their time.
inline constexpr int kFewestPairs = 31;

struct Options {
    std::vector<std::string> rows;  // empty: all
    int pairs = kFewestPairs;
    bool quick = false;             // few pairs of small blocks: does the program work?
    bool list = false;
    std::string json;
    uint64_t seed = 0;
    double row_seconds = 90;        // afterwards a row takes no pairs beyond the minimum
    std::string command;            // the command line
};

double now_ns() noexcept;
inline double million_per_second(size_t count, double ns) { return static_cast<double>(count) * 1e3 / ns; }
/// The folder of this program and of all other parts of the benchmarks.
std::string program_folder();
double median(std::vector<double> values);
/// The value below which `share` of the values lie.
double quantile(std::vector<double> values, double share);

struct Interval {
    double low = 0, high = 0, coverage = 0;
};
/// The interval of the median.
Interval median_interval(std::vector<double> values);

/// Thrown if a row can't be measured here, with the reason.
struct Skip : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Row {
public:
    using Block = std::function<double()>;

    /// Warms both arms up and measures them pair by pair.
    void pairs(const Block& base, const Block& ours);
    /// Measures the library alone, without a base, in as many blocks.
    void alone(const Block& ours);
    /// Adds a note for the reader, shown beside the row.
    void note(std::string text);

    const Options& options;
    const RowSpec& spec;
    /// `full`, or less for --quick.
    template <class T>
    T size(T full, T quick) const { return options.quick ? quick : full; }

private:
    friend class Bench;
    Row(const Options& o, const RowSpec& s, std::mt19937_64& random) : options(o), spec(s), random_(random) {}
    bool out_of_time(int done, double begin);
    std::mt19937_64& random_;
    std::vector<double> base_, ours_;
    std::string notes_;
};

class Bench {
public:
    /// Reads the command line; prints usage and exits if an option is unknown.
    Bench(const char* program, int argc, char** argv);
    /// Measures a row, unless --rows leaves the row out or `devices` excludes this device. An exception of the body
    /// fails the row; the next row goes on.
    void row(const RowSpec& spec, const std::function<void(Row&)>& body);
    /// Writes the JSON. Returns the program's exit code.
    int finish();

    const Options& options() const noexcept { return options_; }
    /// Whether rows run on the software GPU; opens the driver.
    bool software();

private:
    using Machine = std::vector<std::pair<std::string, std::string>>;
    struct Result {
        RowSpec spec;
        std::vector<double> base, ours;
        std::string notes, problem, verdict;
        bool skipped = false;
        double median_base = 0, median_ours = 0, ratio = 0, difference = 0;
        Interval ratio_interval, difference_interval, ours_interval;
        double seconds = 0;
    };
    void evaluate(Result& result);
    void print_header();
    void print(const Result& result) const;
    void write_json(const Machine& machine);
    [[noreturn]] void give_up(const RowSpec& spec);

    const std::string program_;
    Options options_;
    std::mt19937_64 random_;
    std::vector<Result> results_;
    int software_ = -1;
    bool header_printed_ = false;
};

}  // namespace gpo::bench
