// A file descriptor that any event loop can wait for. Ringing the doorbell makes the descriptor readable; hushing it
// makes the descriptor unreadable again.
//
// The descriptor is an eventfd, non-blocking and closed on exec. Callers of duplicate() own the duplicate, and close
// it. All duplicates become readable together.
#pragma once

namespace gpo::host {

class Doorbell {
public:
    Doorbell() noexcept = default;
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;
    ~Doorbell();

    /// Makes the descriptor. Call this first. Throws std::system_error if no descriptor is left.
    void open();
    bool opened() const noexcept { return descriptor_ >= 0; }
    /// A duplicate that the caller owns. Throws std::system_error.
    int duplicate() const;

    /// Any thread may call these; they never block. Several rings before a hush count as one. Each call is a step.
    void ring() const noexcept;
    void hush() const noexcept;

private:
    int descriptor_ = -1;
};

}  // namespace gpo::host
