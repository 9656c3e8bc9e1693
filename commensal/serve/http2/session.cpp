// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/http2/session.hpp>
#include <commensal/serve/http2/session_events.hpp>

namespace commensal::http2 {
namespace {

constexpr std::int32_t kFirstWindowBytes = NGHTTP2_INITIAL_WINDOW_SIZE;
constexpr std::int64_t kPingNs = 10'000'000'000;
constexpr std::int64_t kHandshakeNs = limits::kHelloWaitMs * std::int64_t{1'000'000};
constexpr std::int64_t kClockSlackNs = 50'000'000;  // its time began before ours

End end_without_answer(const Stream& stream, std::int64_t now_ns) {
  const bool is_late = stream.deadline_ns > 0 && now_ns + kClockSlackNs > stream.deadline_ns;
  return is_late && !stream.is_hasty ? End::kLate : End::kTakenBack;
}

rpc::Peer peer_of(const Session::Socket& socket, const rpc::Door& door) {
  boost::system::error_code error;
  const auto at = socket.remote_endpoint(error);
  if (error) return {};
  return rpc::peer_of("ip:" + core::Endpoint{at.address().to_string(), at.port()}.text(), door);
}

}  // namespace

Session::Session(Socket socket, Shared& shared, Closed closed)
    : stream_(std::move(socket)),
      shared_(shared),
      closed_(std::move(closed)),
      words_(limits::kGrpcWordsPerSecond, limits::kGrpcWordsAtOnce / limits::kGrpcWordsPerSecond),
      idle_(limits::kGrpcIdleBytesPerSecond,
            limits::kGrpcIdleBytesAtOnce / limits::kGrpcIdleBytesPerSecond),
      since_ns_(shared.clock.monotonic_ns()),
      heard_ns_(since_ns_) {}

Session::~Session() { nghttp2_session_del(session_); }

void Session::start() {
  peer_ = peer_of(stream_.socket(), *shared_.door);
  Error ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  if (!shared_.identity) return begin();
  asio::ssl::context context(shared_.identity->new_server_context(tls::Protocol::kHttp2));
  stream_.secure(context).async_handshake(asio::ssl::stream_base::server,
                                          [self = shared_from_this()](Error error) {
                                            if (error) return self->close();
                                            self->begin();
                                          });
}

void Session::begin() {
  if (is_closed_) return;
  is_begun_ = true;
  session_ = Events::new_session(*this);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
       static_cast<std::uint32_t>(shared_.terms.calls_max)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits::kHttpHeaderBytesMax}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        limits::kGrpcConnectionAheadBytes);
  pump();
  receive();
}

void Session::receive() {
  if (is_closed_ || is_reading_) return;
  const std::size_t unwritten = nghttp2_session_get_outbound_queue_size(session_);
  if (is_writing_ && unwritten > limits::kGrpcUnwrittenFramesMax) return;  // on_written() calls it
  is_reading_ = true;
  stream_.async_read_some(asio::buffer(heard_),
                          [self = shared_from_this()](Error error, std::size_t size) {
                            self->is_reading_ = false;
                            self->on_received(error, size);
                          });
}

void Session::on_received(Error error, std::size_t size) {
  if (is_closed_) return;
  if (error) return close();
  heard_ns_ = shared_.clock.monotonic_ns();
  is_pinging_ = false;
  of_calls_ = 0;
  is_in_library_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(session_, heard_.data(), size);
  is_in_library_ = false;
  if (taken < 0 || is_dead_ || !may_idle(size)) return close();
  pump();
  receive();
}

