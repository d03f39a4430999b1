#include "peers/progress.h"

namespace gpo::peers {

namespace {

Transfer transfer_of(uint32_t peer, bool sends, uint64_t* number) noexcept {
    Transfer made;
    made.peer = peer;
    made.sends = sends;
    made.bytes = reinterpret_cast<std::byte*>(number);
    made.size = sizeof *number;
    return made;
}

}  // namespace

Progress::Progress(Transport& transport) : transport_(transport), others_(transport.ranks()) {
    for (uint32_t rank = 0; rank < transport.ranks(); ++rank) {
        Other& other = others_[rank];
        other.in = transfer_of(rank, false, &other.hearing);
        other.out = transfer_of(rank, true, &other.sending);
        other.out.complete = true;
    }
}

Progress::~Progress() {
    for (Other& other : others_)
        for (Transfer* const transfer : {&other.in, &other.out})
            if (!transfer->complete) transport_.give_up(*transfer);
}

void Progress::exchange(uint64_t number) {
    for (uint32_t rank = 0; rank < others_.size(); ++rank) {
        if (rank == transport_.rank()) continue;
        hear(others_[rank]);
        send(others_[rank], number);
    }
}

void Progress::send(Other& other, uint64_t number) {
    if (!other.out.complete) transport_.advance(other.out);
    if (!other.out.complete || other.sent == number) return;
    other.sent = other.sending = number;
    other.out = transfer_of(other.out.peer, true, &other.sending);
    transport_.advance(other.out);
}

void Progress::hear(Other& other) {
    while (transport_.advance(other.in)) {
        if (!other.in.complete) continue;
        other.heard = other.hearing;
        other.in = transfer_of(other.in.peer, false, &other.hearing);
    }
}

}  // namespace gpo::peers
