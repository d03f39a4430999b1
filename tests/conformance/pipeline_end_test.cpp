// Pipelines that end otherwise than at the end of their input: early, by failure, on request.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "conformance/pipeline_rig.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

bool names(const gpo_error& error, const std::string& what) {
    return std::string(error.message).find(what) != std::string::npos;
}

/// A pipeline with chunks of 4 KiB, and data that a run after a failure is tried with.
struct Rig {
    Rig() : rig(gpu) {
        rig.options.chunk_bytes = 4096;
        rig.options.label = "ends";
        pipeline = rig.create(gpu);
    }
    void still_works() {
        std::vector<uint8_t> out(data.size());
        REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
        CHECK(out == complement(data));
    }
    Gpu gpu;
    ComplementOptions rig;
    Pipeline pipeline;
    std::vector<uint8_t> data = noise(200'000);
};

/// A source without end that counts its calls.
struct Endless {
    std::atomic<uint64_t> calls{0};
    gpo_source source() {
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.user = this;
        source.fill = [](void* user, void* buffer, uint64_t capacity, uint64_t* bytes) -> gpo_status {
            ++static_cast<Endless*>(user)->calls;
            std::memset(buffer, 1, capacity);
            *bytes = capacity;
            return GPO_SUCCESS;
        };
        return source;
    }
    void wait_for(uint64_t count) const {
        while (calls.load() < count) std::this_thread::yield();
    }
};

/// A change to a file while it is read.
struct Change {
    std::string said;  // behind the file's name
    void (*make)(const std::string& path);
    bool shrinks = false;
};

const Change kChanges[] = {
    {"grew while it was read: 4096 bytes more",
     [](const std::string& path) { std::filesystem::resize_file(path, 204'096); }},
    {"shrank while it was read", [](const std::string& path) { std::filesystem::resize_file(path, 180'000); }, true},
    {"was written to while it was read",
     [](const std::string& path) { std::fstream(path, std::ios::in | std::ios::out).put('x'); }},
    {"was deleted while it was read", [](const std::string& path) { std::filesystem::remove(path); }},
    {"was deleted while it was read", [](const std::string& path) { std::filesystem::rename(path + ".next", path); }},
};

/// Writes a file and dates it back by an hour. Otherwise a change within one tick of the file system's clock would not
/// show.
void write_old_file(const std::string& path, const std::vector<uint8_t>& data) {
    write_file(path, data);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
}

gpo_source from_descriptor(int descriptor) {
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.flags = GPO_SOURCE_USE_DESCRIPTOR;
    source.descriptor = descriptor;
    return source;
}

/// Makes the change when the first of many chunks comes.
struct Changing {
    const Change& change;
    const std::string path;
    gpo_sink to_file(const std::string& out) {
        auto sink = gpo::test::to_file(out);
        sink.user = this;
        sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            const auto& changing = *static_cast<Changing*>(user);
            if (chunk->index == 0) changing.change.make(changing.path);
            return GPO_SUCCESS;
        };
        return sink;
    }
};

}  // namespace

TEST_CASE("a sink that has enough ends the run as a success") {
    Rig rig;
    Endless endless;
    uint64_t taken = 0;
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.user = &taken;
    sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
        return ++*static_cast<uint64_t*>(user) == 10 ? GPO_END : GPO_SUCCESS;
    };
    auto result = sized<gpo_pipeline_result>();
    REQUIRE_OK(run(rig.pipeline, endless.source(), sink, &result));
    CHECK(taken == 10);
    CHECK(result.chunks == 10);

    // The file has all chunks that the sink took.
    Folder folder;
    const std::string path = folder / "out";
    sink = to_file(path);
    sink.user = &(taken = 0);
    sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
        return ++*static_cast<uint64_t*>(user) == 3 ? GPO_END : GPO_SUCCESS;
    };
    REQUIRE_OK(run(rig.pipeline, endless.source(), sink));
    CHECK(read_file(path) == std::vector<uint8_t>(3 * 4096, 0xfe));
    rig.still_works();
}

TEST_CASE("callbacks that fail or throw end the run, and the message says which") {
    Rig rig;
    const auto memory = from_memory(rig.data.data(), rig.data.size());
    SUBCASE("source") {
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.fill = [](void*, void*, uint64_t, uint64_t*) -> gpo_status { return GPO_IO_ERROR; };
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(rig.pipeline, source, to_nothing()));
        CHECK(names(last_error(), "source"));
        CHECK(names(last_error(), "GPO_IO_ERROR"));
        source.fill = [](void*, void*, uint64_t, uint64_t*) -> gpo_status { throw std::runtime_error("no"); };
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(rig.pipeline, source, to_nothing()));
        CHECK(names(last_error(), "threw a C++ exception: no"));
        source.fill = [](void*, void*, uint64_t capacity, uint64_t* bytes) -> gpo_status {
            *bytes = capacity + 1;
            return GPO_SUCCESS;
        };
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(rig.pipeline, source, to_nothing()));
    }
    SUBCASE("sink") {
        auto sink = sized<gpo_sink>();
        sink.kind = GPO_SINK_CALLBACK;
        sink.take = [](void*, const gpo_chunk* chunk) -> gpo_status {
            return chunk->index == 5 ? GPO_FAILED : GPO_SUCCESS;
        };
        auto result = sized<gpo_pipeline_result>();
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(rig.pipeline, memory, sink, &result));
        CHECK(result.status == GPO_CALLBACK_FAILED);
        CHECK(result.chunks == 5);
        CHECK(names(last_error(), "sink"));
        CHECK(names(object_error(rig.pipeline), "sink"));
        sink.take = [](void*, const gpo_chunk*) -> gpo_status { throw 1; };
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(rig.pipeline, memory, sink));
    }
    SUBCASE("stage") {
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk* chunk) -> gpo_status {
            if (chunk->index == 7) throw 1;
            return GPO_SUCCESS;
        };
        rig.rig.options.stages = &stage;
        Pipeline pipeline = rig.rig.create(rig.gpu);
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(pipeline, memory, to_nothing()));
        CHECK(names(last_error(), "stage"));
    }
    SUBCASE("progress") {
        rig.rig.options.progress = [](void*, const gpo_pipeline_progress*) { throw 1; };
        Pipeline pipeline = rig.rig.create(rig.gpu);
        CHECK_STATUS(GPO_CALLBACK_FAILED, run(pipeline, memory, to_nothing()));
    }
    rig.still_works();
}

