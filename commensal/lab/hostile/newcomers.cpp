// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/lab/hostile/http2_frames.hpp>
#include <commensal/lab/hostile/newcomers.hpp>

namespace commensal::lab::hostile {
namespace {

constexpr auto kBetween = std::chrono::milliseconds(500);
constexpr auto kBeforeNextTry = std::chrono::milliseconds(250);
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr std::int64_t kLateNs = 3'000'000'000;
constexpr Origin kItsAddress = {.net = 3, .addresses = 1, .receive_bytes = 0};

}  // namespace

bool NewcomingProviders::try_once(std::int64_t until_ns) {
  Crowd one(port_, dropped_, kItsAddress);
  if (!one.join()) return false;
  std::string unsent = http2::preface() + http2::call(1, "/commensal.v1.ProviderStream/Attach");
  http2::Reader reader;
  while (clock_.monotonic_ns() < until_ns) {
    const auto taken = one.offer(0, unsent);
    const auto come = one.read(0);
    if (!taken || !come) return false;
    unsent.erase(0, *taken);
    reader.feed(*come);
    while (const auto frame = reader.next()) {
      if (frame->kind == http2::Kind::kData && frame->stream == 1) return true;
      if (frame->kind == http2::Kind::kSettings && !frame->has(http2::kAck)) {
        unsent += http2::encode({http2::Kind::kSettings, http2::kAck, 0, ""});
      }
    }
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void NewcomingProviders::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::int64_t begun_ns = clock_.monotonic_ns(), until_ns = begun_ns + kLateNs;
    bool is_challenged = try_once(until_ns);
    while (!is_challenged && clock_.monotonic_ns() < until_ns) {
      std::this_thread::sleep_for(kBeforeNextTry);
      is_challenged = try_once(until_ns);
    }
    came_.late += is_challenged ? 0 : 1;
    came_.ms.push_back(static_cast<double>(clock_.monotonic_ns() - begun_ns) * 1e-6);
    std::this_thread::sleep_for(kBetween);
  }
}

Came NewcomingProviders::end() {
  stop();
  thread_.join();
  return std::move(came_);
}

}  // namespace commensal::lab::hostile
