// Runs the cells: all pairs of operation, place and look, and some triples by a seed; with GPUORCH_TEST_FULL, and on a
// GPU, all triples.
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "matrix.h"

namespace gpo::test::matrix {

namespace {

struct Cell {
    size_t operation, place, look;
    auto operator<=>(const Cell&) const = default;
};

bool worth_testing(const Cell& cell) {
    return expected(operations()[cell.operation], places()[cell.place], looks()[cell.look]).kind != Expected::absent;
}

/// Whether a look is looked there at all.
bool is_looked(const Cell& cell) {
    const auto kind = expected(operations()[cell.operation], places()[cell.place], looks()[cell.look]).kind;
    return kind == Expected::works || kind == Expected::unlooked;
}

uint64_t seed() {
    const char* given = std::getenv("GPUORCH_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : 35;
}

bool everything() {
    const char* device = std::getenv("GPUORCH_DEVICE");
    return std::getenv("GPUORCH_TEST_FULL") || (device && std::string(device) == "cuda");
}

/// The cells of a run.
const std::set<Cell>& chosen() {
    static const std::set<Cell> all = [] {
        std::set<Cell> made;
        const size_t most_operations = operations().size(), most_places = places().size(), most_looks = looks().size();
        for (size_t operation = 0; operation < most_operations; ++operation)
            for (size_t place = 0; place < most_places; ++place)
                for (size_t look = 0; look < most_looks; ++look) {
                    const Cell cell{operation, place, look};
                    if (worth_testing(cell) && (everything() || look == (operation + place) % most_looks))
                        made.insert(cell);
                }
        if (everything()) return made;
        // Add the pairs that the diagonal leaves out because its own cell isn't looked at.
        std::set<std::pair<size_t, size_t>> of_operation, of_place, together;
        const auto covers = [&](const Cell& cell) {
            together.insert({cell.operation, cell.place});
            if (!is_looked(cell)) return;
            of_operation.insert({cell.operation, cell.look});
            of_place.insert({cell.place, cell.look});
        };
        for (const Cell& cell : made) covers(cell);
        for (size_t operation = 0; operation < most_operations; ++operation)
            for (size_t place = 0; place < most_places; ++place)
                for (size_t look = 0; look < most_looks; ++look) {
                    const Cell cell{operation, place, look};
                    if (!worth_testing(cell)) continue;
                    const bool missing = !together.contains({operation, place}) ||
                                         (is_looked(cell) && (!of_operation.contains({operation, look}) ||
                                                              !of_place.contains({place, look})));
                    if (!missing) continue;
                    made.insert(cell);
                    covers(cell);
                }
        std::mt19937_64 random(seed());
        for (size_t left = 200; left != 0;) {
            const Cell cell{random() % most_operations, random() % most_places, random() % most_looks};
            if (is_looked(cell) && made.insert(cell).second) --left;
        }
        return made;
    }();
    return all;
}

/// Whether GPUORCH_TEST_CELL selects the cell.
bool asked_for(const Cell& cell) {
    const char* given = std::getenv("GPUORCH_TEST_CELL");
    if (!given) return true;
    std::stringstream text(given);
    for (const char* name : {operations()[cell.operation].name, places()[cell.place].name, looks()[cell.look].name}) {
        std::string part;
        std::getline(text, part, '|');
        if (!part.empty() && part != name) return false;
    }
    return true;
}

/// The call is refused as the rule says, and leaves everything usable.
void check_refused(World& world, const Expected& rule, Site& site, Act& act) {
    const Site::Calls calls = site.perform();
    INFO(rule.rule);
    if (rule.status) CHECK(std::string(gpo_status_name(calls.call)) == gpo_status_name(rule.status));
    if (rule.end) CHECK(std::string(gpo_status_name(calls.end)) == gpo_status_name(rule.end));
    site.open();
    act.open();
    uint32_t* const usable = world.word();
    CHECK_OK(world.write(site.on(), usable, 1));
    CHECK_OK(gpo_stream_wait(site.on(), kPatience));
    CHECK(read(*usable) == 1);
}

/// The call is accepted, and the stream fails once.
void check_fails(const Expected& rule, Site& site, Act& act) {
    const Site::Calls calls = site.perform();
    INFO(rule.rule);
    CHECK_OK(calls.call);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(site.on()));
    site.open();
    act.open();
    CHECK(std::string(gpo_status_name(gpo_stream_wait(site.on(), kPatience))) == gpo_status_name(rule.status));
    CHECK_FALSE(act.done());
}

void check_works(const Expected& rule, Site& site, Act& act, View& view) {
    view.before();
    const Site::Calls calls = site.perform();
    CHECK(std::string(gpo_status_name(calls.call)) == "GPO_SUCCESS");
    CHECK(std::string(gpo_status_name(calls.end)) == "GPO_SUCCESS");
    const bool accepted = calls.call == GPO_SUCCESS && calls.end == GPO_SUCCESS;
    if (!accepted) MESSAGE(last_error().message);
    if (accepted) {
        CHECK_FALSE(act.done());
        if (rule.kind == Expected::unlooked) {
            INFO(rule.rule);
            view.answers(rule.status);
        } else {
            view.closed();
        }
        CHECK_FALSE(act.done());
    }
    const bool failed = view.is_open;   // the view has failed what the operation is behind
    view.is_open = true;
    if (failed) return;
    site.open();
    act.open();
    if (!accepted) return;
    if (rule.kind == Expected::works) view.opened();
    if (site.on()) CHECK_OK(gpo_stream_wait(site.on(), kPatience));
    CHECK(act.done());
    if (act.at_end) act.at_end();
}

/// A test case for each place: they share a World.
void test_place(const char* name) {
    std::unique_ptr<World> world;
    size_t tested = 0, last = operations().size();
    for (const Cell& cell : chosen()) {
        const Place& place = places()[cell.place];
        if (place.name != std::string(name) || !asked_for(cell)) continue;
        // Code loaded for an earlier operation must not hide that this operation loads code.
        const bool alone = place.is(kResident | kBesideResident) && operations()[cell.operation].is(kNoStream);
        if (!world || !world->fresh() || (alone && cell.operation != last)) {
            world.reset();
            world = std::make_unique<World>();
            if (!tells_parameters(world->write_word)) {
                skip("the driver is older than CUDA 12.4");
                return;
            }
        }
        last = cell.operation;
        test(*world, operations()[cell.operation], place, looks()[cell.look]);
        ++tested;
    }
    CHECK(tested > 0);
    MESSAGE(tested, " cells");
}

}  // namespace

void test(World& world, const Operation& operation, const Place& place, const LookKind& look) {
    const std::string name = std::string(operation.name) + "|" + place.name + "|" + look.name;
    INFO("GPUORCH_TEST_CELL=\"" << name << "\"");
    if (std::getenv("GPUORCH_TEST_CELLS")) std::printf("%s\n", name.c_str()), std::fflush(stdout);
    const Expected rule = expected(operation, place, look);
    if (rule.kind == Expected::absent) return;
    auto act = std::make_unique<Act>(world);
    operation.make(world, *act);
    {
        const std::unique_ptr<Site> site = place.make(world, *act);
        const std::unique_ptr<View> view = look.make(world, *site, *act);
        if (rule.kind == Expected::refused) check_refused(world, rule, *site, *act);
        else if (rule.kind == Expected::fails) check_fails(rule, *site, *act);
        else check_works(rule, *site, *act, *view);
        world.wait_for_callbacks();
    }
    CHECK_OK(gpo_device_wait(world.gpu.device, kPatience));
    act.reset();
    world.wait_for_frees();
}

TEST_CASE("matrix: a stream" * gated) { test_place("a stream"); }
TEST_CASE("matrix: a held stream" * gated) { test_place("a held stream"); }
TEST_CASE("matrix: a resident stream" * gated) { test_place("a resident stream"); }
TEST_CASE("matrix: a stream that learns" * gated) { test_place("a stream that learns"); }
TEST_CASE("matrix: a wrapped stream" * gated) { test_place("a wrapped stream"); }
TEST_CASE("matrix: a stream of a pool" * gated) { test_place("a stream of a pool"); }
TEST_CASE("matrix: a recording" * gated) { test_place("a recording"); }
TEST_CASE("matrix: a stream that joined a recording" * gated) { test_place("a stream that joined a recording"); }
TEST_CASE("matrix: a stream whose recording has ended" * gated) { test_place("a stream whose recording has ended"); }
TEST_CASE("matrix: a template, as a node" * gated) { test_place("a template, as a node"); }
TEST_CASE("matrix: a body, as a node" * gated) { test_place("a body, as a node"); }
TEST_CASE("matrix: a body, recorded" * gated) { test_place("a body, recorded"); }
TEST_CASE("matrix: a child" * gated) { test_place("a child"); }
TEST_CASE("matrix: a graph that another thread launches" * gated) {
    test_place("a graph that another thread launches");
}
TEST_CASE("matrix: a stream held by its part of a collective" * gated) {
    test_place("a stream held by its part of a collective");
}
TEST_CASE("matrix: beside resident work" * gated) { test_place("beside resident work"); }
TEST_CASE("matrix: inside a host node" * gated) { test_place("inside a host node"); }
TEST_CASE("matrix: inside a host call" * gated) { test_place("inside a host call"); }
TEST_CASE("matrix: inside a callback" * gated) { test_place("inside a callback"); }

}  // namespace gpo::test::matrix