TEST_CASE("files that can't be opened are refused at once, by name") {
    Rig rig;
    Folder folder;
    const std::string in = folder / "in", none = folder / "none", deep = folder / "none/out";
    write_file(in, rig.data);
    const auto try_start = [&](const gpo_source& source, const gpo_sink& sink) {
        return gpo_pipeline_start(rig.pipeline, &source, &sink);
    };
    CHECK_STATUS(GPO_NOT_FOUND, try_start(from_file(none), to_nothing()));
    CHECK(names(last_error(), none));
    CHECK(last_error().native_domain == GPO_NATIVE_ERRNO);
    CHECK(last_error().native_code == ENOENT);
    CHECK_STATUS(GPO_NOT_FOUND, try_start(from_file(in), to_file(deep)));
    CHECK(names(last_error(), deep));
    const std::string directory = folder / "";
    CHECK_STATUS(GPO_IO_ERROR, try_start(from_file(directory), to_nothing()));
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.flags = GPO_SOURCE_USE_DESCRIPTOR;
    source.descriptor = 9999;
    CHECK_STATUS(GPO_IO_ERROR, try_start(source, to_nothing()));
    CHECK(folder.names() == std::set<std::string>{"in"});
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pipeline_wait(rig.pipeline, 0, nullptr));  // none of these calls started a run
    rig.still_works();
}

TEST_CASE("a file that shrinks while it is read is an error, one that grows is read as it was") {
    Rig rig;
    Folder folder;
    const std::string path = folder / "in", out = folder / "out";
    for (const bool shrink : {true, false}) {
        CAPTURE(shrink);
        write_file(path, rig.data);
        struct Change {
            const char* path;
            bool shrink;
        } change{path.c_str(), shrink};
        auto sink = to_file(out);
        sink.user = &change;
        sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            const auto& change = *static_cast<Change*>(user);
            if (chunk->index == 0 && truncate(change.path, change.shrink ? 8192 : 1'000'000) != 0) return GPO_FAILED;
            return GPO_SUCCESS;
        };
        auto result = sized<gpo_pipeline_result>();
        const gpo_status status = run(rig.pipeline, from_file(path), sink, &result);
        if (shrink) {
            CHECK(status == GPO_IO_ERROR);
            CHECK(names(last_error(), path));
            CHECK(folder.names() == std::set<std::string>{"in"});
        } else {
            CHECK_OK(status);
            CHECK(read_file(out) == complement(rig.data));
        }
    }
}

