// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_prefix.hpp>
#include <boost/beast/http/read.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/http/connection.hpp>
#include <commensal/serve/http/head.hpp>
#include <limits>

namespace commensal::http {

namespace {

namespace beast_http = beast::http;

// How long is still read and thrown away after a refusal: its client reads that, not a reset.
constexpr std::int64_t kLingerMs = 2'000, kCancelAgainMs = 50;
// How soon, and at the latest, it is looked again whether a client has left whose bytes are unread.
constexpr std::chrono::milliseconds kFirstLook{1}, kLastLook{64};

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr auto kLengthUnknown = std::size_t{kAny};

/// Who connects to where nothing but figures are served: no account and no network is called so.
const std::string kReaders = "@metrics";
/// The route of what has none, or is refused before it is known who asks.
constexpr std::string_view kNone = observe::kNoRoute;

/// In our memory.
std::int64_t bytes_of(const Response& response) {
  return static_cast<std::int64_t>(response.text.capacity() +
                                   (response.is_file ? 0 : response.rest.size()));
}

/// "" where the client has gone already.
std::string network_of(const asio::ip::tcp::socket& socket) {
  beast::error_code error;
  const auto from = socket.remote_endpoint(error);
  return "@" + (error ? "" : core::network_of(from.data()));  // no account is called so
}

bool is_loopback(const asio::ip::tcp::socket& socket) {
  beast::error_code error;  // then it is nobody's address
  return socket.remote_endpoint(error).address().is_loopback();
}

}  // namespace

Connection::Connection(Socket socket, Shared& shared, Closed closed)
    : stream_(std::move(socket)),
      shared_(shared),
      closed_(std::move(closed)),
      timer_(stream_.get_executor()),
      buffer_(limits::kHttpHeaderBytesMax + limits::kHttpPieceBytes),
      place_{.party = shared.is_for_metrics ? kReaders : network_of(stream_.socket()),
             .since_ns = shared.clock.monotonic_ns()},
      unwritten_(std::array<asio::const_buffer, 3>()) {
  Error ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

template <class Then>
auto Connection::from_loop(Then then) {
  return [gate = shared_.gate, weak = weak_from_this(), then](auto... args) {
    const std::lock_guard lock(gate->mutex);
    const auto self = gate->io == nullptr ? nullptr : weak.lock();
    if (!self) return false;
    auto held = std::make_shared<std::tuple<decltype(args)...>>(std::move(args)...);
    asio::post(self->stream_.get_executor(), [self, then, held] {
      if (self->phase_ == Phase::kClosed) return;
      std::apply([&](auto&... values) { ((*self).*then)(std::move(values)...); }, *held);
    });
    return true;
  };
}

void Connection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->hear_front(); });
}

void Connection::stop(bool at_once) {
  asio::post(stream_.get_executor(), [self = shared_from_this(), at_once] {
    self->close_after_ = true;
    if (at_once || self->phase_ == Phase::kIdle) self->close();
  });
}

void Connection::allow(std::int64_t ms) {
  timed_out_ = false;
  cancel_after(ms, ++waits_);
}

void Connection::cancel_after(std::int64_t ms, std::uint64_t wait) {
  timer_.expires_after(std::chrono::milliseconds(ms));
  timer_.async_wait([weak = weak_from_this(), wait](Error error) {
    const auto self = weak.lock();
    if (error || !self || self->waits_ != wait) return;
    self->timed_out_ = true;
    Error ignored;
    self->stream_.socket().cancel(ignored);
    // What is awaited may be between two reads just now, and would not notice.
    self->cancel_after(kCancelAgainMs, wait);
  });
}

void Connection::hear_somebody(bool is_at_work) {
  const std::lock_guard lock(place_mutex_);
  place_ = {call_->account.name, true, is_at_work, shared_.clock.monotonic_ns()};
}

std::optional<core::Place> Connection::place() const {
  const std::lock_guard lock(place_mutex_);
  return is_leaving_ ? std::nullopt : std::optional(place_);
}

void Connection::make_room() {
  const auto leave = [this] {
    const std::lock_guard lock(place_mutex_);
    return is_leaving_ = !place_.is_at_work;
  };
  if (!leave()) return;
  asio::post(stream_.get_executor(), [self = shared_from_this(), leave] {
    if (leave()) self->close();  // unless it is at work meanwhile
  });
}

void Connection::allow_piece() {
  const std::int64_t took_ms = (shared_.clock.monotonic_ns() - transfer_.begun_ns) / 1'000'000;
  const std::int64_t earned_ms = transfer_.bytes * 1000 / limits::kHttpBytesPerSecondMin;
  allow(std::clamp<std::int64_t>(limits::kHttpPieceWaitMs + earned_ms - took_ms, 0,
                                 limits::kHttpPieceWaitMs));
}

