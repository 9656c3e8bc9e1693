// SPDX-License-Identifier: Apache-2.0
#pragma once

// Within http/ only: this header shows Boost.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/handshakes.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <commensal/serve/tls/either_stream.hpp>
#include <mutex>

namespace commensal::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

/// The way from the gateway's loop back to the sockets' threads, closed before those end: what
/// comes later is dropped.
struct Gate {
  std::mutex mutex;
  asio::io_context* io = nullptr;  // null once closed
};

/// What all connections of a server share. Thread-safety: any thread.
struct Shared {
  const Services& services;
  const core::Clock& clock;
  std::shared_ptr<Gate> gate;
  std::shared_ptr<const tls::Identity> identity;  // null: no TLS
  bool is_for_metrics;                            // nothing else is served there
  Handshakes& handshakes;
  std::shared_ptr<const Page> page = {};  // null: none
  core::RelaySecrets relays = {};         // core::Listener's
  std::atomic<bool> stopping = false;
};

/// One client: reads a request, has it answered, writes the answer, and again. Everything happens
/// on the socket's strand. Pipelined requests wait for their turn in the buffer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::ip::tcp::socket;
  using Closed = std::function<void(const std::shared_ptr<Connection>&)>;

  /// `closed` is called once; the server keeps the connection alive until then.
  Connection(Socket socket, Shared& shared, Closed closed);

  void start();
  /// Closes it: now, if it waits for a request or `at_once`, else after its answer. Any thread.
  void stop(bool at_once);
  /// What it is where one has to leave; a stranger is called by its address, of IPv6 by its
  /// network (/48). Nothing once it is to leave. Any thread.
  std::optional<core::Place> place() const;
  /// Closes it unless it is at work for somebody known now. Any thread.
  void make_room();

 private:
  using Error = beast::error_code;
  enum class Phase : std::uint8_t { kIdle, kReading, kAnswering, kWriting, kLingering, kClosed };

  void hear_front();
  void take_front(int tries);
  void begin();
  void shake_hands();
  void wait_for_request();
  void read_head();
  void on_head(Error error);
  void on_admitted(CallPtr call, std::optional<Response> refusal);
  void start_body();
  void read_piece();
  void on_piece(Error error);
  void answer();
  bool has_left();
  void watch(std::chrono::milliseconds pause);
  void refuse(Response response);
  void respond(Response response);
  void write_piece();
  void on_written();
  void linger();
  void end_writing();
  void drain();
  void close();

  /// Runs `then`(this, args...) on the strand, from any thread, unless this or the server is gone:
  /// then it returns false.
  template <class Then>
  auto from_loop(Then then);
  /// Whatever is awaited is cancelled after `ms`.
  void allow(std::int64_t ms);
  void cancel_after(std::int64_t ms, std::uint64_t wait);
  /// A body of either way begins.
  void begin_transfer() { transfer_ = {shared_.clock.monotonic_ns(), 0}; }
  /// The same for its next piece: soon, and at limits::kHttpBytesPerSecondMin on the whole.
  void allow_piece();
  bool is_strangers() const { return !place_.is_known; }
  void hear_somebody(bool is_at_work);
  bool failed(Error error);

  tls::EitherStream<Socket, asio::ssl::stream<Socket&>> stream_;
  Shared& shared_;
  Closed closed_;
  asio::steady_timer timer_;
  std::uint64_t waits_ = 0;
  bool timed_out_ = false;
  Phase phase_ = Phase::kIdle;
  bool close_after_ = false;
  int relays_ = 0;  // that it has come by

  beast::flat_buffer buffer_;
  std::optional<beast::http::request_parser<beast::http::empty_body>> head_;
  std::optional<beast::http::request_parser<beast::http::buffer_body>> body_;
  std::span<std::uint8_t> piece_;  // of call_->body, being read
  struct Transfer {
    std::int64_t begun_ns = 0;
    std::int64_t bytes = 0;
  };
  Transfer transfer_;
  mutable std::mutex place_mutex_;  // guards the next two
  core::Place place_;
  bool is_leaving_ = false;
  CallPtr call_;  // holds the answer until it is written
  bool is_head_ = false;
  observe::RequestTag tag_;  // of the request; without an id before one has come

  std::string response_head_;
  beast::buffers_suffix<std::array<asio::const_buffer, 3>> unwritten_;
  std::int64_t drained_bytes_ = 0;
};

}  // namespace commensal::http
