// config.hpp: the Asio that asio.hpp is for: Boost.Asio, or standalone Asio.
#ifndef GPUORCH_ASIO_CONFIG_HPP
#define GPUORCH_ASIO_CONFIG_HPP

#include <utility>  // before Asio: Boost 1.74 uses std::exchange without it

#if defined(ASIO_STANDALONE) && !defined(GPUORCH_ASIO_STANDALONE)
#define GPUORCH_ASIO_STANDALONE
#endif

#if defined(GPUORCH_ASIO_STANDALONE)
#include <system_error>

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/is_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/require.hpp>
#include <asio/version.hpp>
#define GPUORCH_ASIO_VERSION ASIO_VERSION
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/is_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/version.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#define GPUORCH_ASIO_VERSION BOOST_ASIO_VERSION
#endif

// Cancellation slots came with Asio 1.20 (Boost 1.77).
#if GPUORCH_ASIO_VERSION >= 102000
#define GPUORCH_ASIO_HAS_CANCELLATION_SLOTS 1
#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/associated_cancellation_slot.hpp>
#else
#include <boost/asio/associated_cancellation_slot.hpp>
#endif
#endif

namespace gpuorch {

#if defined(GPUORCH_ASIO_STANDALONE)
namespace net = ::asio;
using error_code = std::error_code;
using error_category = std::error_category;
using error_condition = std::error_condition;
using system_error = std::system_error;
#else
namespace net = ::boost::asio;
using error_code = boost::system::error_code;
using error_category = boost::system::error_category;
using error_condition = boost::system::error_condition;
using system_error = boost::system::system_error;
#endif

}  // namespace gpuorch

#endif