void Connection::begin() {
  if (!shared_.identity) return wait_for_request();
  allow(limits::kHttpHeaderWaitMs);
  stream_.socket().async_wait(Socket::wait_read, [self = shared_from_this()](Error error) {
    if (error) return self->close();
    self->shared_.handshakes.wait(self->place_.party, self->from_loop(&Connection::shake_hands));
  });
}

void Connection::shake_hands() {
  if (timed_out_ || has_left()) return close();
  asio::ssl::context context(shared_.identity->new_server_context(tls::Protocol::kHttp1));
  stream_.secure(context).async_handshake(asio::ssl::stream_base::server,
                                          [self = shared_from_this()](Error error) {
                                            if (error) return self->close();
                                            self->wait_for_request();
                                          });
}

void Connection::wait_for_request() {
  head_.reset();
  body_.reset();
  call_.reset();
  tag_ = {};
  phase_ = Phase::kIdle;
  if (close_after_ || shared_.stopping) return close();
  if (buffer_.size() > 0) return read_head();
  allow(limits::kHttpIdleWaitMs);
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](Error error, std::size_t size) {
                            if (error) return self->close();
                            self->buffer_.commit(size);
                            self->read_head();
                          });
}

void Connection::read_head() {
  phase_ = Phase::kReading;
  head_.emplace();
  head_->header_limit(limits::kHttpHeaderBytesMax);
  head_->body_limit(boost::none);  // on_admitted knows the route's
  allow(limits::kHttpHeaderWaitMs);
  beast_http::async_read_header(
      stream_, buffer_, *head_,
      [self = shared_from_this()](Error error, std::size_t) { self->on_head(error); });
}

bool Connection::failed(Error error) {
  if (!error) return false;
  is_head_ = false;
  if (timed_out_) {
    refuse(error_response(408, "the request took too long to arrive"));
  } else if (const auto refusal = refusal_of(error)) {
    refuse(error_response(refusal->status, refusal->message));
  } else {
    close();  // the client has left
  }
  return true;
}

void Connection::on_head(Error error) {
  if (failed(error)) return;
  const auto& head = head_->get();
  is_head_ = head.method() == beast_http::verb::head;
  tag_ = tag_of(head, shared_.services.serving.observer);
  if (auto refusal = refusal_of(head))
    return refuse(error_response(refusal->status, refusal->message));
  Request request = request_of(head);
  request.from.party = place_.party;
  request.from.is_strangers = is_strangers() && !shared_.is_for_metrics;
  request.from.is_local = relays_ == 0 && is_loopback(stream_.socket());
  request.tag = tag_;
  request.is_for_metrics = shared_.is_for_metrics;
  request.page = shared_.page;
  phase_ = Phase::kAnswering;
  admit(shared_.services, request, from_loop(&Connection::on_admitted));
}

void Connection::on_admitted(CallPtr call, std::optional<Response> refusal) {
  call_ = std::move(call);
  if (refusal) return refuse(*std::move(refusal));
  if (call_->has_account) hear_somebody(true);
  const std::int64_t bytes_max = body_bytes_max(*call_);
  const auto length = head_->content_length();
  if (length && std::cmp_greater(*length, bytes_max)) return refuse(too_long(*call_, *length));
  phase_ = Phase::kReading;
  const bool waits = beast::iequals(head_->get()[beast_http::field::expect], "100-continue");
  body_.emplace(std::move(*head_));
  body_->body_limit(static_cast<std::uint64_t>(bytes_max));
  if (!waits || body_->is_done() || buffer_.size() > 0) return start_body();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  allow(limits::kHttpPieceWaitMs);
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = shared_from_this()](Error error, std::size_t) {
                      if (error) return self->close();
                      self->start_body();
                    });
}

void Connection::start_body() {
  if (body_->is_done()) return answer();
  begin_transfer();
  read_piece();
}

void Connection::read_piece() {
  core::GrowingBytes& body = call_->body;
  const std::size_t expected = body_->content_length().value_or(kLengthUnknown);
  piece_ = body.prepare(std::min(limits::kHttpPieceBytes, expected - body.size()), expected);
  auto& part = body_->get().body();
  part.data = piece_.data();
  part.size = piece_.size();
  part.more = true;
  allow_piece();
  beast_http::async_read(
      stream_, buffer_, *body_,
      [self = shared_from_this()](Error error, std::size_t) { self->on_piece(error); });
}

void Connection::on_piece(Error error) {
  if (error == beast_http::error::need_buffer) error = {};
  if (failed(error)) return;
  call_->body.commit(piece_.size() - body_->get().body().size);
  transfer_.bytes = static_cast<std::int64_t>(call_->body.size());
  const auto held = call_->memory.set(transfer_.bytes);
  if (!held) return refuse(error_response(held.error()));
  if (body_->is_done()) return answer();
  read_piece();
}

void Connection::answer() {
  phase_ = Phase::kAnswering;
  ++waits_;  // from here it is the gateway that takes its time
  timer_.cancel();
  close_after_ = close_after_ || !body_->keep_alive();
  watch(std::chrono::milliseconds(0));
  serve(shared_.services, call_, from_loop(&Connection::respond));
}