TEST_CASE(
    "a file that has to stay unchanged and doesn't is an error that leaves nothing, others are read as they were") {
    Rig rig;
    Folder in, out;
    const std::string path = in / "in", to = out / "out";
    const auto check = [&](const Change& change, bool by_path, uint64_t bytes, uint32_t flags) {
        CAPTURE(change.said);
        CAPTURE(by_path);
        CAPTURE(bytes);
        CAPTURE(flags);
        write_old_file(path, rig.data);
        write_file(path + ".next", rig.data);
        const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        auto source = by_path ? from_file(path) : from_descriptor(descriptor);
        source.bytes = bytes;
        source.flags |= flags;
        Changing changing{change, path};
        const gpo_status status = run(rig.pipeline, source, changing.to_file(to));
        close(descriptor);
        if (flags != 0 || (bytes == 0 && change.shrinks)) {
            const std::string name = by_path ? "file `" + path + "`" : "descriptor " + std::to_string(descriptor);
            CHECK(status == GPO_IO_ERROR);
            CHECK(names(last_error(), name + " " + change.said));
            CHECK(out.names().empty());
        } else {
            CHECK_OK(status);
            CHECK(read_file(to) ==
                  complement({rig.data.begin(), rig.data.begin() + (bytes ? bytes : rig.data.size())}));
            std::filesystem::remove(to);
        }
    };
    for (const Change& change : kChanges)
        for (const bool by_path : {true, false})
            for (const uint64_t bytes : {0, 150'000})
                for (const uint32_t flags : {0, GPO_SOURCE_UNCHANGED}) check(change, by_path, bytes, flags);
    rig.still_works();
}

TEST_CASE("what may happen to a file that has to stay unchanged") {
    Rig rig;
    Folder in, out;
    const std::string path = in / "in", to = out / "out";
    write_old_file(path, rig.data);
    Change change{"", [](const std::string&) {}};
    auto source = from_file(path);
    std::FILE* nameless = nullptr;
    int ends[2] = {-1, -1};
    auto right = complement(rig.data);
    SUBCASE("nothing") {}
    SUBCASE("it gets another name and other permissions") {
        change.make = [](const std::string& path) {
            std::filesystem::create_hard_link(path, path + ".link");
            std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        };
    }
    SUBCASE("it is called otherwise") {
        change.make = [](const std::string& path) { std::filesystem::rename(path, path + ".old"); };
    }
    SUBCASE("it had no name") {
        nameless = std::tmpfile();
        REQUIRE(nameless != nullptr);
        REQUIRE(std::fwrite(rig.data.data(), 1, rig.data.size(), nameless) == rig.data.size());
        REQUIRE(std::fflush(nameless) == 0);
        source = from_descriptor(fileno(nameless));
    }
    SUBCASE("it is empty") {
        write_old_file(path, {});
        right.clear();
    }
    SUBCASE("it begins behind the end") {
        source.offset = rig.data.size();
        right.clear();
    }
    SUBCASE("it is a pipe, which grows") {
        REQUIRE(pipe(ends) == 0);
        REQUIRE(write(ends[1], rig.data.data(), 5000) == 5000);
        close(ends[1]);
        source = from_descriptor(ends[0]);
        right.resize(5000);
    }
    source.flags |= GPO_SOURCE_UNCHANGED;
    Changing changing{change, path};
    CHECK_OK(run(rig.pipeline, source, changing.to_file(to)));
    CHECK(read_file(to) == right);
    if (nameless) std::fclose(nameless);
    close(ends[0]);
}

TEST_CASE("a file that has to stay unchanged is looked at when its last byte has been read, even where it was empty") {
    Rig rig;
    Folder in, out;
    const std::string path = in / "in", to = out / "out";
    write_old_file(path, rig.data);
    auto source = from_file(path);
    source.flags = GPO_SOURCE_UNCHANGED;
    auto sink = to_file(to);
    std::string other = path;
    sink.user = &other;
    SUBCASE("a change after that isn't seen") {
        sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            if (chunk->offset + chunk->bytes == 200'000) std::filesystem::remove(*static_cast<std::string*>(user));
            return GPO_SUCCESS;
        };
        CHECK_OK(run(rig.pipeline, source, sink));
        CHECK(read_file(to) == complement(rig.data));
        CHECK(!std::filesystem::exists(path));
    }
    SUBCASE("one of two names goes") {
        other = path + ".link";
        std::filesystem::create_hard_link(path, other);
        sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
            std::filesystem::remove(*static_cast<std::string*>(user));
            return GPO_SUCCESS;
        };
        CHECK_STATUS(GPO_IO_ERROR, run(rig.pipeline, source, sink));
        CHECK(names(last_error(), "file `" + path + "` had a name that was deleted while it was read"));
        CHECK(out.names().empty());
    }
    SUBCASE("what was empty has grown") {
        gpo_status status = GPO_SUCCESS;
        for (int turn = 0; turn < 1000 && status == GPO_SUCCESS; ++turn) {  // the run may end before the file has grown
            write_old_file(path, {});
            std::filesystem::remove(to);
            REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &source, &sink));
            std::ofstream{path, std::ios::app}
                << "new";  // opened without emptying it: truncation would be a change of its own
            status = gpo_pipeline_wait(rig.pipeline, kPatience, nullptr);
        }
        CHECK(status == GPO_IO_ERROR);
        CHECK(names(last_error(), "file `" + path + "` grew while it was read: 3 bytes more"));
        CHECK(out.names().empty());
    }
}

