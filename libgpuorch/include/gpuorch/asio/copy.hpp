// copy.hpp: copies between Asio's buffers and device memory (memory.h).
#ifndef GPUORCH_ASIO_COPY_HPP
#define GPUORCH_ASIO_COPY_HPP

#include <iterator>

#include "port.hpp"

namespace gpuorch {

namespace asio_detail {

inline std::uint64_t address_of(std::uint64_t address) noexcept { return address; }
template <class T>
std::uint64_t address_of(device_ptr<T> at) noexcept {
    return at.address();
}
template <class T>
std::uint64_t address_of(const buffer<T>& memory) noexcept {
    return memory.get().address();
}

}  // namespace asio_detail

/// Copies put on a stream. The operation completes with void(error_code, completion) when the stream has done the copy.
/// `completion::bytes` is then the number of bytes.
///
/// - An address is a device_ptr, a buffer or a number. Host memory is a buffer of Asio or a sequence of buffers. The
///   memory must stay until the operation is done (`completion::gpu_done`). Pinned memory (an arena's, or registered:
///   memory.h) is fastest. A copy with other memory may block the caller while the driver stages it.
/// - Cancellation of any type abandons the wait. The copy goes on, and uses the memory until the stream has done it.
template <class Base>
class port_copies : public Base {
public:
    /// To the device, the buffers one behind the other.
    template <class Address, class Buffers, class Token,
              std::enable_if_t<net::is_const_buffer_sequence<Buffers>::value, int> = 0>
    auto async_copy(gpo_stream_t stream, const Address& to, const Buffers& from, Token&& token) const {
        const std::uint64_t address = asio_detail::address_of(to);
        const auto copy = [address](gpo_stream_t on, const net::const_buffer& one, std::uint64_t at) {
            return gpo_copy_to_device(on, address + at, one.data(), one.size());
        };
        return each(stream, from, copy, std::forward<Token>(token));
    }
    /// From the device, into the buffers one behind the other.
    template <class Buffers, class Address, class Token,
              std::enable_if_t<net::is_mutable_buffer_sequence<Buffers>::value, int> = 0,
              class = decltype(asio_detail::address_of(std::declval<const Address&>()))>
    auto async_copy(gpo_stream_t stream, const Buffers& to, const Address& from, Token&& token) const {
        const std::uint64_t address = asio_detail::address_of(from);
        const auto copy = [address](gpo_stream_t on, const net::mutable_buffer& one, std::uint64_t at) {
            return gpo_copy_to_host(on, one.data(), address + at, one.size());
        };
        return each(stream, to, copy, std::forward<Token>(token));
    }
    /// From a place of the stream's device to another one.
    template <class To, class From, class Token>
    auto async_copy(gpo_stream_t stream, const To& to, const From& from, std::uint64_t bytes, Token&& token) const {
        const std::uint64_t destination = asio_detail::address_of(to), source = asio_detail::address_of(from);
        const auto copy = [destination, source, bytes](gpo_stream_t on) {
            return gpo_copy_on_device(on, destination, source, bytes);
        };
        return this->begin_on(stream, copy, std::forward<Token>(token), bytes);
    }

protected:
    using Base::Base;

private:
    template <class Buffers, class Copy, class Token>
    auto each(gpo_stream_t stream, const Buffers& buffers, Copy copy, Token&& token) const {
        const auto put = [buffers, copy](gpo_stream_t on) -> gpo_status {
            std::uint64_t at = 0;
            const auto end = net::buffer_sequence_end(buffers);
            for (auto one = net::buffer_sequence_begin(buffers); one != end; ++one) {
                const gpo_status status = copy(on, *one, at);
                if (status != GPO_SUCCESS && at == 0) return status;
                check(status);  // some of the copies are on their way
                at += static_cast<std::uint64_t>((*one).size());
            }
            return GPO_SUCCESS;
        };
        return this->begin_on(stream, put, std::forward<Token>(token), net::buffer_size(buffers));
    }
};

}  // namespace gpuorch

#endif
