// SPDX-License-Identifier: Apache-2.0
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <commensal/base/core/network.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <commensal/serve/relay/carried.hpp>
#include <utility>

namespace commensal::relay {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLookMs = 5'000;  // for silence

/// A side whose machine is gone sends no FIN: it is asked after 10 s, and given up after 40.
void settle(asio::ip::tcp::socket& socket) {
  constexpr int kOne = 1, kIdleS = 10, kEveryS = 5, kGiveUpMs = 40'000;
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOne, sizeof kOne);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kOne, sizeof kOne);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleS, sizeof kIdleS);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kEveryS, sizeof kEveryS);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kGiveUpMs, sizeof kGiveUpMs);
}

/// Something has come that nobody has read, or an end.
bool has_news(asio::ip::tcp::socket& socket) {
  std::uint8_t next = 0;
  return ::recv(socket.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/// The other side's machine has it all.
bool has_arrived(asio::ip::tcp::socket& socket) {
  int waiting = 0;
  return ::ioctl(socket.native_handle(), TIOCOUTQ, &waiting) != 0 || waiting == 0;
}

}  // namespace

Carried::Carried(Socket client, std::string network, const core::Clock& clock, const Bounds& bounds,
                 std::function<Way()> where, std::function<void(const Carried*)> ended)
    : client_(std::move(client)),
      target_(client_.get_executor()),
      network_(std::move(network)),
      clock_(clock),
      bounds_(bounds),
      where_(std::move(where)),
      ended_(std::move(ended)),
      resolver_(client_.get_executor()),
      timer_(client_.get_executor()),
      halves_{Half{client_, target_}, Half{target_, client_}},
      since_ns_(clock.monotonic_ns()) {}

void Carried::start() {
  settle(client_);
  heard_ns_ = since_ns_;
  dial();
  tick();
}

std::int64_t Carried::silence_ms() const { return (clock_.monotonic_ns() - heard_ns_) / kMs; }

/// Something that nobody has read yet.
bool Carried::has_client_more() {
  std::uint8_t next = 0;
  return ::recv(client_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// Of what its target has said, or that it has ended.
bool Carried::has_more_to_say() {
  const Half& half = halves_[1];
  return half.is_writing || (!half.buffer.empty() && !half.has_ended && has_news(target_));
}

bool Carried::is_over() {
  if (has_client_more()) return false;
  const Half& half = halves_[1];
  return !has_client_spoken_ || (half.has_ended && !half.is_writing);
}

bool Carried::is_quiet() {
  return token_ != 0 && was_target_last_ && silence_ms() >= limits::kRelayQuietMs &&
         !has_client_more() && !has_more_to_say() && has_arrived(client_);
}

/// Whether it has to end now.
bool Carried::is_late() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (leaves_ns_ != 0) {
    // What it says comes as fast as its client reads: a moment without any is not yet its end.
    const bool is_silent = silence_ms() >= limits::kRelayLastMs && !has_more_to_say();
    return is_silent || now_ns - leaves_ns_ > limits::kDrainMs * kMs;
  }
  if (token_ == 0) return now_ns - since_ns_ > bounds_.wait_ms * kMs;
  return was_target_last_ && silence_ms() > bounds_.idle_ms;
}

/// One timer for all that is waited for.
void Carried::tick() {
  const bool waits = token_ == 0 || leaves_ns_ != 0;
  timer_.expires_after(
      milliseconds(waits ? limits::kRelayAgainMs : std::min(kLookMs, bounds_.idle_ms)));
  timer_.async_wait([self = shared_from_this()](Error error) {
    if (error || self->is_closed_) return;
    if (self->is_late()) return self->close();
    const std::int64_t now_ns = self->clock_.monotonic_ns();
    // One that does not answer may be another's by now.
    if (self->is_dialling_ && now_ns - self->dialled_ns_ > limits::kRelayDialMs * kMs) {
      self->dial_again();
    } else {
      self->dial();
    }
    self->tick();
  });
}

void Carried::look() {
  if (is_closed_) return;
  if (token_ == 0) return dial();
  if (where_().token == token_ || leaves_ns_ != 0) return;
  leaves_ns_ = clock_.monotonic_ns();
  if (is_late()) return close();
  tick();
}

void Carried::dial_again() {
  ++tries_;  // who answers to the last one is not listened to
  is_dialling_ = false;
  resolver_.cancel();
  Error ignored;
  target_.close(ignored);
}

void Carried::dial() {
  if (is_dialling_ || is_closed_ || token_ != 0) return;
  const Way way = where_();
  const auto at = core::Endpoint::parse(way.address);
  if (way.token == 0 || !at) return;
  is_dialling_ = true;
  dialled_ns_ = clock_.monotonic_ns();
  resolver_.async_resolve(
      at->host, std::to_string(at->port), asio::ip::tcp::resolver::numeric_service,
      [self = shared_from_this(), tries = ++tries_, way](Error error, const auto& found) {
        if (self->is_closed_ || self->tries_ != tries) return;
        if (error) return self->dial_again();
        asio::async_connect(self->target_, found,
                            [self, tries, way](Error failed, const auto& /*endpoint*/) {
                              if (self->is_closed_ || self->tries_ != tries) return;
                              if (failed) return self->dial_again();
                              self->on_connected(way);
                            });
      });
}

void Carried::on_connected(const Way& way) {
  Error error;
  // Where nobody listens on a port that the system gives out too, one may get oneself.
  const bool is_itself = target_.local_endpoint(error) == target_.remote_endpoint(error);
  // It may be another's by now.
  if (error || is_itself || where_().token != way.token) return dial_again();
  is_dialling_ = false;
  token_ = way.token;
  settle(target_);
  heard_ns_ = clock_.monotonic_ns();
  tick();
  const auto from = client_.remote_endpoint(error), to = client_.local_endpoint(error);
  if (error) return close();  // the client has left
  if (way.secret.empty()) return begin();
  header_ = crypto::proxy_header(from.data(), to.data(), way.secret, clock_.wall_ms());
  if (header_.empty()) return close();  // it would count as ours
  asio::async_write(target_, asio::buffer(header_),
                    [self = shared_from_this()](Error failed, std::size_t) {
                      if (failed) return self->close();
                      self->begin();
                    });
}

void Carried::begin() {
  for (Half& half : halves_) {
    half.buffer.resize(limits::kRelayBufferBytes);
    pump(half);
  }
}

/// Reads a part, writes all of it, and again.
void Carried::pump(Half& half) {
  if (is_closed_) return;
  half.from.async_read_some(asio::buffer(half.buffer),
                            [self = shared_from_this(), &half](Error error, std::size_t bytes) {
                              self->on_read(half, error, bytes);
                            });
}

void Carried::on_read(Half& half, Error error, std::size_t bytes) {
  if (is_closed_) return;
  if (error == asio::error::eof) {
    Error ignored;
    half.to.shutdown(Socket::shutdown_send, ignored);
    half.has_ended = true;
    if (halves_[0].has_ended && halves_[1].has_ended) close();
    return;
  }
  if (error) return close();
  heard_ns_ = clock_.monotonic_ns();
  was_target_last_ = &half == &halves_[1];
  has_client_spoken_ |= !was_target_last_;
  half.is_writing = true;
  asio::async_write(half.to, asio::buffer(half.buffer.data(), bytes),
                    [self = shared_from_this(), &half](Error failed, std::size_t) {
                      half.is_writing = false;
                      if (failed) return self->close();
                      self->pump(half);
                    });
}

void Carried::close() {
  if (std::exchange(is_closed_, true)) return;
  timer_.cancel();
  resolver_.cancel();
  Error ignored;
  client_.close(ignored);
  target_.close(ignored);
  ended_(this);
}

}  // namespace commensal::relay
