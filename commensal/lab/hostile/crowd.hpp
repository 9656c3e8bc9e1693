// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::lab::hostile {

/// Many connections to one port of this machine, none of which is waited for. Bytes that the other
/// side does not take, or that it sends, are dropped. Not thread-safe.
class Crowd {
 public:
  explicit Crowd(std::uint16_t port) : port_(port) {}
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd();

  std::size_t size() const { return sockets_.size(); }
  /// Opens one more, which becomes the last; false where the system has none left.
  bool join();
  /// As much as the kernel takes now. False where the other side has closed.
  bool say(std::size_t member, std::string_view bytes);
  /// Reads what has come and drops it; false where the other side has closed.
  bool hear(std::size_t member);
  void leave(std::size_t member);
  /// Who was closed by the other side leaves.
  void leave_closed();

 private:
  std::uint16_t port_;
  std::vector<int> sockets_;
};

/// "POST /v2/models/MODEL/infer" with this body's head.
std::string infer_head(std::string_view model, std::string_view token, std::string_view more);

}  // namespace commensal::lab::hostile
