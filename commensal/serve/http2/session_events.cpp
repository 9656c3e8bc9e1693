// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/http2/session_events.hpp>

namespace commensal::http2 {
namespace {

constexpr std::size_t kLineOverhead = 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
constexpr std::size_t kFrameHeadBytes = 9;

std::string_view text_of(const std::uint8_t* at, std::size_t size) {
  return {reinterpret_cast<const char*>(at), size};
}

bool is_end(const nghttp2_frame& frame) {
  return (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA) &&
         (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

/// Nothing of a call's.
bool is_word(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_DATA:
      return frame.hd.length == 0 && !is_end(frame);
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PING:
      return (frame.hd.flags & NGHTTP2_FLAG_ACK) == 0;
    case NGHTTP2_PRIORITY:
    case NGHTTP2_GOAWAY:
      return true;
    default:
      return false;
  }
}

/// Lines of a head as nghttp2 takes them; what they name outlives it.
class Written {
 public:
  void add(std::string_view name, std::string_view value) {
    const auto at = [](std::string_view text) {
      return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    };
    lines_.push_back(
        {at(name), at(value), name.size(), value.size(), std::uint8_t{NGHTTP2_NV_FLAG_NONE}});
  }
  void add(const Lines& lines) {
    for (const auto& [name, value] : lines) add(name, value);
  }
  const nghttp2_nv* data() const { return lines_.data(); }
  std::size_t size() const { return lines_.size(); }

 private:
  std::vector<nghttp2_nv> lines_;
};

Lines trailers_of(const Status& status) {
  Lines lines = {{"grpc-status", std::to_string(status.code)}};
  if (!status.message.empty()) lines.emplace_back("grpc-message", percent_encoded(status.message));
  return lines;
}

}  // namespace

nghttp2_session* Session::Events::new_session(Session& session) {
  nghttp2_session_callbacks* told = nullptr;
  nghttp2_option* option = nullptr;
  core::check(nghttp2_session_callbacks_new(&told) == 0 && nghttp2_option_new(&option) == 0,
              "there is memory for a session");
  nghttp2_session_callbacks_set_on_begin_headers_callback(told, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(told, on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(told, on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(told, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(told, on_stream_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(told, on_frame_sent);
  nghttp2_session_callbacks_set_send_data_callback(told, send);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_outbound_ack(option, limits::kGrpcUnreadAcksMax);
  nghttp2_option_set_stream_reset_rate_limit(
      option, static_cast<std::uint64_t>(limits::kGrpcTakenBackAtOnce),
      static_cast<std::uint64_t>(limits::kGrpcTakenBackPerSecond));
  nghttp2_session* made = nullptr;
  core::check(nghttp2_session_server_new2(&made, told, &session, option) == 0,
              "there is memory for a session");
  nghttp2_session_callbacks_del(told);
  nghttp2_option_del(option);
  return made;
}

int Session::Events::on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* session) {
  auto& self = *static_cast<Session*>(session);
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  self.streams_[frame->hd.stream_id].id = frame->hd.stream_id;
  return 0;
}

int Session::Events::on_header(nghttp2_session*, const nghttp2_frame* frame,
                               const std::uint8_t* name, std::size_t name_size,
                               const std::uint8_t* value, std::size_t value_size,
                               std::uint8_t /*flags*/, void* session) {
  auto& self = *static_cast<Session*>(session);
  Stream* const stream = self.find(frame->hd.stream_id);
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || stream == nullptr) return 0;
  stream->head_bytes += static_cast<std::int64_t>(name_size + value_size + kLineOverhead);
  stream->head.is_too_long = stream->head_bytes > limits::kHttpHeaderBytesMax;
  if (stream->head.is_too_long) return 0;
  const std::string_view called = text_of(name, name_size), text = text_of(value, value_size);
  if (called == ":path") {
    stream->head.path = text;
  } else if (called == ":method") {
    stream->method = text;
  } else if (called == "content-type") {
    stream->content_type = text;
  } else if (called == "grpc-encoding") {
    stream->head.encoding = text;
  } else if (called == "grpc-timeout") {
    const std::int64_t ns = read_timeout_ns(text);
    if (ns > 0) stream->deadline_ns = self.shared_.clock.monotonic_ns() + ns;
    stream->is_hasty = ns > 0 && ns < limits::kGrpcHastyMs * 1'000'000;
  } else if (!called.starts_with(':')) {
    stream->head.lines.emplace_back(called, text);
  }
  return 0;
}

int Session::Events::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* session) {
  auto& self = *static_cast<Session*>(session);
  if (is_word(*frame) && !self.may_speak()) return NGHTTP2_ERR_CALLBACK_FAILURE;
  Stream* const stream = self.find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
    self.on_head(*stream);
  if (is_end(*frame)) self.on_client_end(*stream);
  return self.is_dead_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int Session::Events::on_data(nghttp2_session*, std::uint8_t /*flags*/, std::int32_t id,
                             const std::uint8_t* data, std::size_t size, void* session) {
  auto& self = *static_cast<Session*>(session);
  nghttp2_session_consume_connection(self.session_, size);
  self.of_calls_ += size;
  if (Stream* const stream = self.find(id)) self.on_data(*stream, text_of(data, size));
  return 0;
}

int Session::Events::on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t /*code*/,
                                     void* session) {
  auto& self = *static_cast<Session*>(session);
  self.on_stream_close(id);
  return self.is_dead_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/// Whoever has its whole answer need not say more.
int Session::Events::on_frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* session) {
  auto& self = *static_cast<Session*>(session);
  Stream* const stream = is_end(*frame) ? self.find(frame->hd.stream_id) : nullptr;
  if (stream == nullptr) return 0;
  stream->is_ended = true;
  if (!stream->is_over)
    nghttp2_submit_rst_stream(self.session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
  return 0;
}

ssize_t Session::Events::give(nghttp2_session*, std::int32_t id, std::uint8_t* /*buffer*/,
                              std::size_t most, std::uint32_t* flags,
                              nghttp2_data_source* /*source*/, void* session) {
  auto& self = *static_cast<Session*>(session);
  const Stream* const stream = self.find(id);
  if (stream == nullptr) return NGHTTP2_ERR_DEFERRED;
  const std::int64_t size = std::min(static_cast<std::int64_t>(most), stream->outgoing.bytes());
  if (size == stream->outgoing.bytes() && stream->status) {
    const Lines said = trailers_of(*stream->status);
    Written trailers;
    trailers.add(said);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(self.session_, id, trailers.data(), trailers.size()) != 0)
      return NGHTTP2_ERR_CALLBACK_FAILURE;
  } else if (size == 0) {
    return NGHTTP2_ERR_DEFERRED;
  }
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  return size;
}

int Session::Events::send(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head,
                          std::size_t size, nghttp2_data_source* /*source*/, void* session) {
  auto& self = *static_cast<Session*>(session);
  if (self.unsent_.size() >= kWriteBytes) return NGHTTP2_ERR_WOULDBLOCK;
  const auto found = self.streams_.find(frame->hd.stream_id);
  if (found == self.streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  self.unsent_ += text_of(head, kFrameHeadBytes);
  const int ended = found->second.outgoing.move(self.unsent_, size);
  for (int i = 0; i < ended; ++i) found->second.call->on_written();
  return 0;
}

void Session::answer(Stream& stream) {
  flush_later();
  if (std::exchange(stream.is_answering, true)) {
    nghttp2_session_resume_data(session_, stream.id);
    return;
  }
  Written head;
  head.add(":status", "200");
  head.add("content-type", "application/grpc");
  head.add("grpc-accept-encoding", "identity,deflate,gzip");
  head.add(stream.lines);
  nghttp2_data_provider content{{}, Events::give};
  nghttp2_submit_response(session_, stream.id, head.data(), head.size(), &content);
}

void Session::refuse(Stream& stream, std::string_view http_status) {
  if (!may_speak()) return;
  stream.is_deaf = true;
  Written head;
  head.add(":status", http_status);
  nghttp2_submit_response(session_, stream.id, head.data(), head.size(), nullptr);
}

}  // namespace commensal::http2
