// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// HTTP/2 by hand (RFC 9113, RFC 7541), for less work than gRPC's own and for what it would not
/// say.
namespace commensal::lab::hostile::http2 {

enum class Kind : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindow = 8,
  kContinuation = 9,
};
inline constexpr std::uint8_t kAck = 1;        // of settings and pings
inline constexpr std::uint8_t kEndStream = 1;  // of data and headers
inline constexpr std::uint8_t kEndHeaders = 4;
inline constexpr std::int64_t kWindowBytes = 65'535;  // of a stream and a connection, at first
inline constexpr std::size_t kContentBytes = 16'384;  // of a frame, that anybody takes

struct Frame {
  Kind kind = Kind::kData;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string content;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  bool operator==(const Frame&) const = default;
};

/// Big-endian.
std::string number(std::size_t width, std::uint64_t value);
/// A length below 127, and as much of text, as HPACK and protobuf have it.
std::string text(std::string_view of);

std::string encode(const Frame& frame);
/// What a connection begins with; settings as they are by default.
std::string preface();
/// One line of a head, in literals that no table remembers; a name below 127, any value.
std::string header(std::string_view name, std::string_view value);
/// The head of a call of gRPC, likewise, and whatever lines there are more; in as many frames as it
/// takes.
std::string call(std::uint32_t stream, std::string_view path, std::string_view more = {});
std::string reset(std::uint32_t stream);
/// So many bytes more may be sent to us: of a stream, or (0) on the connection.
std::string window(std::uint32_t stream, std::size_t bytes);
/// Settings by which nothing is ever read of what streams have to say.
std::string no_window();
/// A message as gRPC has it, not compressed.
std::string message(std::string_view content);

/// Frames out of what comes in pieces. A value.
class Reader {
 public:
  void feed(std::string_view bytes) { bytes_.append(bytes); }
  std::optional<Frame> next();

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

/// What of a connection's windows is left to us. A value.
class Windows {
 public:
  void open(std::uint32_t stream) { streams_[stream] = first_; }
  void close(std::uint32_t stream) { streams_.erase(stream); }
  /// Settings and updates; what is neither is passed over.
  void hear(const Frame& frame);
  /// As much of `bytes` as may be sent now, which is sent then.
  std::size_t take(std::uint32_t stream, std::size_t bytes);

 private:
  std::int64_t all_ = kWindowBytes;
  std::int64_t first_ = kWindowBytes;
  std::map<std::uint32_t, std::int64_t> streams_;
};

}  // namespace commensal::lab::hostile::http2