void Session::pump() {
  if (is_writing_ || is_closed_ || session_ == nullptr) return;
  unsent_.clear();
  is_in_library_ = true;
  ssize_t made = 0;
  while (unsent_.size() < kWriteBytes) {
    const std::uint8_t* at = nullptr;
    made = nghttp2_session_mem_send(session_, &at);
    if (made <= 0) break;
    unsent_.append(reinterpret_cast<const char*>(at), static_cast<std::size_t>(made));
  }
  is_in_library_ = false;
  if (made < 0) return close();
  if (unsent_.empty()) {
    const bool is_over = leaving_ != Leaving::kNoticed &&
                         nghttp2_session_want_read(session_) == 0 &&
                         nghttp2_session_want_write(session_) == 0;
    if (is_over) close();
    return;
  }
  is_writing_ = true;
  written_ns_ = shared_.clock.monotonic_ns();
  idle_.charge({}, -static_cast<double>(unsent_.size()) * limits::kGrpcIdleShareOfWritten,
               written_ns_);
  asio::async_write(stream_, asio::buffer(unsent_),
                    [self = shared_from_this()](Error error, std::size_t) {
                      self->is_writing_ = false;
                      if (error) return self->close();
                      self->pump();
                      self->receive();
                    });
}

/// Once for all that is done with calls in one go.
void Session::flush_later() {
  if (is_flushing_ || is_in_library_) return;  // then pump() follows
  is_flushing_ = true;
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->is_flushing_ = false;
    self->pump();
  });
}

void Session::close() {
  if (is_in_library_) {
    is_dead_ = true;
    return;
  }
  if (std::exchange(is_closed_, true)) return;
  Error ignored;
  stream_.socket().shutdown(Socket::shutdown_both, ignored);  // the door has a copy
  stream_.socket().close(ignored);
  for (auto& [id, stream] : std::exchange(streams_, {})) {
    if (stream.call) stream.call->on_end(stream.end.value_or(End::kLost));
  }
  closed_(shared_from_this());
}

void Session::leave(bool is_last_word) {
  if (session_ == nullptr || leaving_ == Leaving::kLast) return close();
  leaving_ = is_last_word ? Leaving::kLast : Leaving::kNoticed;
  if (is_last_word) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
  } else {
    nghttp2_submit_shutdown_notice(session_);
  }
  pump();
}

void Session::look(std::int64_t now_ns) {
  if (!is_begun_) {
    if (now_ns - since_ns_ > kHandshakeNs) close();
    return;
  }
  // Nothing that ends a call reaches who takes nothing.
  if (is_writing_ && now_ns - written_ns_ > shared_.terms.write_ms * 1'000'000) return close();
  std::vector<std::int32_t> late;
  for (const auto& [id, stream] : streams_) {
    if (stream.deadline_ns > 0 && now_ns > stream.deadline_ns) late.push_back(id);
  }
  for (const std::int32_t id : late) cancel(id, end_without_answer(streams_.at(id), now_ns));
  if (streams_.empty() && now_ns - since_ns_ > shared_.terms.idle_ms * 1'000'000) {
    return leave(true);
  }
  if (now_ns - heard_ns_ > 2 * kPingNs) return close();
  if (now_ns - heard_ns_ > kPingNs && !std::exchange(is_pinging_, true)) {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    pump();
  }
}

Stream* Session::find(std::int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() || found->second.end ? nullptr : &found->second;
}

void Session::read(std::int32_t id) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->is_deaf) return;
  stream->is_reading = true;
  const std::string waiting = std::exchange(stream->waiting, {});
  feed(*stream, waiting);
  if (stream->is_over) on_client_end(*stream);
  flush_later();
}

/// What is not read waits, and no more comes than HTTP/2 lets it.
void Session::feed(Stream& stream, std::string_view data) {
  const std::size_t whole = data.size();
  while (!data.empty() && stream.is_reading && !stream.is_deaf) {
    const Incoming::Taken taken = stream.incoming.take(data, *stream.call);
    data.remove_prefix(taken.bytes);
    switch (taken.state) {
      case Incoming::State::kPartial:
        widen(stream);
        break;
      case Incoming::State::kWhole:
        stream.is_reading = false;
        widen(stream);
        stream.call->on_message(stream.incoming.release());
        break;
      case Incoming::State::kRefused:
        stream.is_deaf = true;
        break;
      case Incoming::State::kBroken:
        stream.is_deaf = true;
        finish(stream.id, {kInternal, "a message begins with neither 0 nor 1"});
        break;
    }
  }
  const std::size_t done = whole - data.size();
  if (stream.is_deaf) return;  // no more comes than is on its way
  stream.waiting.append(data);
  if (done > 0) nghttp2_session_consume_stream(session_, stream.id, done);
}

