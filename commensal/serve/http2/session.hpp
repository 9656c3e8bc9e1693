// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/http2/call_server.hpp>
#include <commensal/serve/http2/stream.hpp>
#include <commensal/serve/tls/either_stream.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <variant>

/// One connection; for this room's own sources only: this header shows Boost and nghttp2.
namespace commensal::http2 {

namespace asio = boost::asio;

inline constexpr std::size_t kWriteBytes = 256 << 10;  // at a time, some more

/// Where actions of any thread go to the server's: those that wait together are done together.
/// Thread-safety: any thread.
class Gate {
 public:
  using Task = std::function<void()>;

  explicit Gate(asio::io_context& io) : io_(&io) {}
  /// Dropped after close().
  void post(Task task);
  void close();

 private:
  void run();

  std::mutex mutex_;  // guards the rest
  asio::io_context* io_;
  std::vector<Task> tasks_;
};

struct Shared {
  const core::Clock& clock;
  const std::shared_ptr<rpc::Door> door;
  const std::shared_ptr<const tls::Identity> identity;  // null: no TLS
  const Terms terms;
  const std::shared_ptr<Gate> gate;
  Begin begin;
};

/// Thread-safety: the server's thread.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  using Socket = asio::ip::tcp::socket;
  using Closed = std::function<void(const std::shared_ptr<Session>&)>;

  /// `closed` is called once, last.
  Session(Socket socket, Shared& shared, Closed closed);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  void start();
  /// Ends what is late or silent.
  void look(std::int64_t now_ns);
  /// No new calls: first that is said, then, a moment later, which was the last.
  void leave(bool is_last_word);
  void close();

  void read(std::int32_t stream);
  void write(std::int32_t stream, Message message);
  void finish(std::int32_t stream, Status status);
  void cancel(std::int32_t stream, End how);

 private:
  using Error = boost::system::error_code;
  struct Events;  // what nghttp2 calls

  enum class Leaving : std::uint8_t { kNo, kNoticed, kLast };

  void begin();
  /// Unless too much waits to be written.
  void receive();
  void on_received(Error error, std::size_t size);
  /// Writes what may be written, and closes once nothing is left to be said.
  void pump();
  void flush_later();
  Stream* find(std::int32_t id);
  void on_head(Stream& stream);
  void on_data(Stream& stream, std::string_view data);
  void on_client_end(Stream& stream);
  void on_stream_close(std::int32_t id);
  bool may_speak();
  void feed(Stream& stream, std::string_view data);
  void answer(Stream& stream);
  /// Who does not speak gRPC, which counts as a word.
  void refuse(Stream& stream, std::string_view http_status);
  /// Has the other side send as much of it ahead as is to come, within bounds.
  void widen(Stream& stream);
  /// Of what has just come, what was no call's. Whether that may be.
  bool may_idle(std::size_t heard);

  tls::EitherStream<Socket, asio::ssl::stream<Socket&>> stream_;
  Shared& shared_;
  Closed closed_;
  rpc::Peer peer_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Stream> streams_;
  std::array<std::uint8_t, 64 << 10> heard_;
  std::string unsent_;
  core::Rates<std::monostate> words_;  // that are of no call
  core::Rates<std::monostate> idle_;   // bytes, likewise
  std::size_t of_calls_ = 0;           // bytes of what is being read, about
  std::int64_t since_ns_ = 0;          // without a call
  std::int64_t heard_ns_ = 0;
  std::int64_t written_ns_ = 0;  // what is being written was begun then
  Leaving leaving_ = Leaving::kNo;
  bool is_begun_ = false;  // after TLS's handshake
  bool is_pinging_ = false, is_writing_ = false, is_flushing_ = false, is_in_library_ = false;
  bool is_reading_ = false;
  bool is_dead_ = false;  // to be closed as soon as nghttp2 has returned
  bool is_closed_ = false;
};

}  // namespace commensal::http2
