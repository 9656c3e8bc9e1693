// SPDX-License-Identifier: Apache-2.0
// Strangers at the port for providers who speak HTTP/2, and say no more to the gateway than that.
#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/http2_talkers.hpp>

namespace commensal::lab::hostile {
namespace {

struct Fetching : Talk {
  struct Call {
    std::uint32_t stream = 0;
    std::size_t sent = 0;
  };
  std::vector<Call> calls;
  http2::Windows windows;
};

/// Requests of a megabyte of which the last byte is never sent: whoever takes a message whole
/// before looking at it keeps all of them. Counts those that were taken that far, and turned down.
class FetchFlood final : public Talkers<Fetching> {
 public:
  explicit FetchFlood(std::uint16_t port) : Talkers(port, kConnections) {}

 protected:
  void on_frame(Fetching& talk, const http2::Frame& frame) override {
    talk.windows.hear(frame);
    if (!is_end(frame)) return;
    talk.windows.close(frame.stream);
    effects_ += std::erase_if(
        talk.calls, [&](const Fetching::Call& call) { return call.stream == frame.stream; });
  }
  void go_on(Fetching& talk) override {
    while (talk.calls.size() < kCalls) {
      talk.calls.push_back({talk.call("/commensal.v1.ProviderStream/FetchModel"), 0});
      talk.windows.open(talk.calls.back().stream);
    }
    for (Fetching::Call& call : talk.calls) {
      while (talk.unsent.size() < kAtOnceBytes && send_piece(talk, call)) {
      }
    }
  }

 private:
  static constexpr std::size_t kConnections = 110, kCalls = 16;
  static constexpr std::size_t kMessageBytes = 1'000'000, kAtOnceBytes = 256'000;

  bool send_piece(Fetching& talk, Fetching::Call& call) {
    const std::size_t left = message_.size() - 1 - call.sent;
    const std::size_t size = talk.windows.take(call.stream, std::min(left, http2::kContentBytes));
    if (size == 0) return false;
    talk.unsent +=
        http2::encode({http2::Kind::kData, 0, call.stream, message_.substr(call.sent, size)});
    call.sent += size;
    if (size == left) ++effects_;
    return true;
  }
  const std::string message_ =
      http2::number(5, kMessageBytes) + std::string(kMessageBytes, '\0');  // gRPC's prefix
};

struct Keeping : Talk {
  std::int64_t since_ns = 0, called_ns = 0;
};

/// Calls of nothing, often enough for a connection not to be idle. Counts those that were answered
/// on connections that had called before.
class DoorKeepers final : public Talkers<Keeping> {
 public:
  explicit DoorKeepers(std::uint16_t port) : Talkers(port, kConnections) {}

 protected:
  void on_frame(Keeping& talk, const http2::Frame& frame) override {
    if (is_end(frame) && talk.called_ns > talk.since_ns) ++effects_;
  }
  void go_on(Keeping& talk) override {
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (talk.since_ns == 0) talk.since_ns = now_ns;
    const bool is_due = talk.next_stream == 1 || now_ns - talk.called_ns >= kEveryNs;
    if (!talk.is_heard || !is_due) return;
    talk.called_ns = talk.next_stream == 1 ? talk.since_ns : now_ns;
    talk.call("/x");
  }

 private:
  static constexpr std::size_t kConnections = 4'000;
  static constexpr std::int64_t kEveryNs = 6'000'000'000;

  const core::SystemClock clock_;
};

struct Resetting : Talk {
  bool waits = true;
  std::size_t breaths = 1, confirmed = 0;  // the preface has settings too
};

/// Streams that are opened and taken back in one breath, on a connection that waits for them to be
/// read and on one that does not. Counts those that were read, which confirms settings that stand
/// between them: on the other gRPC confirms nothing while more comes.
class StreamResets final : public Talkers<Resetting> {
 public:
  explicit StreamResets(std::uint16_t port) : Talkers(port, kConnections) {}

 protected:
  void on_frame(Resetting& talk, const http2::Frame& frame) override {
    if (frame.kind != http2::Kind::kSettings || !frame.has(http2::kAck)) return;
    if (++talk.confirmed > 1) effects_ += kBreath;
  }
  void go_on(Resetting& talk) override {
    if (talk.next_stream == 1) talk.waits = (waits_ = !waits_);
    const std::size_t until = talk.waits ? talk.confirmed + kBreaths : talk.breaths + kBreaths;
    for (; talk.breaths < until; ++talk.breaths) {
      for (std::size_t i = 0; i < kBreath; ++i) {
        talk.unsent += http2::reset(talk.call("/commensal.v1.ProviderStream/Attach"));
      }
      talk.unsent += http2::encode({http2::Kind::kSettings, 0, 0, ""});
    }
  }

 private:
  static constexpr std::size_t kConnections = 2, kBreath = 64, kBreaths = 64;

  bool waits_ = false;
};

constexpr AttackRow kRows[] = {
    {"fetch-flood", "1,760 requests for models of a megabyte each whose last byte never comes",
     at_stream<FetchFlood>},
    {"door-keepers", "4,000 connections at the port for providers with a call of nothing each 6 s",
     at_stream<DoorKeepers>},
    {"stream-resets", "streams of providers, taken back as they are opened",
     at_stream<StreamResets>},
};

}  // namespace

std::span<const AttackRow> http2_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
