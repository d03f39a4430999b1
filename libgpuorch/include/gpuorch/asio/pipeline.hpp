// pipeline.hpp: runs of pipelines (pipeline.h), also with Asio's streams as source and sink.
#ifndef GPUORCH_ASIO_PIPELINE_HPP
#define GPUORCH_ASIO_PIPELINE_HPP

#include <condition_variable>
#include <functional>

#include "port.hpp"

#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#else
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#endif
#endif

namespace gpuorch {

namespace asio_detail {

/// One read or write of a stream at a time, for a thread of the pipeline that waits for it. The stream is used by its
/// own executor only.
template <class Stream>
class stream_transfer : public std::enable_shared_from_this<stream_transfer<Stream>> {
public:
    explicit stream_transfer(Stream& stream) : stream_(stream), executor_(stream.get_executor()) {}

    /// `start(stream, handler)` starts the operation. Returns when it has ended.
    template <class Start>
    error_code run(Start start, std::size_t& bytes) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ended_ = false;
            error_ = net::error::operation_aborted;
            bytes_ = 0;
            if (cancelled_) return error_;
        }
        {
            const auto end = std::make_shared<end_of>(this->shared_from_this());
            net::post(executor_, [self = this->shared_from_this(), end, start] { self->begin(start, end); });
        }
        std::unique_lock<std::mutex> lock(mutex_);
        ended_now_.wait(lock, [this] { return ended_; });
        bytes = bytes_;
        return error_;
    }

    /// Ends the operation under way, and refuses later ones.
    void cancel() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (std::exchange(cancelled_, true)) return;
        }
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        net::post(executor_,
                  [self = this->shared_from_this()] { self->signal_.emit(net::cancellation_type::terminal); });
#endif
    }

private:
    /// Says that the operation has ended, at the latest when its handler is destroyed.
    struct end_of {
        explicit end_of(std::shared_ptr<stream_transfer> of) : of(std::move(of)) {}
        ~end_of() {
            std::lock_guard<std::mutex> lock(of->mutex_);
            of->ended_ = true;
            of->ended_now_.notify_all();
        }
        std::shared_ptr<stream_transfer> of;
    };

    template <class Start>
    void begin(const Start& start, const std::shared_ptr<end_of>& end) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (cancelled_) return;
        }
        auto note = [end](const error_code& error, std::size_t bytes) {
            std::lock_guard<std::mutex> lock(end->of->mutex_);
            end->of->error_ = error;
            end->of->bytes_ = bytes;
        };
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        start(stream_, net::bind_cancellation_slot(signal_.slot(), net::bind_executor(executor_, std::move(note))));
#else
        start(stream_, net::bind_executor(executor_, std::move(note)));
#endif
    }

    Stream& stream_;
    typename Stream::executor_type executor_;
    std::mutex mutex_;
    std::condition_variable ended_now_;
    bool ended_ = false, cancelled_ = false;
    error_code error_;
    std::size_t bytes_ = 0;
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
    net::cancellation_signal signal_;  // used by the executor only
#endif
};

/// What a stream_transfer needs.
template <class T, class = void>
struct is_io_stream : std::false_type {};
template <class T>
struct is_io_stream<T, std::void_t<typename T::executor_type, decltype(std::declval<T&>().get_executor())>>
    : std::true_type {};

struct no_transfer {
    void cancel() {}
};

/// A run whose source is an AsyncReadStream, whose sink is an AsyncWriteStream, or both.
template <class Source, class Sink>
class streamed_run final : public companion {
    template <class Stream>
    using transfer = std::conditional_t<is_io_stream<Stream>::value, stream_transfer<Stream>, no_transfer>;

public:
    streamed_run(Source& source, Sink& sink) : source_(made(source)), sink_(made(sink)) {}

    void cancel() override {
        source_->cancel();
        sink_->cancel();
    }
    void finish(error_code& error, completion& result) override {
        std::lock_guard<std::mutex> lock(mutex_);
        result.bytes = written_;
        if (error && error != net::error::operation_aborted && error_) error = error_;
    }