TEST_CASE("a sink that can't be written is named, and a device file isn't replaced") {
    Rig rig;
    const std::string full = "/dev/full";
    CHECK_STATUS(GPO_IO_ERROR, run(rig.pipeline, from_memory(rig.data.data(), rig.data.size()), to_file(full)));
    CHECK(names(last_error(), full));
    CHECK(last_error().native_code == ENOSPC);
    CHECK(access(full.c_str(), F_OK) == 0);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    sink.flags = GPO_SINK_USE_DESCRIPTOR;
    sink.descriptor = ends[1];
    CHECK_STATUS(GPO_IO_ERROR, run(rig.pipeline, from_memory(rig.data.data(), rig.data.size()), sink));
    CHECK(last_error().native_code == EPIPE);
    close(ends[1]);
    rig.still_works();
}

TEST_CASE("a link to a file stays one: the file that it leads to is replaced, where it lies") {
    Rig rig;
    Folder folder, elsewhere;
    const std::string link = folder / "link", file = elsewhere / "file";
    write_file(file, {1, 2, 3});
    std::filesystem::create_symlink(file, link);
    REQUIRE_OK(run(rig.pipeline, from_memory(rig.data.data(), rig.data.size()), to_file(link)));
    CHECK(std::filesystem::is_symlink(link));
    CHECK(read_file(file) == complement(rig.data));
    CHECK(folder.names().size() == 1);
    CHECK(elsewhere.names().size() == 1);
}

TEST_CASE("a file without a folder in its name stays in the one that the program was in when the run began") {
    Rig rig;
    Folder folder, elsewhere;
    const auto before = std::filesystem::current_path();
    for (const gpo_status ending : {GPO_SUCCESS, GPO_IO_ERROR}) {
        std::filesystem::current_path(folder / "");
        struct Change {
            std::string to;
            gpo_status ending;
        } change{elsewhere / "", ending};
        const std::string name = "new";
        auto sink = to_file(name);
        sink.user = &change;
        sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
            const auto& change = *static_cast<Change*>(user);
            std::filesystem::current_path(change.to);
            return change.ending;
        };
        const gpo_status status = run(rig.pipeline, from_memory(rig.data.data(), rig.data.size()), sink);
        std::filesystem::current_path(before);
        CHECK(status == (ending == GPO_SUCCESS ? GPO_SUCCESS : GPO_CALLBACK_FAILED));
        CHECK(folder.names().size() == 1);   // only the file of the run that succeeded
        CHECK(elsewhere.names().empty());
    }
    CHECK(read_file(folder / "new") == complement(rig.data));
}

TEST_CASE("the end of a named pipe is the end, though somebody opens it anew before the run has ended") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Folder folder;
    const std::string path = folder / "pipe";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    struct Again {
        const std::string& path;
        int writer = -1;
    } again{path};
    auto opens = sized<gpo_stage>();   // on the reading thread, between the first end and the next read
    opens.kind = GPO_STAGE_CALLBACK;
    opens.user = &again;
    opens.enqueue = [](void* user, gpo_stream_t, const gpo_chunk*) -> gpo_status {
        auto& again = *static_cast<Again*>(user);
        if (again.writer >= 0) return GPO_SUCCESS;
        again.writer = open(again.path.c_str(), O_WRONLY | O_NONBLOCK);
        return write(again.writer, "more", 4) == 4 ? GPO_SUCCESS : GPO_IO_ERROR;
    };
    const gpo_stage stages[] = {opens, rig.stage};
    rig.options.stages = stages;
    rig.options.stage_stride = sizeof(gpo_stage);
    rig.options.stage_count = 2;
    rig.options.chunk_bytes = 4096;
    Pipeline pipeline = rig.create(gpu);
    const auto source = from_file(path);
    const auto nothing = to_nothing();
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &nothing));
    const int writer = open(path.c_str(), O_WRONLY);
    REQUIRE(write(writer, "first", 5) == 5);
    close(writer);
    auto result = sized<gpo_pipeline_result>();
    CHECK_OK(gpo_pipeline_wait(pipeline, kPatience, &result));
    CHECK(result.bytes_in == 5);
    close(again.writer);
    gpo_pipeline_cancel(pipeline);
}