/// Whether the client has closed its side, whatever of it is still to be read.
bool Connection::has_left() {
  pollfd socket = {stream_.socket().native_handle(), POLLRDHUP, 0};
  return ::poll(&socket, 1, 0) > 0;
}

/// Whether the client leaves while the gateway takes its time. What has come is not read: the next
/// request perhaps, or TLS's goodbye; behind that the end is looked for again, ever more seldom.
void Connection::watch(std::chrono::milliseconds pause) {
  const auto look = [self = shared_from_this(), weak = std::weak_ptr(call_), pause](Error error) {
    const CallPtr call = weak.lock();
    if (error || !call || self->call_ != call || self->phase_ != Phase::kAnswering) return;
    if (!self->has_left()) return self->watch(std::min(2 * pause + kFirstLook, kLastLook));
    call->left.request_stop();
    self->close();
  };
  if (pause.count() == 0) return stream_.socket().async_wait(Socket::wait_read, look);
  timer_.expires_after(pause);
  timer_.async_wait(look);
}

void Connection::refuse(Response response) {
  // Unless the request has been read to its end, the rest of it is somewhere in the stream.
  const bool is_read = !body_ && head_->is_done();
  close_after_ = close_after_ || !is_read || !head_->keep_alive();
  // Who shows no token is refused as often as it may ask, then ends each time.
  const bool is_known = call_ && call_->has_account;
  const auto now_ns = shared_.clock.monotonic_ns();
  close_after_ |= !is_known && !shared_.services.serving.strangers.ask(place_.party, now_ns);
  respond(std::move(response));
}

void Connection::respond(Response response) {
  phase_ = Phase::kWriting;
  close_after_ = close_after_ || shared_.stopping;
  if (!call_) call_ = std::make_shared<Call>();  // nobody's
  // What is small is answered even to who may have no more: it may be the refusal.
  if (bytes_of(response) > limits::kHttpSmallBodyBytesMax) {
    const auto held = call_->memory.set(bytes_of(response));
    if (!held) response = error_response(held.error());
  }
  if (!call_->has_account) {
    shared_.services.serving.strangers.answer(
        place_.party, response.text.size() + response.rest.size(), shared_.clock.monotonic_ns());
  }
  call_->memory.note(bytes_of(response));
  if (!tag_.id.empty()) response.headers.emplace_back("X-Request-Id", tag_.id);
  const auto [method, pattern] = call_->route == nullptr
                                     ? std::pair<std::string_view, std::string_view>(kNone, kNone)
                                     : std::pair(call_->route->method, call_->route->pattern);
  shared_.services.serving.observer.answered({tag_, method, pattern, response.status});
  call_->response = std::move(response);
  const Response& answer = call_->response;
  response_head_ = response_head(answer, !close_after_, shared_.clock.wall_ms());
  std::array<asio::const_buffer, 3> parts = {asio::buffer(response_head_)};
  if (!is_head_) {
    parts[1] = asio::buffer(answer.text);
    parts[2] = asio::buffer(answer.rest.data(), answer.rest.size());
  }
  unwritten_ = beast::buffers_suffix(parts);
  begin_transfer();
  write_piece();
}

void Connection::write_piece() {
  allow_piece();
  stream_.async_write_some(beast::buffers_prefix(limits::kHttpPieceBytes, unwritten_),
                           [self = shared_from_this()](Error error, std::size_t size) {
                             if (error) return self->close();
                             self->unwritten_.consume(size);
                             self->transfer_.bytes += static_cast<std::int64_t>(size);
                             if (beast::buffer_bytes(self->unwritten_) > 0)
                               return self->write_piece();
                             self->on_written();
                           });
}

void Connection::on_written() {
  if (call_->has_account) hear_somebody(false);
  call_->memory = {};  // its client may ask the next at once, whoever else holds this one yet
  call_.reset();
  if (!close_after_) return wait_for_request();
  linger();
}

void Connection::linger() {
  phase_ = Phase::kLingering;
  if (!stream_.tls()) return end_writing();
  allow(kLingerMs);
  stream_.tls()->async_shutdown([self = shared_from_this()](Error) { self->end_writing(); });
}

void Connection::end_writing() {
  if (phase_ == Phase::kClosed) return;
  Error ignored;
  stream_.socket().shutdown(Socket::shutdown_send, ignored);
  allow(kLingerMs);
  drain();
}

void Connection::drain() {
  buffer_.clear();
  stream_.socket().async_read_some(
      buffer_.prepare(1 << 16), [self = shared_from_this()](Error error, std::size_t size) {
        self->drained_bytes_ += static_cast<std::int64_t>(size);
        if (error || self->drained_bytes_ > limits::kHttpLingerBytesMax) return self->close();
        self->drain();
      });
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  ++waits_;
  timer_.cancel();
  Error ignored;
  stream_.socket().close(ignored);
  closed_(shared_from_this());
}

}  // namespace commensal::http