    gpo_source source(const Source& given) {
        if constexpr (is_io_stream<Source>::value) {
            auto made = sized<gpo_source>();
            made.kind = GPO_SOURCE_CALLBACK;
            made.fill = fill;
            made.user = this;
            return made;
        } else {
            return sized<gpo_source>(given);
        }
    }
    gpo_sink sink(const Sink& given) {
        if constexpr (is_io_stream<Sink>::value) {
            auto made = sized<gpo_sink>();
            made.kind = GPO_SINK_CALLBACK;
            made.take = take;
            made.user = this;
            return made;
        } else {
            return sized<gpo_sink>(given);
        }
    }

private:
    template <class Stream>
    static std::shared_ptr<transfer<Stream>> made([[maybe_unused]] Stream& stream) {
        if constexpr (is_io_stream<Stream>::value)
            return std::make_shared<stream_transfer<Stream>>(stream);
        else
            return std::make_shared<no_transfer>();
    }
    static gpo_status fill(void* user, void* memory, std::uint64_t capacity, std::uint64_t* bytes) {
        auto& self = *static_cast<streamed_run*>(user);
        std::size_t got = 0;
        const error_code error = self.source_->run(
            [memory, capacity](Source& from, auto handler) {
                from.async_read_some(net::buffer(memory, capacity), std::move(handler));
            },
            got);
        *bytes = got;
        return error == net::error::eof ? gpo_status{GPO_END} : self.outcome(error);
    }
    static gpo_status take(void* user, const gpo_chunk* chunk) {
        auto& self = *static_cast<streamed_run*>(user);
        const auto* const first = static_cast<const unsigned char*>(chunk->output);
        for (std::uint64_t at = 0; at < chunk->output_bytes;) {
            std::size_t put = 0;
            const error_code error = self.sink_->run(
                [from = first + at, left = chunk->output_bytes - at](Sink& to, auto handler) {
                    to.async_write_some(net::buffer(from, left), std::move(handler));
                },
                put);
            at += put;
            std::lock_guard<std::mutex> lock(self.mutex_);
            self.written_ += put;
            if (error && !self.error_) self.error_ = error;
            if (error) return GPO_FAILED;
        }
        return GPO_SUCCESS;
    }
    gpo_status outcome(const error_code& error) {
        if (!error) return GPO_SUCCESS;
        std::lock_guard<std::mutex> lock(mutex_);
        if (!error_) error_ = error;
        return GPO_FAILED;
    }

    const std::shared_ptr<transfer<Source>> source_;
    const std::shared_ptr<transfer<Sink>> sink_;
    std::mutex mutex_;
    error_code error_;  // the first one of a stream
    std::uint64_t written_ = 0;
};

}  // namespace asio_detail

template <class Base>
class port_pipelines : public Base {
public:
    /// Runs a pipeline once. Completes with void(error_code, completion) when the run has ended.
    ///
    /// - `source`: a gpo_source, or an AsyncReadStream of Asio (a socket, a pipe, a TLS stream), which is read to its
    ///   end. `sink`: a gpo_sink, or an AsyncWriteStream. A struct is copied. A stream must exist until the run has
    ///   ended. It is read into pinned slots and written from them, chunk by chunk, through its own executor, which
    ///   must not be blocked meanwhile. A slow sink slows the source down.
    /// - `completion::bytes`: the bytes written to a sink that is a stream. Its failure is that of the operation.
    /// - Cancellation of any type ends the run. The operation completes with error::operation_aborted when the run has
    ///   ended. A read or write that waits is cancelled, too, with Asio 1.20 or newer; with an older one, cancel the
    ///   stream.
    /// - End the run before the port. The port's end cancels the run without waiting for it, so the streams must stay
    ///   until the pipeline has ended (gpo_pipeline_wait), and the run's bookkeeping is leaked.
    template <class Source, class Sink, class Token>
    auto async_run(gpo_pipeline_t pipeline, Source& source, Sink& sink, Token&& token) const {
        using From =
            std::conditional_t<asio_detail::is_io_stream<Source>::value, std::reference_wrapper<Source>, Source>;
        using To = std::conditional_t<asio_detail::is_io_stream<Sink>::value, std::reference_wrapper<Sink>, Sink>;
        auto one = this->operation([pipeline, from = From(source), to = To(sink)](
                                       gpo_cq_t queue, std::uint64_t number) mutable -> asio_detail::started {
            Source& given_source = from;
            Sink& given_sink = to;
            const auto run = std::make_shared<asio_detail::streamed_run<Source, Sink>>(given_source, given_sink);
            const gpo_source first = run->source(given_source);
            const gpo_sink last = run->sink(given_sink);
            gpo_status status = gpo_pipeline_start(pipeline, &first, &last);
            if (status != GPO_SUCCESS) return {status, true};
            status = gpo_pipeline_notify(pipeline, queue, number);
            if (status == GPO_SUCCESS) return {status, false, 1, run};
            // Nobody would hear of the run's end.
            run->cancel();
            static_cast<void>(gpo_pipeline_cancel(pipeline));
            static_cast<void>(new auto(run));
            return {status, false};
        });
        one.submits = true;
        one.object = pipeline;
        one.cancel = [](void* object, std::uint64_t, bool) {
            static_cast<void>(gpo_pipeline_cancel(static_cast<gpo_pipeline_t>(object)));
        };
        return this->begin(std::move(one), std::forward<Token>(token));
    }

protected:
    using Base::Base;
};

}  // namespace gpuorch

#endif