/// What is read waits in its account's memory, what is not in nobody's.
void Session::widen(Stream& stream) {
  const std::int64_t left = stream.incoming.left();
  const bool is_long = left > limits::kGrpcAheadBytes / 2 || stream.window > kFirstWindowBytes;
  const auto wanted = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(is_long ? left : 0, kFirstWindowBytes, limits::kGrpcAheadBytes));
  if (wanted == stream.window) return;
  stream.window = wanted;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, stream.id, wanted);
}

void Session::on_data(Stream& stream, std::string_view data) {
  if (stream.waiting.empty() || stream.is_deaf) return feed(stream, data);
  stream.waiting.append(data);
}

void Session::on_client_end(Stream& stream) {
  stream.is_over = true;
  if (!stream.is_reading || stream.is_deaf || !stream.waiting.empty()) return;
  stream.is_reading = false;
  if (!stream.incoming.is_between())
    return finish(stream.id, {kInternal, "the last message is cut off"});
  stream.call->on_message({});
}

void Session::write(std::int32_t id, Message message) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->status) return;
  stream->outgoing.add(std::move(message));
  answer(*stream);
}

void Session::finish(std::int32_t id, Status status) {
  Stream* const stream = find(id);
  if (stream == nullptr || stream->status) return;
  stream->status = std::move(status);
  stream->is_deaf = true;
  answer(*stream);
}

void Session::cancel(std::int32_t id, End how) {
  Stream* const stream = find(id);
  if (stream == nullptr) return;
  stream->end = how;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  flush_later();
}

void Session::on_head(Stream& stream) {
  of_calls_ += limits::kGrpcIdleBytesOfCall +
               static_cast<std::size_t>(std::min(stream.head_bytes, limits::kGrpcFreeHeadBytes));
  if (stream.method != "POST") return refuse(stream, "405");
  if (!stream.content_type.starts_with("application/grpc")) return refuse(stream, "415");
  Head head = std::move(stream.head);
  head.peer = peer_;
  Begun begun = shared_.begin(std::move(head), Line(shared_.gate, weak_from_this(), stream.id));
  stream.call = std::move(begun.call);
  stream.lines = std::move(begun.lines);
}

void Session::on_stream_close(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream stream = std::move(found->second);
  streams_.erase(found);
  if (streams_.empty()) since_ns_ = shared_.clock.monotonic_ns();
  if (!stream.call) return;
  if (!stream.end) {
    stream.end =
        stream.is_ended ? End::kAnswered : end_without_answer(stream, shared_.clock.monotonic_ns());
  }
  stream.call->on_end(*stream.end);
  // Whoever was told may have ended the connection: what has come on it is not read then.
  if (stream.end == End::kTakenBack && !shared_.door->is_open(peer_.connection)) is_dead_ = true;
}

bool Session::may_idle(std::size_t heard) {
  const std::int64_t now_ns = shared_.clock.monotonic_ns();
  const double idle = static_cast<double>(heard) - static_cast<double>(of_calls_);
  if (idle > 0) idle_.charge({}, idle, now_ns);
  if (idle_.left({}, now_ns) >= 0) return true;
  shared_.door->cut_off(peer_.connection);
  return false;
}

/// Words that are no call's cost as much as one. Who has too many is cut off.
bool Session::may_speak() {
  if (words_.take({}, shared_.clock.monotonic_ns())) return true;
  shared_.door->cut_off(peer_.connection);
  is_dead_ = true;
  return false;
}

}  // namespace commensal::http2
