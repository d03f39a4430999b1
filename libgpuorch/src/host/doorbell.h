// A descriptor that any event loop can wait for: readable from when it is rung until it is hushed.
//
// It is an eventfd, non-blocking and closed on exec. Whoever is handed a duplicate owns it and may close it; all duplicates
// are readable together.
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
    /// A duplicate of the caller's own. Throws std::system_error.
    int duplicate() const;

    /// Any thread; they never block, and a ring that has not been hushed absorbs the next. A step each.
    void ring() const noexcept;
    void hush() const noexcept;

private:
    int descriptor_ = -1;
};

}  // namespace gpo::host
