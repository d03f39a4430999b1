// Pairs, medians, intervals and verdicts. See pairs.h.
#include "bench/pairs.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/gpu.h"

namespace gpo::bench {

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

bool better_high(const RowSpec& spec) { return std::strchr(spec.unit, '/') != nullptr; }

/// Calls `passed` on its own thread unless destroyed within so many seconds. A driver call on a hung GPU never returns,
/// and neither do the calls to free the row's objects.
class Limit {
public:
    Limit(double seconds, std::function<void()> passed) {
        if (seconds <= 0) return;
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        thread_ = std::thread([this, end, passed = std::move(passed)] {
            std::unique_lock lock(mutex_);
            if (!ended_.wait_until(lock, end, [this] { return over_; })) passed();
        });
    }
    ~Limit() {
        if (!thread_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        ended_.notify_one();
        thread_.join();
    }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace

Target ratio_at_most(double bound, double plus) {
    std::string text = "<= " + number(bound) + "x";
    if (plus > 0) text += " or + " + number(plus) + " ns";
    return {Target::ratio_most, bound, plus, text};
}
Target ratio_at_least(double bound) { return {Target::ratio_least, bound, 0, ">= " + number(bound) + "x"}; }
Target difference_at_most(double bound) { return {Target::difference_most, bound, 0, "<= + " + number(bound) + " ns"}; }
Target value_at_most(double bound) { return {Target::value_most, bound, 0, "<= " + number(bound)}; }
Target value_at_least(double bound) { return {Target::value_least, bound, 0, ">= " + number(bound)}; }

double now_ns() noexcept {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

std::string program_folder() {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) throw std::runtime_error(std::string("/proc/self/exe: ") + std::strerror(errno));
    const std::string path(self, static_cast<size_t>(length));
    return path.substr(0, path.rfind('/'));
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

// The number of values below the true median is binomial with p = 1/2 for any distribution of the values.
Interval median_interval(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    double probability = std::pow(0.5, static_cast<double>(n));  // of exactly `k` values below
    double below = 0;                                            // of fewer than `k`
    size_t k = 0;
    double outside = 0;
    while (k < n / 2 && below + probability <= 0.025) {
        below += probability;
        outside = below;
        probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        ++k;
    }
    if (k == 0) return {values.front(), values.back(), 1 - std::pow(0.5, static_cast<double>(n) - 1)};
    return {values[k - 1], values[n - k], 1 - 2 * outside};
}

void Row::note(std::string text) {
    if (!notes_.empty()) notes_ += "; ";
    notes_ += text;
}

bool Row::out_of_time(int done, double begin) {
    if (done < kFewestPairs || now_ns() - begin <= options.row_seconds * 1e9) return false;
    note("stopped after " + std::to_string(done) + " pairs for time");
    return true;
}

void Row::pairs(const Block& base, const Block& ours) {
    const double begin = now_ns();
    for (int i = 0; i < (options.quick ? 1 : 2); ++i) {
        base();
        ours();
    }
    bool base_first = false;
    for (int i = 0; i < options.pairs; ++i) {
        if (out_of_time(i, begin)) break;
        // In every two successive pairs, each arm runs first in one of them.
        base_first = i % 2 == 0 ? (random_() & 1) != 0 : !base_first;
        if (base_first) {
            base_.push_back(base());
            ours_.push_back(ours());
        } else {
            ours_.push_back(ours());
            base_.push_back(base());
        }
    }
}

void Row::alone(const Block& ours) {
    const double begin = now_ns();
    for (int i = 0; i < (options.quick ? 1 : 2); ++i) ours();
    for (int i = 0; i < options.pairs && !out_of_time(i, begin); ++i) ours_.push_back(ours());
}

Bench::Bench(const char* program, int argc, char** argv) : program_(program) {
    for (int i = 0; i < argc; ++i) options_.command += (i ? " " : "") + std::string(argv[i]);
    bool pairs_given = false;
    const auto usage = [&](const std::string& problem) {
        std::fprintf(
            stderr,
            "%s%s%s [--rows NAME,NAME…] [--pairs N] [--quick] [--json FILE] [--seed N] [--row-seconds S] [--list]\n"
            "GPUORCH_DEVICE=any|soft|cuda|cuda:1 chooses the device.\n",
            problem.c_str(), problem.empty() ? "" : "\n", argv[0]);
        std::exit(problem.empty() ? 0 : 2);
    };
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto value = [&]() -> std::string {
            if (i + 1 >= argc) usage(argument + " needs a value");
            return argv[++i];
        };
        if (argument == "--rows") {
            std::string names = value() + ",";
            for (size_t from = 0, to; (to = names.find(',', from)) != std::string::npos; from = to + 1)
                if (to > from) options_.rows.push_back(names.substr(from, to - from));
        } else if (argument == "--pairs") {
            options_.pairs = std::max(1, std::atoi(value().c_str()));
            pairs_given = true;
        } else if (argument == "--quick") {
            options_.quick = true;
        } else if (argument == "--json") {
            options_.json = value();
        } else if (argument == "--seed") {
            options_.seed = std::strtoull(value().c_str(), nullptr, 0);
        } else if (argument == "--row-seconds") {
            options_.row_seconds = std::atof(value().c_str());
        } else if (argument == "--list") {
            options_.list = true;
        } else {
            usage(argument == "--help" ? "" : "unknown argument " + argument);
        }
    }
    if (options_.quick && !pairs_given) options_.pairs = 5;
    if (!options_.quick && options_.pairs < kFewestPairs)
        usage("a measurement has " + std::to_string(kFewestPairs) + " pairs or more; --quick takes fewer");
    if (options_.seed == 0) options_.seed = std::random_device{}();
    random_.seed(options_.seed);
}

bool Bench::software() {
    if (software_ < 0) software_ = driver_is_software() ? 1 : 0;
    return software_ == 1;
}

void Bench::row(const RowSpec& spec, const std::function<void(Row&)>& body) {
    if (options_.list) {
        std::printf("%-24s %s\n", spec.name, spec.what);
        return;
    }
    if (!options_.rows.empty() &&
        std::find(options_.rows.begin(), options_.rows.end(), spec.name) == options_.rows.end())
        return;
    Result result{};
    result.spec = spec;
    const double begin = now_ns();
    try {
        const Limit limit(spec.limit_seconds, [&] { give_up(spec); });
        if (spec.devices != on_any && !(spec.devices & (software() ? on_soft : on_cuda)))
            throw Skip(spec.devices == on_cuda ? "only on a CUDA device" : "only on the software GPU");
        Row row(options_, spec, random_);
        body(row);
        result.base = std::move(row.base_);
        result.ours = std::move(row.ours_);
        result.notes = std::move(row.notes_);
        if (result.ours.empty()) throw std::runtime_error("measured nothing");
        evaluate(result);
    } catch (const Skip& skip) {
        result.skipped = true;
        result.problem = skip.what();
    } catch (const std::exception& problem) {
        result.problem = problem.what();
    }
    result.seconds = (now_ns() - begin) / 1e9;
    print_header();
    print(result);
    results_.push_back(std::move(result));
}

// The row's thread is inside a call: writes the earlier measurements, without any call of the driver.
void Bench::give_up(const RowSpec& spec) {
    Result result{};
    result.spec = spec;
    result.seconds = spec.limit_seconds;
    result.problem = "no end within " + number(spec.limit_seconds) + " s";
    print(result);
    results_.push_back(std::move(result));
    if (!options_.json.empty()) write_json({{"command", options_.command}});
    std::_Exit(1);
}

void Bench::evaluate(Result& result) {
    const bool paired = result.base.size() == result.ours.size();
    result.median_ours = median(result.ours);
    result.ours_interval = median_interval(result.ours);
    std::vector<double> ratios, differences;
    if (paired) {
        for (size_t i = 0; i < result.ours.size(); ++i) {
            ratios.push_back(result.ours[i] / result.base[i]);
            differences.push_back(result.ours[i] - result.base[i]);
        }
        result.median_base = median(result.base);
        result.ratio = median(ratios);
        result.ratio_interval = median_interval(ratios);
        result.difference = median(differences);
        result.difference_interval = median_interval(differences);
    }
    const Target& target = result.spec.target;
    const bool holds_here = result.spec.target_on == on_any ||
                            (result.spec.target_on & (software() ? on_soft : on_cuda));
    if (target.kind == Target::none || !holds_here) return;
    const auto judge = [&](double value, const Interval& interval, double bound, bool least) {
        const bool met = least ? value >= bound : value <= bound;
        const bool straddles = interval.low < bound && bound < interval.high;
        result.verdict = std::string(met ? "met" : "missed") + (straddles ? " (within the interval)" : "");
    };
    switch (target.kind) {
        case Target::none: break;
        case Target::ratio_most: {
            // The addition counts if it allows more than the ratio.
            const double allowed = std::max((target.bound - 1) * result.median_base, target.plus);
            if (target.plus > 0 && allowed > (target.bound - 1) * result.median_base)
                judge(result.difference, result.difference_interval, allowed, false);
            else
                judge(result.ratio, result.ratio_interval, target.bound, false);
            break;
        }
        case Target::ratio_least: judge(result.ratio, result.ratio_interval, target.bound, true); break;
        case Target::difference_most: judge(result.difference, result.difference_interval, target.bound, false); break;
        case Target::value_most: judge(result.median_ours, result.ours_interval, target.bound, false); break;
        case Target::value_least: judge(result.median_ours, result.ours_interval, target.bound, true); break;
    }
}

int Bench::finish() {
    if (options_.list) return 0;
    if (!options_.json.empty()) write_json(describe_machine(options_.command));
    for (const Result& result : results_)
        if (!result.problem.empty() && !result.skipped) return 1;
    return 0;
}

void Bench::print_header() {
    if (header_printed_) return;
    header_printed_ = true;
    std::printf("%-22s %-5s %11s %11s %6s  %-15s %11s  %-22s %s\n", program_.c_str(), "unit", "base", "ours", "ratio",
                "95 % interval", "difference", "target", "");
}

void Bench::print(const Result& result) const {
    const RowSpec& spec = result.spec;
    if (!result.problem.empty()) {
        std::printf("%-22s %s: %s\n", spec.name, result.skipped ? "skipped" : "FAILED", result.problem.c_str());
        std::fflush(stdout);
        return;
    }
    const auto figure = [](double value) {
        char text[32];
        std::snprintf(text, sizeof text,
                      std::fabs(value) >= 1000 ? "%.0f"
                      : std::fabs(value) >= 10 ? "%.1f"
                                               : "%.3f",
                      value);
        return std::string(text);
    };
    char interval[48] = "";
    std::string base, ratio, difference;
    if (!result.base.empty()) {
        base = figure(result.median_base);
        ratio = figure(result.ratio);
        difference = (result.difference > 0 ? "+" : "") + figure(result.difference);
        std::snprintf(interval, sizeof interval, "%.3f .. %.3f", result.ratio_interval.low, result.ratio_interval.high);
    } else {
        std::snprintf(interval, sizeof interval, "%s .. %s", figure(result.ours_interval.low).c_str(),
                      figure(result.ours_interval.high).c_str());
    }
    std::printf("%-22s %-5s %11s %11s %6s  %-15s %11s  %-22s %s%s%s\n", spec.name, spec.unit, base.c_str(),
                figure(result.median_ours).c_str(), ratio.c_str(), interval, difference.c_str(),
                result.verdict.empty() ? "" : spec.target.text.c_str(), result.verdict.c_str(),
                result.notes.empty() ? "" : "  ", result.notes.c_str());
    std::fflush(stdout);
}

namespace {

class Json {
public:
    explicit Json(std::FILE* file) : file_(file) {}
    void key(const char* name) {
        comma();
        std::fprintf(file_, "\"%s\":", name);
        fresh_ = true;
    }
    void open(char bracket) {
        comma();
        std::fputc(bracket, file_);
        fresh_ = true;
    }
    void close(char bracket) {
        std::fputc(bracket, file_);
        fresh_ = false;
    }
    void text(const std::string& value) {
        comma();
        std::fputc('"', file_);
        for (const char c : value) {
            if (c == '"' || c == '\\') std::fprintf(file_, "\\%c", c);
            else if (static_cast<unsigned char>(c) < 0x20) std::fprintf(file_, "\\u%04x", static_cast<unsigned>(c));
            else std::fputc(c, file_);
        }
        std::fputc('"', file_);
    }
    void value(double number) {
        comma();
        if (std::isfinite(number)) std::fprintf(file_, "%.6g", number);
        else std::fputs("null", file_);
    }
    void field(const char* name, const std::string& value) { key(name), text(value); }
    void field(const char* name, double number) { key(name), value(number); }
    void field(const char* name, const Interval& interval) {
        key(name), open('['), value(interval.low), value(interval.high), close(']');
    }
    void field(const char* name, const std::vector<double>& numbers) {
        key(name), open('[');
        for (const double number : numbers) value(number);
        close(']');
    }

private:
    void comma() {
        if (!fresh_) std::fputs(",\n", file_);
        fresh_ = false;
    }
    std::FILE* file_;
    bool fresh_ = true;
};

}  // namespace

void Bench::write_json(const Machine& machine) {
    std::FILE* file = std::fopen(options_.json.c_str(), "w");
    if (!file) throw std::runtime_error("can't write " + options_.json + ": " + std::strerror(errno));
    Json json(file);
    json.open('{');
    json.field("program", program_);
    json.key("machine"), json.open('{');
    for (const auto& [name, value] : machine) json.field(name.c_str(), value);
    json.close('}');
    json.field("seed", std::to_string(options_.seed));
    json.field("quick", options_.quick ? 1.0 : 0.0);
    json.key("rows"), json.open('[');
    for (const Result& result : results_) {
        json.open('{');
        json.field("name", std::string(result.spec.name));
        json.field("what", std::string(result.spec.what));
        json.field("unit", std::string(result.spec.unit));
        json.field("better", std::string(better_high(result.spec) ? "high" : "low"));
        json.field("base", std::string(result.spec.base));
        json.field("seconds", result.seconds);
        if (!result.problem.empty()) {
            json.field(result.skipped ? "skipped" : "failed", result.problem);
            json.close('}');
            continue;
        }
        json.field("pairs", static_cast<double>(result.ours.size()));
        json.field("ours_median", result.median_ours);
        json.field("ours_interval", result.ours_interval);
        if (!result.base.empty()) {
            json.field("base_median", result.median_base);
            json.field("ratio", result.ratio);
            json.field("ratio_interval", result.ratio_interval);
            json.field("difference", result.difference);
            json.field("difference_interval", result.difference_interval);
        }
        json.field("coverage", result.ours_interval.coverage);
        json.field("target", result.verdict.empty() ? "" : result.spec.target.text);
        json.field("verdict", result.verdict);
        json.field("notes", result.notes);
        json.field("base_blocks", result.base);
        json.field("ours_blocks", result.ours);
        json.close('}');
    }
    json.close(']');
    json.close('}');
    std::fputc('\n', file);
    if (std::fclose(file) != 0) throw std::runtime_error("can't write " + options_.json + ": " + std::strerror(errno));
}

}  // namespace gpo::bench
