// Room in the driver for streams and graphs that are made beside resident work (stream/blocking_calls.h).
//
// The driver keeps device memory for each stream and for each branch of an executable graph: here, a *lane*. The driver
// also keeps memory for each kernel or copy in such a graph: here, a *node*. The driver takes memory for some forty
// lanes, or 4000 nodes, at a time, and then waits for all kernels. The memory of destroyed objects stays with the
// driver, for later objects. A context has room for 35 lanes and 4000 nodes at first (an H200, driver 580). The driver
// takes local memory in the same way, when a kernel that needs more of it than any kernel before is launched, or a
// graph with the kernel is made.
//
// Therefore room is made before resident work can exist: by a graph with many branches and nodes, and by graphs of the
// kernels that need much local memory. The graphs are destroyed at once and never run. From then on lanes and nodes are
// counted. When less than half of the room is left and there is no resident work, room is made anew. An object that
// finds no room can be made only while there is no resident work.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "device/context.h"

namespace gpo {

class Room {
public:
    /// The room that an object needs: at least as much as the object takes in the driver.
    struct Need {
        int64_t lanes, nodes;
    };
    static constexpr Need kStream{1, 0};
    /// Room for the program's streams and graphs beside resident work. There is some more room, for the library's
    /// hidden streams and for objects that are just being made.
    static constexpr Need kRoom{256, 2048};
    /// Bytes of local memory, for each thread, that any kernel may use at any time: the driver's default stack limit.
    static constexpr uint32_t kLocalBytes = 1024;

    /// The room of a driver object. The destructor gives the room back: after the object is destroyed, and before the
    /// context is destroyed.
    class Share {
    public:
        Share() noexcept = default;
        Share(Share&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)), taken_(other.taken_), round_(other.round_) {}
        Share& operator=(Share other) noexcept {
            std::swap(of_, other.of_);
            std::swap(taken_, other.taken_);
            std::swap(round_, other.round_);
            return *this;
        }
        ~Share() {
            if (of_) of_->give_back(taken_, round_);
        }

    private:
        friend class Room;
        Share(Room& of, Need taken, uint64_t round) noexcept : of_(&of), taken_(taken), round_(round) {}
        Room* of_ = nullptr;
        Need taken_{};
        uint64_t round_ = 0;   // in which the room was made
    };

    explicit Room(Context& context) noexcept : context_(context) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    // All but try_take and take_hidden are called inside a DriverScope.

    /// Called before a resident stream is made. Throws Failure.
    void expect_resident_work();
    /// Takes room for an object that is made next. Throws Failure(GPO_INVALID_STATE) if there is resident work and no
    /// room is left. `what`: "making a stream". With no stream's submit lock held.
    Share take(Need need, const char* what);
    /// Takes room without making any. nullopt: there is no room, or none is known.
    std::optional<Share> try_take(Need need) noexcept;
    /// Takes room for a hidden stream of the library: there is always room for a few.
    Share take_hidden() noexcept;

    /// Notes a kernel that needs more than kLocalBytes of local memory, while no resident work can begin. The kernel
    /// must be removed before its module is unloaded. Throws std::bad_alloc.
    void add_kernel(CUfunction kernel, uint32_t local_bytes, uint32_t parameter_bytes);
    void remove_kernel(CUfunction kernel) noexcept;

private:
    struct Kernel {
        CUfunction native;
        uint32_t local_bytes, parameter_bytes;
    };
    void give_back(Need taken, uint64_t round) noexcept;
    bool counting() noexcept;
    bool low() noexcept;
    void replenish(Need room);
    void make(Need room);
    void make_local(const Kernel& kernel) noexcept;

    Context& context_;
    host::Mutex making_;                // held while room is made
    std::vector<Kernel> kernels_;       // under making_, like the next field
    uint32_t local_bytes_ = kLocalBytes;
    host::Mutex lock_;                  // a leaf. Under it:
    bool counting_ = false;             // there may be resident work
    Need free_{};                       // hidden streams may make the number of lanes negative
    uint64_t round_ = 0;                // number of times that room was made
};

}  // namespace gpo
