// Detection of repeated sequences.
#include "stream/repetition.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using gpo::Repetition;

namespace {

/// Notes operations (letters; `|` is a separator). Returns the number of operations until a sequence is found; 0: none.
size_t operations_until_found(Repetition& repetition, const std::string& work) {
    size_t operations = 0;
    bool separated = false;
    for (const char letter : work) {
        if (letter == '|') {
            separated = true;
            continue;
        }
        ++operations;
        if (repetition.note(static_cast<uint64_t>(letter), separated)) return operations;
        separated = false;
    }
    return 0;
}

std::string times(const std::string& text, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += text;
    return out;
}

std::string found(const Repetition& repetition) {
    std::string out(repetition.length(), ' ');
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(repetition.fingerprint(i));
    return out;
}

}  // namespace

TEST_CASE("a sequence between separators is found when it has come three times") {
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("|abc", 10)) == 9);
    CHECK(found(repetition) == "abc");
    CHECK(repetition.begins_at_separator());
}

TEST_CASE("a kernel that is launched again and again is as long a sequence as lies between separators") {
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("|aaaaaaaaaa", 10)) == 30);
    CHECK(found(repetition) == "aaaaaaaaaa");
}

TEST_CASE("of a period with several separators the longest run is the sequence") {
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("|ab|cdef|g", 10)) != 0);
    CHECK(found(repetition) == "cdef");
    Repetition across;  // the period crosses the end of the noted operations
    CHECK(operations_until_found(across, times("cdef|g|ab|", 10)) != 0);
    CHECK(found(across) == "cdef");
}

TEST_CASE("single operations between separators are no sequence") {
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("|a|b", 200)) == 0);
}

TEST_CASE("without separators a period is found that the work goes on with") {
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("aabb", 100)) == Repetition::kUnseparated);
    const std::string sequence = found(repetition);
    CHECK(sequence.size() == Repetition::kWorthwhile);
    CHECK(times("aabb", 5).find(sequence) == 0);
    CHECK(!repetition.begins_at_separator());
}

TEST_CASE("a period is found that has the same operations in other orders within itself") {
    Repetition repetition;
    const std::string period = "aabaacabbaacbbacabcabcbbaaaacbcc";
    CHECK(operations_until_found(repetition, times("|" + period, 10)) == 3 * period.size());
    CHECK(found(repetition) == period);
}

TEST_CASE("the longest sequence that can be found has 64 operations") {
    std::string period;
    for (size_t i = 0; i < Repetition::kLongest; ++i) period += static_cast<char>('0' + i);
    Repetition repetition;
    CHECK(operations_until_found(repetition, times("|" + period, 10)) == 3 * period.size());
    CHECK(found(repetition) == period);
    Repetition longer;
    CHECK(operations_until_found(longer, times("|" + period + "~", 20)) == 0);
}

TEST_CASE("work that doesn't repeat has no sequence") {
    std::mt19937 random(7);
    Repetition repetition;
    for (int i = 0; i < 10'000; ++i) CHECK(!repetition.note(random() % 1000, random() % 10 == 0));
}

TEST_CASE("what was noted before the work began to repeat doesn't matter") {
    std::mt19937 random(8);
    Repetition repetition;
    for (int i = 0; i < 1000; ++i) static_cast<void>(repetition.note(random() % 3, false));
    CHECK(operations_until_found(repetition, times("|xyzxw", 10)) == 15);
    CHECK(found(repetition) == "xyzxw");
}