TEST_CASE("output that has no room is refused before it is written") {
    Rig rig;
    std::vector<uint8_t> out(100'000, 0xee);
    const auto data = from_memory(rig.data.data(), rig.data.size());
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, run(rig.pipeline, data, to_memory(out.data(), 50'000)));
    CHECK(std::all_of(out.begin() + 50'000, out.end(), [](uint8_t byte) { return byte == 0xee; }));
    Pinned<uint8_t> pinned = rig.gpu.pinned<uint8_t>(100'000);
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, run(rig.pipeline, data, to_memory(pinned.data(), 50'000)));
    CHECK(std::all_of(pinned.begin() + 50'000, pinned.end(), [](uint8_t byte) { return byte == 0; }));
    rig.still_works();
}

TEST_CASE("a cancelled run ends with that status and leaves nothing behind") {
    Rig rig;
    Folder folder;
    Endless endless;
    const std::string path = folder / "out";
    CHECK_OK(gpo_pipeline_cancel(rig.pipeline));  // none runs
    const auto source = endless.source();
    const auto sink = to_file(path);
    REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &source, &sink));
    Queue queue = rig.gpu.queue();
    REQUIRE_OK(gpo_pipeline_notify(rig.pipeline, queue, 7));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pipeline_start(rig.pipeline, &source, &sink));
    endless.wait_for(100);
    REQUIRE_OK(gpo_pipeline_cancel(rig.pipeline));
    auto result = sized<gpo_pipeline_result>();
    CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(rig.pipeline, kPatience, &result));
    CHECK(result.status == GPO_CANCELLED);
    CHECK(folder.names().empty());
    const auto entries = take(queue, 1);
    CHECK(entries[0].status == GPO_CANCELLED);
    CHECK(entries[0].user_data == 7);
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(queue, entries[0].error_id, &error));
    CHECK(error.status == GPO_CANCELLED);
    rig.still_works();
}

TEST_CASE("a file with neither a path nor a descriptor is refused, and nothing is read") {
    Rig rig;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], rig.data.data(), 5000) == 5000);
    close(ends[1]);
    const int in = dup(0);
    REQUIRE(dup2(ends[0], 0) == 0);
    const auto refused = [&](const gpo_source& source, const gpo_sink& sink, const char* word) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pipeline_start(rig.pipeline, &source, &sink));
        CHECK(names(last_error(), word));
    };
    const auto memory = from_memory(rig.data.data(), rig.data.size());
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    refused(source, to_nothing(), "source.path");
    refused(memory, sink, "sink.path");
    source.descriptor = 1000;
    sink.descriptor = 1000;
    refused(source, to_nothing(), "source.descriptor is 1000");
    refused(memory, sink, "sink.descriptor is 1000");
    source.path = "/dev/null";
    source.flags = GPO_SOURCE_USE_DESCRIPTOR;
    sink.path = "/dev/null";
    sink.flags = GPO_SINK_USE_DESCRIPTOR;
    refused(source, to_nothing(), "GPO_SOURCE_USE_DESCRIPTOR");
    refused(memory, sink, "GPO_SINK_USE_DESCRIPTOR");

    auto result = sized<gpo_pipeline_result>();
    CHECK_OK(run(rig.pipeline, from_descriptor(0), to_nothing(), &result));
    CHECK(result.bytes_in == 5000);  // all of it: nothing was read before
    REQUIRE(dup2(in, 0) == 0);
    for (const int descriptor : {in, ends[0]}) close(descriptor);
    rig.still_works();
}

TEST_CASE("a run that waits for a pipe can be cancelled") {
    Rig rig;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.flags = GPO_SOURCE_USE_DESCRIPTOR;
    source.descriptor = ends[0];
    const auto nothing = to_nothing();
    REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &source, &nothing));
    CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(rig.pipeline, 2'000'000, nullptr));
    REQUIRE_OK(gpo_pipeline_cancel(rig.pipeline));
    CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(rig.pipeline, kPatience, nullptr));
    close(ends[0]);

    // The other way: the pipe isn't read.
    REQUIRE(pipe(ends) == 0);
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    sink.flags = GPO_SINK_USE_DESCRIPTOR;
    sink.descriptor = ends[1];
    const auto memory = from_memory(rig.data.data(), rig.data.size());
    REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &memory, &sink));
    CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(rig.pipeline, 2'000'000, nullptr));
    REQUIRE_OK(gpo_pipeline_cancel(rig.pipeline));
    CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(rig.pipeline, kPatience, nullptr));
    close(ends[0]);
    close(ends[1]);
    rig.still_works();
}

