// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

namespace commensal::tls {

/// A socket, with TLS over it or without: what Asio and Beast read from and write to. `Secure` is
/// asio::ssl::stream<Socket&>; this header knows neither, so that each room keeps its own Boost.
/// Without TLS a call goes straight to the socket. Thread-safety: the socket's.
template <class Socket, class Secure>
class EitherStream {
 public:
  using executor_type = typename Socket::executor_type;

  template <class... Of>
  explicit EitherStream(Of&&... of) : socket_(std::forward<Of>(of)...) {}
  EitherStream(const EitherStream&) = delete;
  EitherStream& operator=(const EitherStream&) = delete;

  template <class Context>
  Secure& secure(Context& context) {
    return secure_.emplace(socket_, context);
  }
  std::optional<Secure>& tls() { return secure_; }
  Socket& socket() { return socket_; }
  executor_type get_executor() { return socket_.get_executor(); }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (secure_) return secure_->async_read_some(buffers, std::forward<Handler>(handler));
    socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (secure_) return secure_->async_write_some(buffers, std::forward<Handler>(handler));
    socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  Socket socket_;
  std::optional<Secure> secure_;
};

}  // namespace commensal::tls
