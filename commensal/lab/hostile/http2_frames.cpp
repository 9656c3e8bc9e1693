// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/hostile/http2_frames.hpp>

namespace commensal::lab::hostile::http2 {
namespace {

constexpr std::size_t kHeadBytes = 9, kSettingBytes = 6;
constexpr std::uint64_t kInitialWindow = 4;  // a setting

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

std::string number(std::size_t width, std::uint64_t value) {
  std::string made;
  for (; width > 0; --width) made.push_back(static_cast<char>(value >> (8 * (width - 1))));
  return made;
}

std::string text(std::string_view of) { return number(1, of.size()).append(of); }

std::string encode(const Frame& frame) {
  std::string made = number(3, frame.content.size());
  made.push_back(static_cast<char>(frame.kind));
  made.push_back(static_cast<char>(frame.flags));
  return made.append(number(4, frame.stream)).append(frame.content);
}

std::string preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + encode({Kind::kSettings, 0, 0, ""});
}

std::string header(std::string_view name, std::string_view value) {
  constexpr std::size_t kOneByte = 127, kGroup = 128;  // RFC 7541, 5.1
  std::string made = number(1, 0) + text(name);
  if (value.size() < kOneByte) return made + text(value);
  made.push_back(static_cast<char>(kOneByte));
  std::size_t left = value.size() - kOneByte;
  for (; left >= kGroup; left /= kGroup) {
    made.push_back(static_cast<char>(left % kGroup + kGroup));
  }
  made.push_back(static_cast<char>(left));
  return made.append(value);
}

std::string call(std::uint32_t stream, std::string_view path, std::string_view more) {
  // POST, http, :path, :authority; content-type is name 15 + 16; te has no number.
  std::string head = "\x83\x86\x04" + text(path) + "\x01" + text("x") + "\x0f\x10" +
                     text("application/grpc") + header("te", "trailers");
  head.append(more);
  std::string made;
  for (std::size_t at = 0; at < head.size(); at += kContentBytes) {
    const bool is_last = head.size() - at <= kContentBytes;
    made +=
        encode({at == 0 ? Kind::kHeaders : Kind::kContinuation,
                is_last ? kEndHeaders : std::uint8_t{0}, stream, head.substr(at, kContentBytes)});
  }
  return made;
}

std::string reset(std::uint32_t stream) {
  constexpr std::uint64_t kCancel = 8;
  return encode({Kind::kReset, 0, stream, number(4, kCancel)});
}

std::string window(std::uint32_t stream, std::size_t bytes) {
  return encode({Kind::kWindow, 0, stream, number(4, bytes)});
}

std::string no_window() {
  return encode({Kind::kSettings, 0, 0, number(2, kInitialWindow) + number(4, 0)});
}

std::string message(std::string_view content) { return number(5, content.size()).append(content); }

std::optional<Frame> Reader::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  const std::size_t size = left.size() < kHeadBytes ? 0 : number_of(left.substr(0, 3));
  if (left.size() < kHeadBytes + size) {
    bytes_.erase(0, at_);
    at_ = 0;
    return std::nullopt;
  }
  Frame frame;
  frame.kind = static_cast<Kind>(left[3]);
  frame.flags = static_cast<std::uint8_t>(left[4]);
  frame.stream = static_cast<std::uint32_t>(number_of(left.substr(5, 4))) & 0x7fff'ffffU;
  frame.content = left.substr(kHeadBytes, size);
  at_ += kHeadBytes + size;
  return frame;
}

void Windows::hear(const Frame& frame) {
  const std::string_view content = frame.content;
  if (frame.kind == Kind::kWindow) {
    const auto more = static_cast<std::int64_t>(number_of(content) & 0x7fff'ffffU);
    const auto found = streams_.find(frame.stream);
    if (frame.stream == 0) all_ += more;
    if (found != streams_.end()) found->second += more;
  }
  if (frame.kind != Kind::kSettings) return;
  for (std::size_t at = 0; at + kSettingBytes <= content.size(); at += kSettingBytes) {
    if (number_of(content.substr(at, 2)) != kInitialWindow) continue;
    const auto first = static_cast<std::int64_t>(number_of(content.substr(at + 2, 4)));
    for (auto& [stream, left] : streams_) left += first - first_;
    first_ = first;
  }
}

std::size_t Windows::take(std::uint32_t stream, std::size_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return 0;
  const auto taken =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes), 0,
                               std::max<std::int64_t>(std::min(all_, found->second), 0));
  all_ -= taken;
  found->second -= taken;
  return static_cast<std::size_t>(taken);
}

}  // namespace commensal::lab::hostile::http2
