// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::lab::hostile {

/// Where connections come from.
struct Origin {
  std::uint8_t net = 1;         // 127.NET.0.1 and on
  std::uint16_t addresses = 1;  // so many, in turns
  int receive_bytes = 0;        // that the kernel keeps of what is not read; 0: its choice
};

/// Many connections to one port of this machine, none of which is waited for. Bytes that the other
/// side does not take, or that it sends, are dropped; its answers are counted, and whom it closes
/// after the first byte that it was sent: before, nothing was tried. Not thread-safe.
class Crowd {
 public:
  /// `effects` outlives the crowd.
  Crowd(std::uint16_t port, std::atomic<std::uint64_t>& effects, Origin origin = {})
      : port_(port), effects_(effects), origin_(origin) {}
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd();

  std::size_t size() const { return members_.size(); }
  /// Opens one more, which becomes the last; false where nobody listens, or the system has none
  /// left.
  bool join();
  /// Of one that is here to say nothing: it counts from now on that the other side closes it.
  void begin(std::size_t member) { members_[member].has_begun = true; }
  /// How much of it the kernel takes now; nothing where the other side has closed.
  std::optional<std::size_t> offer(std::size_t member, std::string_view bytes);
  /// As much as the kernel takes now. False where the other side has closed.
  bool say(std::size_t member, std::string_view bytes);
  /// What has come, which is not counted; nothing where the other side has closed.
  std::optional<std::string> read(std::size_t member);
  /// Reads what has come, counts it and drops it; false where the other side has closed.
  bool hear(std::size_t member);
  /// Of one whom the other side has closed.
  void leave(std::size_t member);
  /// Hears all, and has leave whom the other side has closed.
  void leave_closed();
  /// The same, but hears nobody.
  void leave_unheard();
  /// leave_closed() after a while in which answers may come.
  void listen();
  /// Says that no more is said, and listens.
  void hang_up();
  /// Closes all; nothing is counted.
  void go();

 private:
  struct Member {
    int socket = -1;
    bool has_begun = false;
  };

  /// The other side has closed, as far as can be known without reading.
  bool is_closed(std::size_t member) const;

  std::uint16_t port_;
  std::atomic<std::uint64_t>& effects_;
  const Origin origin_;
  std::uint32_t joined_ = 0;
  std::vector<Member> members_;
};

/// "POST /v2/models/MODEL/infer" with this body's head.
std::string infer_head(std::string_view model, std::string_view token, std::string_view more);

}  // namespace commensal::lab::hostile
