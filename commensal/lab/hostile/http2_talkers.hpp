// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <commensal/lab/hostile/http2_frames.hpp>
#include <commensal/lab/hostile/strangers.hpp>
#include <thread>
#include <utility>

/// Who speaks HTTP/2 on many connections at once. Thread-safety: as Attacker's.
namespace commensal::lab::hostile {

// In which the other side answers.
inline constexpr auto kTalkPause = std::chrono::milliseconds(10);

/// A connection, as gRPC would have it.
struct Talk {
  std::string unsent;
  http2::Reader reader;
  std::uint32_t next_stream = 1;
  bool is_heard = false;  // it was let in
  bool is_over = false;   // it is let make no more calls

  std::uint32_t call(std::string_view path, std::string_view more = {}) {
    const std::uint32_t stream = std::exchange(next_stream, next_stream + 2);
    unsent += http2::call(stream, path, more);
    return stream;
  }
};

inline bool is_end(const http2::Frame& frame) {
  const bool is_content = frame.kind == http2::Kind::kData || frame.kind == http2::Kind::kHeaders;
  return frame.kind == http2::Kind::kReset || (is_content && frame.has(http2::kEndStream));
}

/// Keeps so many connections of a kind of Talk. They answer settings and pings, and make room for
/// what they have read; what they say waits while the other side takes no more. Counts whom it
/// closes after it has let them in.
template <class Kind>
class Talkers : public Attacker {
 public:
  Talkers(std::uint16_t port, std::size_t count)
      : crowd_(port, dropped_, kManyAddresses), count_(count) {}
  void act() override {
    for (std::size_t i = 0; i < kAtOnce && talks_.size() < count_ && crowd_.join(); ++i) {
      talks_.emplace_back().unsent = first_words();
    }
    for (std::size_t i = talks_.size(); i > 0; --i) {
      if (hear(i - 1) && speak(i - 1)) continue;
      if (talks_[i - 1].is_heard) ++effects_;
      crowd_.leave(i - 1);
      talks_.erase(talks_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    std::this_thread::sleep_for(kTalkPause);
  }

 protected:
  virtual std::string first_words() const { return http2::preface(); }
  virtual void on_frame(Kind& talk, const http2::Frame& frame) = 0;
  /// Adds to what is unsent, which is nothing.
  virtual void go_on(Kind& talk) = 0;

 private:
  bool hear(std::size_t member) {
    Kind& talk = talks_[member];
    const auto come = crowd_.read(member);
    if (!come) return false;
    talk.reader.feed(*come);
    while (const auto frame = talk.reader.next()) {
      talk.is_heard = true;
      const bool is_settings = frame->kind == http2::Kind::kSettings;
      if (frame->kind == http2::Kind::kGoAway) talk.is_over = true;
      if ((is_settings || frame->kind == http2::Kind::kPing) && !frame->has(http2::kAck)) {
        talk.unsent += http2::encode(
            {frame->kind, http2::kAck, 0, is_settings ? std::string() : frame->content});
      }
      if (frame->kind == http2::Kind::kData && !frame->content.empty()) {
        talk.unsent += http2::window(0, frame->content.size());
        if (!is_end(*frame)) talk.unsent += http2::window(frame->stream, frame->content.size());
      }
      on_frame(talk, *frame);
    }
    return !talk.is_over;
  }
  bool speak(std::size_t member) {
    Kind& talk = talks_[member];
    if (talk.unsent.empty()) go_on(talk);
    const auto taken = crowd_.offer(member, talk.unsent);
    if (taken) talk.unsent.erase(0, *taken);
    return taken.has_value();
  }

  std::atomic<std::uint64_t> dropped_ = 0;  // what the crowd counts
  Crowd crowd_;
  const std::size_t count_;
  std::vector<Kind> talks_;  // of the crowd's members, in their order
};

}  // namespace commensal::lab::hostile
