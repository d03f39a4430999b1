// Makes the page of what composes with what from the rules by which the tests of the matrix judge the library.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "matrix.h"

namespace gpo::test::matrix {

namespace {

/// Rules have numbers in the order in which the tables need them.
class Rules {
public:
    size_t number(const Expected& expected) {
        const gpo_status status = expected.status ? expected.status : expected.end;
        const std::string rule = std::string("`") + gpo_status_name(status) + "`. " + expected.rule;
        const auto found = std::find(rules_.begin(), rules_.end(), rule);
        if (found != rules_.end()) return static_cast<size_t>(found - rules_.begin()) + 1;
        rules_.push_back(rule);
        return rules_.size();
    }
    const std::vector<std::string>& all() const { return rules_; }

private:
    std::vector<std::string> rules_;
};

std::string cell(Rules& rules, const Expected& rule) {
    switch (rule.kind) {
    case Expected::works: return "yes";
    case Expected::absent: return "–";
    default: return "no (" + std::to_string(rules.number(rule)) + ")";
    }
}

/// Columns are lettered: their names are long.
std::string letter(size_t i) { return std::string(1, static_cast<char>('A' + i)); }

template <class Columns>
void head(std::ostream& out, const char* corner, const Columns& columns) {
    for (size_t i = 0; i < columns.size(); ++i) out << (i ? ", " : "") << "**" << letter(i) << "** " << columns[i].name;
    out << ".\n\n| " << corner << " |";
    for (size_t i = 0; i < columns.size(); ++i) out << ' ' << letter(i) << " |";
    out << "\n|---|";
    for (size_t i = 0; i < columns.size(); ++i) out << "---|";
    out << '\n';
}

}  // namespace

std::string page() {
    std::ostringstream out;
    Rules rules;
    out << "# What composes with what\n\n"
           "Each operation is tested at each place, and looked at there in each way. `tests/conformance/matrix` makes "
           "this\n"
           "page and these tests from the same rules. Each run of the tests takes all pairs, on software GPUs.\n\n"
           "\"yes\": it works. \"no\": it is refused; the number is that of the status and its reason, below the "
           "table.\n"
           "\"–\": there is no such call.\n\n## Operations at places\n\n";
    head(out, "operation", places());
    for (const Operation& operation : operations()) {
        out << "| " << operation.name << " |";
        for (const Place& place : places()) out << ' ' << cell(rules, expected(operation, place)) << " |";
        out << '\n';
    }
    out << "\nReasons:\n\n";
    for (size_t i = 0; i < rules.all().size(); ++i) out << i + 1 << ". " << rules.all()[i] << '\n';
    out << "\n## Looks at an operation\n\nEvery operation that works somewhere can be looked at there in every way, "
           "except:\n\n";
    std::map<std::string, std::vector<std::string>> exceptions;   // by rule: looks
    for (const LookKind& look : looks())
        for (const Place& place : places())
            for (const Operation& operation : operations()) {
                if (expected(operation, place).kind != Expected::works) continue;
                const Expected rule = expected(operation, place, look);
                if (rule.kind == Expected::works) continue;
                std::vector<std::string>& of_rule = exceptions[rule.rule];
                if (std::find(of_rule.begin(), of_rule.end(), look.name) == of_rule.end()) of_rule.push_back(look.name);
            }
    for (const auto& [rule, of_rule] : exceptions) {
        out << "- ";
        for (size_t i = 0; i < of_rule.size(); ++i) out << (i ? "; " : "") << of_rule[i];
        out << ". " << rule << '\n';
    }
    out << "\nThe looks are: ";
    for (size_t i = 0; i < looks().size(); ++i) out << (i ? ", " : "") << looks()[i].name;
    out << ".\n";
    return out.str();
}

TEST_CASE("matrix: libgpuorch/COMPOSES.md says what the rules say") {
    const std::string path = test_file("../libgpuorch/COMPOSES.md");
    if (std::getenv("GPUORCH_TEST_ACCEPT")) std::ofstream(path) << page();
    std::ifstream file(path);
    if (!file) {
        skip("the page isn't beside these tests");
        return;
    }
    std::stringstream text;
    text << file.rdbuf();
    CHECK(text.str() == page());
}

}  // namespace gpo::test::matrix