TEST_CASE("callbacks may call back, but not wait for their own pipeline") {
    Rig rig;
    struct Calls {
        gpo_pipeline_t pipeline;
        gpo_status wait = -1, start = -1, progress = -1, cancel = -1;
    } calls{rig.pipeline.get()};
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.user = &calls;
    sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
        auto& calls = *static_cast<Calls*>(user);
        auto progress = sized<gpo_pipeline_progress>();
        calls.wait = gpo_pipeline_wait(calls.pipeline, -1, nullptr);
        calls.progress = gpo_pipeline_get_progress(calls.pipeline, &progress);
        auto source = from_memory("", 0);
        const auto nothing = to_nothing();
        calls.start = gpo_pipeline_start(calls.pipeline, &source, &nothing);
        calls.cancel = gpo_pipeline_cancel(calls.pipeline);
        return GPO_SUCCESS;
    };
    CHECK_STATUS(GPO_CANCELLED, run(rig.pipeline, from_memory(rig.data.data(), rig.data.size()), sink));
    CHECK(calls.wait == GPO_WOULD_DEADLOCK);
    CHECK(calls.progress == GPO_SUCCESS);
    CHECK(calls.start == GPO_INVALID_STATE);
    CHECK(calls.cancel == GPO_SUCCESS);
    rig.still_works();
}

TEST_CASE(
    "the stream that a stage is given is the pipeline's: it can't be destroyed, and a leak report doesn't name it") {
    std::string log;
    auto options = sized<gpo_runtime_options>();
    options.log_level = GPO_LOG_WARNING;
    options.log_user = &log;
    options.log = [](void* user, int32_t, const char* line) { *static_cast<std::string*>(user) += line; };
    Gpu gpu(options);
    gpo_status destroyed = -1;
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.user = &destroyed;
    stage.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk*) -> gpo_status {
        *static_cast<gpo_status*>(user) = gpo_stream_destroy(stream);
        return GPO_SUCCESS;
    };
    auto pipeline_options = sized<gpo_pipeline_options>();
    pipeline_options.chunk_bytes = 4096;
    pipeline_options.stages = &stage;
    pipeline_options.stage_stride = sizeof(gpo_stage);
    pipeline_options.stage_count = 1;
    pipeline_options.label = "left";
    gpo_pipeline_t pipeline = nullptr;
    REQUIRE_OK(gpo_pipeline_create(gpu.device, &pipeline_options, &pipeline));
    const std::vector<uint8_t> data = noise(10'000);
    CHECK_OK(run(pipeline, from_memory(data.data(), data.size()), to_nothing()));
    CHECK(destroyed == GPO_INVALID_STATE);
    CHECK_OK(gpo_device_close(std::exchange(gpu.device, nullptr)));
    CHECK_OK(gpo_runtime_shutdown(std::exchange(gpu.runtime, nullptr), kPatience));
    CHECK(log == "shut down with 1 objects that were not destroyed: pipeline `left`");
}

TEST_CASE("a pipeline destroyed while it runs cancels its run and goes") {
    Rig rig;
    Endless endless;
    Queue queue = rig.gpu.queue();
    SUBCASE("from outside") {
        const auto source = endless.source();
        const auto nothing = to_nothing();
        REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &source, &nothing));
        REQUIRE_OK(gpo_pipeline_notify(rig.pipeline, queue, 1));
        endless.wait_for(20);
        gpo_pipeline_t stale = rig.pipeline.release();
        REQUIRE_OK(gpo_pipeline_destroy(stale));
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_pipeline_cancel(stale));
        CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
    }
    SUBCASE("from its own callback") {
        struct Own {
            gpo_pipeline_t pipeline;
            gpo_status status = -1;
        } own{rig.pipeline.release()};
        auto sink = sized<gpo_sink>();
        sink.kind = GPO_SINK_CALLBACK;
        sink.user = &own;
        sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
            auto& own = *static_cast<Own*>(user);
            if (own.pipeline) own.status = gpo_pipeline_destroy(std::exchange(own.pipeline, nullptr));
            return GPO_SUCCESS;
        };
        const auto source = endless.source();
        gpo_pipeline_t pipeline = own.pipeline;
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
        // The entry may be refused when the callback has been quicker.
        if (gpo_pipeline_notify(pipeline, queue, 1) == GPO_SUCCESS) CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
        while (gpo_pipeline_cancel(pipeline) != GPO_STALE_HANDLE) std::this_thread::yield();
        // The runtime's shutdown, at the end of the test, waits for the run.
        CHECK_OK(gpo_runtime_shutdown(std::exchange(rig.gpu.runtime, nullptr), kPatience));
        CHECK(own.status == GPO_SUCCESS);
    }
}

