#include "other_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "child.h"
#include "support/gpu.h"

namespace gpo::test::matrix {

namespace {

constexpr const char* kVariable = "GPUORCH_TEST_MATRIX_SOCKET";
constexpr const char* kTest = "matrix: another process looks at events";
constexpr char kImport = 'i', kQuery = 'q', kWait = 'w';

bool send_all(int to, const void* data, size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes != 0) {
        const ssize_t sent = send(to, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        bytes -= static_cast<size_t>(sent);
    }
    return true;
}

bool receive_all(int from, void* data, size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes != 0) {
        const ssize_t got = recv(from, at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<size_t>(got);
    }
    return true;
}

/// The other process: answers until the socket is closed.
void serve(int socket) {
    Gpu gpu;
    Event event;
    for (char what = 0; receive_all(socket, &what, 1);) {
        gpo_status status = GPO_INVALID_ARGUMENT;
        if (what == kImport) {
            char exported[GPO_EXPORT_BYTES];
            if (!receive_all(socket, exported, sizeof exported)) return;
            event.reset();
            status = gpo_event_import(gpu.device, exported, sizeof exported, nullptr, event.out());
        } else {
            status = what == kWait ? gpo_event_wait(event, kPatience) : gpo_event_query(event);
        }
        if (!send_all(socket, &status, sizeof status)) return;
    }
}

}  // namespace

OtherProcess::OtherProcess() {
    int ends[2] = {-1, -1};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    process_ = start_child(kTest, std::string(kVariable) + "=3", ends[1]);
    ::close(ends[1]);
    socket_ = ends[0];
}

OtherProcess::~OtherProcess() {
    ::close(socket_);
    wait_for_child(process_);
}

OtherProcess& OtherProcess::instance() {
    static OtherProcess other;
    return other;
}

gpo_status OtherProcess::ask(char what) {
    gpo_status status = GPO_INTERNAL;
    REQUIRE(send_all(socket_, &what, 1));
    REQUIRE(receive_all(socket_, &status, sizeof status));
    return status;
}

void OtherProcess::import_event(gpo_event_t event) {
    char exported[GPO_EXPORT_BYTES];
    size_t needed = 0;
    REQUIRE_OK(gpo_event_export(event, exported, sizeof exported, &needed));
    gpo_status status = GPO_INTERNAL;
    REQUIRE(send_all(socket_, &kImport, 1));
    REQUIRE(send_all(socket_, exported, sizeof exported));
    REQUIRE(receive_all(socket_, &status, sizeof status));
    REQUIRE_OK(status);
}

gpo_status OtherProcess::query() { return ask(kQuery); }
gpo_status OtherProcess::wait() { return ask(kWait); }

TEST_CASE("matrix: another process looks at events") {
    if (const char* socket = std::getenv(kVariable)) {
        serve(std::atoi(socket));
        CHECK(true);   // it was asked for as long as the first process lived
        return;
    }
    Gpu gpu;
    Event event = gpu.event(GPO_EVENT_INTERPROCESS);
    Stream stream = gpu.stream();
    OtherProcess& other = OtherProcess::instance();
    other.import_event(event);
    REQUIRE_OK(gpo_event_record(event, stream));
    CHECK_OK(other.wait());
    CHECK_OK(other.query());
}

}  // namespace gpo::test::matrix
