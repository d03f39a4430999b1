// Shared by tests of graph templates: templates built of kernels with one thread each, and words for them in pinned
// memory.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

namespace gpo::test {

inline Template make_template(Gpu& gpu, const char* label = nullptr) {
    auto options = sized<gpo_template_options>();
    options.label = label;
    Template made;
    REQUIRE_OK(gpo_template_create(gpu.device, &options, made.out()));
    return made;
}

inline Graph make_graph(gpo_template_t from) {
    Graph made;
    REQUIRE_OK(gpo_graph_create(from, nullptr, made.out()));
    return made;
}

inline gpo_template_statistics figures_of(gpo_template_t of) {
    auto out = sized<gpo_template_statistics>();
    REQUIRE_OK(gpo_template_get_statistics(of, &out));
    return out;
}

inline std::string refusal() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

inline bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Kernels `add(word, by)` and `put(word, value)`, and 16 words.
struct WordsRig : Gpu {
    static constexpr uint32_t kWords = 16;
    explicit WordsRig(const gpo_runtime_options& options = sized<gpo_runtime_options>())
        : Gpu(options), on(stream("words")), words(pinned<uint32_t>(kWords)), add(kernel(source(), "add")),
          put(kernel(source(), "put")) {}

    uint64_t at(size_t i) const { return words.address() + i * sizeof(uint32_t); }
    /// A kernel's node that does something to a word anywhere.
    uint32_t node(gpo_template_t in, gpo_kernel_t kernel, uint64_t word, uint32_t number,
                  std::initializer_list<uint32_t> after = {}) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* arguments[] = {&word, &number};
        uint32_t made = 0;
        REQUIRE_OK(gpo_template_add_kernel(in, after.begin(), static_cast<uint32_t>(after.size()), kernel, &shape,
                                           arguments, nullptr, 2, &made));
        return made;
    }
    uint32_t copy(gpo_template_t in, uint64_t to, uint64_t from, std::initializer_list<uint32_t> after = {}) {
        auto copy = sized<gpo_copy>();
        copy.destination = to;
        copy.source = from;
        copy.bytes = sizeof(uint32_t);
        uint32_t made = 0;
        REQUIRE_OK(gpo_template_add_copy(in, after.begin(), static_cast<uint32_t>(after.size()), &copy, &made));
        return made;
    }
    /// Skips the test on drivers before CUDA 12.4, which can't tell the sizes of arguments, so that kernels can be
    /// neither copied nor changed. Before 12.3 there are no conditional nodes and no kernels' names.
    bool too_old() const {
        if (tells_parameters(add)) return false;
        skip("the driver is older than CUDA 12.4");
        return true;
    }
    void run(gpo_graph_t graph) {
        CHECK_OK(gpo_graph_launch(graph, on));
        CHECK_OK(gpo_stream_wait(on, kPatience));
    }
    uint32_t word(size_t i) const { return read(words[i]); }

    Stream on;
    Pinned<uint32_t> words;
    Kernel add, put;

private:
    static const char* source() {
        return "extern \"C\" __global__ void add(unsigned* word, unsigned by) { *word += by; }\n"
               "extern \"C\" __global__ void put(unsigned* word, unsigned value) { *word = value; }\n";
    }
};

/// A template with a WHILE that adds one to a word up to 3.
inline Template counting(WordsRig& rig) {
    Template of = make_template(rig);
    const uint32_t first = rig.node(of, rig.put, rig.at(0), 0);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_LESS;
    condition.word = rig.at(0);
    condition.constant = 3;
    gpo_template_t body = nullptr;
    uint32_t loop = 0;
    REQUIRE_OK(gpo_template_add_while(of, &first, 1, &condition, &body, &loop));
    rig.node(body, rig.add, rig.at(0), 1);
    gpo_template_destroy(body);
    return of;
}

}  // namespace gpo::test