namespace {

/// Another library's cleanup at the end of a thread: here it waits.
struct AtEndOfThread {
    static inline std::atomic<uint32_t> waiting{0};
    static inline std::atomic<bool> go{false};
    bool used = false;
    ~AtEndOfThread() {
        if (!used) return;
        ++waiting;
        while (!go) std::this_thread::yield();
        --waiting;
    }
};
thread_local AtEndOfThread at_end_of_thread;

}  // namespace

TEST_CASE("a pipeline is destroyed without a wait for the ends of its threads, and a shutdown waits for them") {
    AtEndOfThread::go = false;
    auto rig = std::make_unique<Rig>();
    Endless endless;
    auto source = endless.source();
    source.fill = [](void*, void*, uint64_t, uint64_t* bytes) -> gpo_status {
        at_end_of_thread.used = true;
        *bytes = 0;
        return GPO_END;
    };
    std::vector<uint8_t> out(1 << 16);
    REQUIRE_OK(run(rig->pipeline, source, to_memory(out.data(), out.size())));
    std::atomic<bool> destroyed{false};
    std::thread other([&] {
        CHECK_OK(gpo_pipeline_destroy(rig->pipeline.release()));
        destroyed = true;
    });
    CHECK(comes_true([&] { return destroyed.load(); }));
    CHECK(comes_true([&] { return AtEndOfThread::waiting == 1; }));
    CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(rig->gpu.runtime, 1'000'000));
    AtEndOfThread::go = true;
    other.join();
    rig.reset();
    CHECK(AtEndOfThread::waiting == 0);
}

TEST_CASE("who waits for a pipeline's run returns when the pipeline is destroyed") {
    Rig rig;
    Queue queue = rig.gpu.queue();
    gpo_status status = GPO_STALE_HANDLE;
    for (int turn = 0; turn < 100 && status == GPO_STALE_HANDLE;
         ++turn) {  // the pipeline was destroyed before the wait had begun
        Pipeline pipeline = rig.rig.create(rig.gpu);
        int ends[2];
        REQUIRE(pipe(ends) == 0);   // nothing is ever written to this pipe
        const auto source = from_descriptor(ends[0]);
        const auto nothing = to_nothing();
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &nothing));
        REQUIRE_OK(gpo_pipeline_notify(pipeline, queue, 1));
        std::atomic<bool> begins{false};
        std::thread waits([&, handle = pipeline.get()] {
            begins = true;
            status = gpo_pipeline_wait(handle, kPatience, nullptr);
        });
        while (!begins) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(turn));
        REQUIRE_OK(gpo_pipeline_destroy(pipeline.release()));
        CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
        waits.join();
        close(ends[0]);
        close(ends[1]);
    }
    CHECK(status == GPO_CANCELLED);
    rig.still_works();
}

TEST_CASE("a run that is cancelled runs no stage without what the one before it has made it wait for") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> ran = gpu.pinned<uint32_t>(1);
    ran[0] = 0;
    struct Holds {
        gpo_timeline_t timeline;
        gpo_pipeline_t pipeline;
        gpo_status wait = -1, cancel = -1;
    } holds{timeline, nullptr};
    auto first = sized<gpo_stage>();
    first.kind = GPO_STAGE_CALLBACK;
    first.user = &holds;
    first.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk*) -> gpo_status {
        auto& holds = *static_cast<Holds*>(user);
        holds.wait = gpo_stream_wait_timeline(stream, holds.timeline, 1);
        holds.cancel = gpo_pipeline_cancel(holds.pipeline);
        return GPO_SUCCESS;
    };
    Kernel notes = gpu.kernel(R"(extern "C" __global__ void notes(unsigned *ran) { *ran = 1; })", "notes");
    const uint64_t address = ran.address();
    const gpo_stage_argument arguments[] = {constant(address)};
    auto second = sized<gpo_stage>();
    second.kind = GPO_STAGE_KERNEL;
    second.kernel = notes;
    second.block[0] = 1;
    std::fill_n(second.grid, 3, 1u);
    second.arguments = arguments;
    second.argument_stride = sizeof(gpo_stage_argument);
    second.argument_count = 1;
    const gpo_stage stages[] = {first, second};
    rig.options.stages = stages;
    rig.options.stage_stride = sizeof(gpo_stage);
    rig.options.stage_count = 2;
    Pipeline pipeline = rig.create(gpu);
    holds.pipeline = pipeline;
    const auto data = noise(4096);
    CHECK_STATUS(GPO_CANCELLED, run(pipeline, from_memory(data.data(), data.size()), to_nothing()));
    CHECK(holds.wait == GPO_SUCCESS);
    CHECK(holds.cancel == GPO_SUCCESS);
    REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(ran[0] == 0);

    // The next run has streams that work.
    holds.pipeline = nullptr;
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(run(pipeline, from_memory(data.data(), data.size()), to_nothing()));
    CHECK(ran[0] == 1);
}

