// How far each rank of a group of several processes has come, where the engine that carries collectives out doesn't
// tell: short messages, each rank to all others, when its number has changed.
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

    /// Tells the others this rank's number, and hears theirs, as far as they have come. Waits for nothing. Throws
    /// Failure.
    void exchange(uint64_t number);
    /// What was heard of another rank last; 0 before.
    uint64_t of(uint32_t rank) const noexcept { return others_[rank].heard; }

private:
    struct Other {
        uint64_t told = 0, telling = 0;       // `telling` is on its way, or is `told`
        uint64_t heard = 0, hearing = 0;
        Transfer out, in;
    };
    void tell(Other& other, uint64_t number);
    void hear(Other& other);

    Transport& transport_;
    std::vector<Other> others_;   // by rank; transfers point into it
};

}  // namespace gpo::peers
