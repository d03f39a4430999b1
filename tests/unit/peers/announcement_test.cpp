// Ranks with different submitted collectives: all ranks find the same difference and name each rank's collective.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "peers/announcement.h"

using namespace gpo::peers;

namespace {

Announcement sum(const char* label = "", uint64_t count = 10) {
    Announcement made;
    made.number = 5;
    made.count = count;
    made.kind = GPO_COLLECTIVE_ALL_REDUCE;
    made.type = GPO_TYPE_FLOAT32;
    made.reduction = GPO_REDUCE_SUM;
    made.send_to = made.receive_from = 0;
    std::strcpy(made.label, label);
    return made;
}

std::string found(const std::vector<Announcement>& ranks) {
    const gpo::ErrorPtr error = disagreement(ranks);
    if (!error) return "";
    CHECK(error->status == GPO_INVALID_STATE);
    return error->sentence();
}

constexpr const char* kRule = ": all ranks have to submit the same collectives in the same order";

}  // namespace

TEST_CASE("ranks that have submitted the same agree") {
    CHECK(found({sum(), sum()}) == "");
    CHECK(found({sum("a"), sum("a"), sum("a")}) == "");
}

TEST_CASE("labels count where two ranks have given one, whichever these are") {
    CHECK(found({sum("layer 1"), sum("layer 2")}) ==
          std::string("collective 5 of the group: rank 1 has submitted all-reduce `layer 2` (sum of 10 float32), and "
                      "rank 0 all-reduce `layer 1` (sum of 10 float32)") + kRule);
    CHECK(found({sum(), sum("layer 1"), sum(), sum("layer 2")}) ==
          std::string("collective 5 of the group: rank 3 has submitted all-reduce `layer 2` (sum of 10 float32), and "
                      "rank 1 all-reduce `layer 1` (sum of 10 float32)") + kRule);
    for (const auto& ranks : {std::vector{sum("a"), sum()}, std::vector{sum(), sum("a")},
                              std::vector{sum("a"), sum(), sum("a")}})
        CHECK(found(ranks) == "");
    Announcement long_one = sum(), same = sum(), other = sum();
    std::memset(long_one.label, 'x', sizeof long_one.label);   // not terminated: this library never sends such a label
    same = other = long_one;
    other.label[sizeof other.label - 1] = 'y';
    CHECK(found({long_one, same}) == "");
    CHECK(found({long_one, other}) != "");
}

TEST_CASE("what differs is named, and not numbered") {
    Announcement broadcast = sum("b");
    broadcast.kind = GPO_COLLECTIVE_BROADCAST;
    broadcast.reduction = 0;
    broadcast.type = GPO_TYPE_BFLOAT16;
    broadcast.root = 1;
    CHECK(found({sum("a"), broadcast}) ==
          std::string("collective 5 of the group: rank 1 has submitted broadcast `b` (10 bfloat16, root 1), and rank 0 "
                      "all-reduce `a` (sum of 10 float32)") + kRule);
    Announcement barrier = sum();
    barrier.kind = GPO_COLLECTIVE_BARRIER;
    barrier.type = barrier.reduction = 0;
    barrier.count = 0;
    CHECK(found({barrier, sum()}) == std::string("collective 5 of the group: rank 1 has submitted all-reduce (sum of "
                                                 "10 float32), and rank 0 barrier") + kRule);
    struct {
        uint32_t reduction;
        const char* name;
    } const reductions[] = {{GPO_REDUCE_PRODUCT, "product"},
                            {GPO_REDUCE_MINIMUM, "minimum"},
                            {GPO_REDUCE_MAXIMUM, "maximum"},
                            {GPO_REDUCE_AVERAGE, "average"}};
    for (const auto& [reduction, name] : reductions) {
        Announcement other = sum();
        other.reduction = reduction;
        CHECK(found({sum(), other}).find(std::string("all-reduce (") + name + " of 10 float32), and rank 0") !=
              std::string::npos);
    }
    struct {
        uint32_t type;
        const char* name;
    } const types[] = {{GPO_TYPE_INT8, "int8"},       {GPO_TYPE_UINT8, "uint8"},
                       {GPO_TYPE_INT32, "int32"},     {GPO_TYPE_UINT32, "uint32"},
                       {GPO_TYPE_INT64, "int64"},     {GPO_TYPE_UINT64, "uint64"},
                       {GPO_TYPE_FLOAT16, "float16"}, {GPO_TYPE_BFLOAT16, "bfloat16"},
                       {GPO_TYPE_FLOAT64, "float64"}, {GPO_TYPE_FLOAT8_E4M3, "float8_e4m3"},
                       {GPO_TYPE_FLOAT8_E5M2, "float8_e5m2"}};
    for (const auto& [type, name] : types) {
        Announcement other = sum();
        other.type = type;
        CHECK(found({sum(), other}).find(std::string("(sum of 10 ") + name + "), and rank 0") != std::string::npos);
    }
    Announcement strange = sum();   // from a process that writes arbitrary bytes
    strange.kind = 77;
    strange.type = 78;
    strange.reduction = 79;
    CHECK(found({sum(), strange}).find("collective (79 of 10 78)") != std::string::npos);
    Announcement later = sum();
    later.number = 6;
    CHECK(found({sum(), later}) ==
          std::string("rank 1 has come to collective 6 of the group, and rank 0 to collective 5") + kRule);
}

TEST_CASE("a rank that can't take part is named before all that differs") {
    Announcement failed = sum("b", 11);
    failed.status = GPO_CANCELLED;
    std::strcpy(failed.why, "its stream has failed");
    const gpo::ErrorPtr error = disagreement(std::vector{sum("a"), failed});
    REQUIRE(error);
    CHECK(error->status == GPO_CANCELLED);
    CHECK(error->sentence() == std::string("rank 1: its stream has failed"));
}

TEST_CASE("who sends to whom has to fit") {
    const auto part = [](uint32_t to, uint32_t from) {
        Announcement made = sum("ring", 4);
        made.kind = GPO_COLLECTIVE_SEND_RECEIVE;
        made.reduction = 0;
        made.send_to = to;
        made.receive_from = from;
        return made;
    };
    CHECK(found({part(1, 1), part(0, 0)}) == "");
    CHECK(found({part(1, GPO_NO_RANK), part(GPO_NO_RANK, 0)}) == "");
    CHECK(found({part(1, 1), part(0, GPO_NO_RANK)}) ==
          "collective 5 of the group, send-receive `ring` (4 float32): rank 0 sends to rank 1, which doesn't receive "
          "from it");
    CHECK(found({part(GPO_NO_RANK, 1), part(GPO_NO_RANK, GPO_NO_RANK)}).find(
              "rank 0 receives from rank 1, which doesn't send to it") != std::string::npos);
    CHECK(found({part(9, GPO_NO_RANK), part(GPO_NO_RANK, GPO_NO_RANK)}).find("rank 0 sends to rank 9") !=
          std::string::npos);
}
