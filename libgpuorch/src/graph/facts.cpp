#include "graph/facts.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "graph/host_function.h"

namespace gpo {

namespace {

constexpr uint32_t kShownArguments = 8, kArgumentsInLine = 3;

/// "65,536"
std::string grouped(uint64_t number) {
    std::string out = text(number);
    for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
    return out;
}

std::string counted(uint64_t count, const char* what) { return text(grouped(count), " ", what, count == 1 ? "" : "s"); }

/// Bytes whose type isn't known: small numbers as they are, addresses and what may be a float in base 16.
std::string value_text(const void* value, uint32_t bytes) {
    uint64_t number = 0;
    if (bytes > sizeof number) return counted(bytes, "byte");
    std::memcpy(&number, value, bytes);
    constexpr uint64_t kSmall = 1'000'000;
    return number < kSmall ? text(number) : hex(number);
}

std::string extent_text(uint32_t x, uint32_t y, uint32_t z) {
    if (z != 1) return text(x, " × ", y, " × ", z);
    return y != 1 ? text(x, " × ", y) : text(x);
}

void add_facts(std::vector<std::string>& facts, const KernelNode& kernel) {
    const CUDA_KERNEL_NODE_PARAMS& params = kernel.params();
    facts.push_back(text("grid ", extent_text(params.gridDimX, params.gridDimY, params.gridDimZ), ", block ",
                         extent_text(params.blockDimX, params.blockDimY, params.blockDimZ)));
    if (params.sharedMemBytes) facts.push_back(counted(params.sharedMemBytes, "byte") + " of shared memory");
    const uint32_t shown = std::min(kernel.arguments(), kShownArguments);
    for (uint32_t i = 0; i < shown; ++i) {
        if (i % kArgumentsInLine == 0) facts.push_back(i ? "    " : "arguments ");
        facts.back() += text(value_text(kernel.argument(i), kernel.argument_bytes(i)), i + 1 < shown ? ", " : "");
    }
    if (kernel.arguments() > shown) facts.push_back(text("    and ", kernel.arguments() - shown, " more"));
}

std::string end_text(const char* which, CUmemorytype type, uint64_t address) {
    if (type == CU_MEMORYTYPE_ARRAY) return text(which, " a CUDA array");
    return text(which, type == CU_MEMORYTYPE_HOST ? " host " : " ", hex(address));
}

void add_facts(std::vector<std::string>& facts, const CopyNode& copy) {
    const uint64_t rows = std::max<uint64_t>(copy.params.Height, 1) * std::max<uint64_t>(copy.params.Depth, 1);
    const std::string bytes = counted(copy.params.WidthInBytes, "byte");
    facts.push_back(rows == 1 ? bytes : text(grouped(rows), " rows of ", bytes));
    facts.push_back(end_text("from", copy.params.srcMemoryType, copy.source()));
    facts.push_back(end_text("to", copy.params.dstMemoryType, copy.destination()));
}

void add_facts(std::vector<std::string>& facts, const FillWork& fill) {
    const std::string times =
        text(grouped(fill.count), " × ", hex(fill.value), " (", counted(fill.element_bytes, "byte"), ")");
    facts.push_back(fill.rows <= 1 ? times : text(grouped(fill.rows), " rows of ", times));
    facts.push_back(text("at ", hex(fill.destination)));
}

const char* comparison_text(uint32_t comparison) noexcept {
    switch (comparison) {
        case GPO_COMPARE_EQUAL: return " == ";
        case GPO_COMPARE_NOT_EQUAL: return " != ";
        case GPO_COMPARE_LESS: return " < ";
        default: return " >= ";
    }
}

std::string decision_text(const ConditionalNode& node) {
    const gpo_condition& condition = node.condition;
    if (condition.comparison == GPO_COMPARE_KERNEL) return text("a kernel decides (at first ", condition.initial, ")");
    const std::string word = text("word at ", hex(condition.word));
    if (condition.comparison != GPO_COMPARE_VALUE)
        return text(word, comparison_text(condition.comparison), condition.constant);
    return node.type == CU_GRAPH_COND_TYPE_SWITCH ? word : word + " != 0";
}

}  // namespace

std::vector<std::string> facts_of(const NodeWork& work) {
    std::vector<std::string> facts;
    if (const auto* kernel = std::get_if<KernelNode>(&work))
        add_facts(facts, *kernel);
    else if (const auto* copy = std::get_if<CopyNode>(&work))
        add_facts(facts, *copy);
    else if (const auto* fill = std::get_if<FillWork>(&work))
        add_facts(facts, *fill);
    else if (const auto* host = std::get_if<HostNode>(&work))
        facts.push_back(text("function at ", hex(reinterpret_cast<uint64_t>(HostFunction::called_by(host->params)))));
    return facts;
}

std::string condition_text(const ConditionalNode& node) {
    const std::string kind = kind_of(NodeWork(node));
    const char* before = node.condition.comparison == GPO_COMPARE_KERNEL ? ": "
                         : node.type == CU_GRAPH_COND_TYPE_SWITCH        ? " by "
                                                                         : " ";
    std::string out = text(kind, before, decision_text(node));
    const uint64_t most = node.condition.max_iterations;
    if (most && most != UINT32_MAX) out += text(", at most ", counted(most, "time"));
    return out;
}

std::string body_title(const ConditionalNode& node, uint32_t index) {
    if (node.type == CU_GRAPH_COND_TYPE_SWITCH) return text("case ", index);
    if (node.type == CU_GRAPH_COND_TYPE_WHILE) return "body";
    return index ? "else" : "then";
}

std::string field_text(const NodeField& field) {
    if (field.what == GPO_PARAMETER_ENABLED) return "on or off";
    const std::string name = name_of_field(field.what);
    return field.what == GPO_PARAMETER_ARGUMENT ? text(name, " ", field.index) : name;
}

}  // namespace gpo
