// How far each rank of a group of several processes has come, if the engine that executes the collectives doesn't
// report it. Each rank sends its number to all others when the number has changed.
#pragma once

#include <vector>

#include "peers/transport.h"

namespace gpo::peers {

class Progress {
public:
    explicit Progress(Transport& transport);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Sends this rank's number to the others, and receives the numbers that have arrived. Doesn't wait. Throws
    /// Failure.
    void exchange(uint64_t number);
    /// The last number received from a rank; 0 before the first.
    uint64_t of(uint32_t rank) const noexcept { return others_[rank].heard; }

private:
    struct Other {
        uint64_t sent = 0, sending = 0;       // last number sent; the buffer of `out`
        uint64_t heard = 0, hearing = 0;
        Transfer out, in;
    };
    void send(Other& other, uint64_t number);
    void hear(Other& other);

    Transport& transport_;
    std::vector<Other> others_;   // by rank; transfers point into it
};

}  // namespace gpo::peers