TEST_CASE("a run that was cancelled leaves the caller's memory alone afterwards") {
    Rig rig;
    Pinned<uint8_t> in = rig.gpu.pinned<uint8_t>(1 << 20), out = rig.gpu.pinned<uint8_t>(1 << 20);
    for (int turn = 0; turn < 20; ++turn) {
        const auto source = from_memory(in.data(), in.bytes());
        const auto sink = to_memory(out.data(), out.bytes());
        REQUIRE_OK(gpo_pipeline_start(rig.pipeline, &source, &sink));
        REQUIRE_OK(gpo_pipeline_cancel(rig.pipeline));
        const gpo_status status = gpo_pipeline_wait(rig.pipeline, kPatience, nullptr);
        CHECK((status == GPO_CANCELLED || status == GPO_SUCCESS));
        std::fill(out.begin(), out.end(), uint8_t{0x55});
        rig.still_works();
        CHECK(std::all_of(out.begin(), out.end(), [](uint8_t byte) { return byte == 0x55; }));
    }
}

TEST_CASE("a run that is cancelled before its stages run copies nothing out, however much the run before has left") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    Timeline timeline = gpu.timeline();
    struct Hold {
        gpo_timeline_t timeline;
        std::atomic<bool> holds{false};
    } hold{timeline};
    auto waits = sized<gpo_stage>();
    waits.kind = GPO_STAGE_CALLBACK;
    waits.user = &hold;
    waits.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk*) -> gpo_status {
        const auto& hold = *static_cast<Hold*>(user);
        return hold.holds ? gpo_stream_wait_timeline(stream, hold.timeline, 1) : GPO_SUCCESS;
    };
    const gpo_stage stages[] = {waits, rig.stage};
    rig.options.stages = stages;
    rig.options.stage_stride = sizeof(gpo_stage);
    rig.options.stage_count = 2;
    Pipeline pipeline = rig.create(gpu);
    Pinned<uint8_t> in = gpu.pinned<uint8_t>(40'000), out = gpu.pinned<uint8_t>(40'000);
    const auto data = noise(in.bytes());
    std::copy(data.begin(), data.end(), in.begin());
    const auto source = from_memory(in.data(), in.bytes());
    const auto sink = to_memory(out.data(), out.bytes());
    for (int turn = 0; turn < 3; ++turn) {
        CAPTURE(turn);
        hold.holds = false;
        REQUIRE_OK(run(pipeline, source, sink));
        CHECK(std::vector<uint8_t>(out.begin(), out.end()) == complement(data));
        std::fill(out.begin(), out.end(), uint8_t{0x55});
        hold.holds = true;
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
        // In the last turn the device has all the work that it can take, held.
        if (turn == 2) CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(pipeline, 5'000'000, nullptr));
        REQUIRE_OK(gpo_pipeline_cancel(pipeline));
        CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(pipeline, kPatience, nullptr));
        REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK(std::all_of(out.begin(), out.end(), [](uint8_t byte) { return byte == 0x55; }));
    }
}

TEST_CASE("chunks and slots that don't fit under the cap on pinned memory are refused, and smaller ones are found") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 1 << 20;
    rig.options.slots = 4;
    rig.options.max_pinned_bytes = 1 << 20;
    Pipeline bounded = rig.create(gpu);
    std::vector<uint8_t> memory(10);
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, run(bounded, from_memory(memory.data(), 10), to_memory(memory.data(), 10)));
    rig.options.chunk_bytes = rig.options.slots = GPO_AUTO;
    Pipeline automatic = rig.create(gpu);
    CHECK_OK(run(automatic, from_memory(memory.data(), 10), to_memory(memory.data(), 10)));
}
