// A file descriptor that any event loop can wait for. Ringing the doorbell makes the descriptor readable; hushing it
// makes the descriptor unreadable again.
//
// The descriptor is an eventfd, non-blocking and closed on exec. Callers own the duplicates they ask for and may close
// them. All duplicates become readable together.
#pragma once

namespace gpo::host {

class Doorbell {
public:
    Doorbell() noexcept = default;
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;
    ~Doorbell();

    /// Makes the descriptor. Before everything else here; throws std::system_error (no descriptor is left).
    void open();
    bool opened() const noexcept { return descriptor_ >= 0; }
    /// A duplicate that the caller owns. Throws std::system_error.
    int duplicate() const;

    /// Any thread; they never block, and a ring that has not been hushed absorbs the next. A step each.
    void ring() const noexcept;
    void hush() const noexcept;

private:
    int descriptor_ = -1;
};

}  // namespace gpo::host
