#include "peers/peers_names.h"

#include <iterator>

#include "base/text.h"

namespace gpo::peers {

namespace {

constexpr const char* kTypeNames[] = {nullptr,  "int8",    "uint8",    "int32",   "uint32",  "int64",       "uint64",
                                      "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};
static_assert(std::size(kTypeNames) == kTypes + 1);
constexpr const char* kReductionNames[] = {nullptr, "sum", "product", "minimum", "maximum", "average"};
static_assert(std::size(kReductionNames) == GPO_REDUCE_AVERAGE + 1);
constexpr const char* kEngineNames[] = {"GPO_AUTO", "GPO_ENGINE_DIRECT", "GPO_ENGINE_NCCL", "GPO_ENGINE_HOST",
                                        "GPO_ENGINE_NVSHMEM"};
static_assert(std::size(kEngineNames) == GPO_ENGINE_NVSHMEM + 1);

template <size_t Count>
std::string name_of(const char* const (&names)[Count], uint32_t number) {
    return number < Count && names[number] ? names[number] : text(number);
}

}  // namespace

std::string type_name(uint32_t type) { return name_of(kTypeNames, type); }

std::string reduction_name(uint32_t reduction) { return name_of(kReductionNames, reduction); }

std::string engine_name(uint32_t engine) { return name_of(kEngineNames, engine); }

std::string describe(Kind kind, const char* label, uint32_t type, uint32_t reduction, uint32_t root, uint64_t count) {
    std::string out = kind_name(kind);
    if (label && *label) out += text(" `", label, "`");
    if (kind == Kind::barrier) return out;
    out += " (";
    if (reduction) out += text(reduction_name(reduction), " of ");
    out += text(count, " ", type_name(type));
    if (kind == Kind::reduce || kind == Kind::broadcast) out += text(", root ", root);
    return out + ")";
}

}  // namespace gpo::peers
