// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace commensal::tests {

struct RawResponse {
  int status = 0;                              // 0: the connection ended before one came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// A socket and nothing more: sends any bytes, well formed or not.
class RawClient {
 public:
  /// `from`: 127.0.FROM.1.
  explicit RawClient(std::uint16_t port, std::uint8_t from = 0);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  /// False where the other side has gone.
  bool send(std::string_view bytes);
  void half_close();
  /// `without_body` for the answer to a HEAD.
  RawResponse receive(bool without_body = false);
  /// Whether the other side has closed, within some seconds.
  bool is_closed();

 private:
  bool fill();

  int socket_ = -1;
  std::string buffer_;
};

/// A TCP connection to this port of the host's own; `from`: 127.0.FROM.1.
core::Descriptor dial(std::uint16_t port, std::uint8_t from = 0);
/// Whether the other side ends it within some seconds of silence, having been sent all of `said` or
/// not.
bool ends(const core::Descriptor& socket, std::string_view said);

}  // namespace commensal::tests
