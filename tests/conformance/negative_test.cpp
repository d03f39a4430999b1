// Every row of the table of refused calls (negative.h).
#include <string>

#include "negative.h"

using namespace gpo::test;

TEST_CASE("what is wrong is refused with one status, says so in a sentence, and has no effect") {
    World world;
    REQUIRE_OK(gpo_stream_wait(world.stream, kPatience));
    for (const Row& row : rows_for(world)) {
        CAPTURE(row.function);
        CAPTURE(row.wrong);
        auto before = sized<gpo_stream_info>(), after = sized<gpo_stream_info>();
        REQUIRE_OK(gpo_stream_get_info(world.stream, &before));
        const uint32_t live = world.gpu.statistics().live_objects;
        CHECK_STATUS(row.expected, row.call(world));
        const gpo_error error = last_error();
        CHECK(error.status == row.expected);
        const std::string function = error.function;  // or the driver's function, if the driver refused
        CHECK((function == row.function || function.starts_with("cu")));
        const std::string sentence = error.message;
        CHECK(sentence.size() > 5);
        CAPTURE(sentence);
        CHECK(sentence.find(row.says) != std::string::npos);
        REQUIRE_OK(gpo_stream_get_info(world.stream, &after));
        CHECK(after.accepted == before.accepted);
        CHECK(world.gpu.statistics().live_objects == live);
    }
    // Everything still works.
    CHECK_OK(world.launch([](auto&) {}));
    CHECK_OK(gpo_stream_wait(world.stream, kPatience));
    CHECK_OK(gpo_timeline_signal(world.timeline, 6));
    CHECK_OK(gpo_stream_notify(world.stream, world.queue, 1));
    CHECK(take(world.queue, 1)[0].status == GPO_SUCCESS);
}
