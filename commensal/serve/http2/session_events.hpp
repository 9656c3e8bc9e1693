// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/http2/session.hpp>

namespace commensal::http2 {

/// What nghttp2 tells a session, and asks of it.
struct Session::Events {
  static nghttp2_session* new_session(Session& session);

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* session);
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t flags, void* session);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* session);
  static int on_data(nghttp2_session*, std::uint8_t flags, std::int32_t stream,
                     const std::uint8_t* data, std::size_t size, void* session);
  static int on_stream_close(nghttp2_session*, std::int32_t stream, std::uint32_t code,
                             void* session);
  static int on_frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* session);
  static ssize_t give(nghttp2_session*, std::int32_t stream, std::uint8_t* buffer, std::size_t most,
                      std::uint32_t* flags, nghttp2_data_source* source, void* session);
  static int send(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head,
                  std::size_t size, nghttp2_data_source* source, void* session);
};

}  // namespace commensal::http2
