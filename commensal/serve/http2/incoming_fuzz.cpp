// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because what cuts bytes into messages is this room's own. Bytes of
// a call, cut at any places, give the same messages and the same end; and those messages, sent
// again, are the same bytes.
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/serve/http2/stream.hpp>

namespace {

using namespace commensal;
using http2::Incoming;

constexpr std::int64_t kBytesMax = 1 << 20;

class Taker : public http2::Call {
 public:
  bool on_coming(std::int64_t bytes) override { return bytes <= kBytesMax; }
  void on_message(std::optional<http2::Message> /*message*/) override {}
  void on_written() override {}
  void on_end(http2::End /*how*/) override {}
};

struct Come {
  std::string again;  // its messages, as they are sent
  std::size_t messages = 0, bytes = 0;
  Incoming::State end = Incoming::State::kPartial;
  bool is_between = false;
  std::int64_t left = 0;

  bool operator==(const Come&) const = default;
};

void send(http2::Message message, std::string& to) {
  http2::Outgoing outgoing;
  outgoing.add(std::move(message));
  outgoing.move(to, static_cast<std::size_t>(outgoing.bytes()));
}

/// `size()` bytes come at a time.
template <class Size>
Come come(std::string_view wire, Size size) {
  Taker taker;
  Incoming incoming;
  Come made;
  while (!wire.empty() && made.end == Incoming::State::kPartial) {
    std::string_view part = wire.substr(0, size());
    wire.remove_prefix(part.size());
    while (!part.empty() && made.end == Incoming::State::kPartial) {
      const Incoming::Taken taken = incoming.take(part, taker);
      core::check(taken.bytes > 0 && taken.bytes <= part.size(), "something is taken of it");
      part.remove_prefix(taken.bytes);
      made.bytes += taken.bytes;
      if (taken.state == Incoming::State::kWhole) {
        ++made.messages;
        send(incoming.release(), made.again);
      } else {
        core::check(taken.state != Incoming::State::kPartial || part.empty(), "all is taken");
        made.end = taken.state;
      }
    }
  }
  made.is_between = incoming.is_between();
  made.left = incoming.left();
  return made;
}

}  // namespace

/// A byte says how many bytes follow that say where the rest is cut, again and again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t cuts = std::min<std::size_t>(data[0], size - 1);
  const std::string_view wire(reinterpret_cast<const char*>(data) + 1 + cuts, size - 1 - cuts);
  const Come whole = come(wire, [&] { return wire.size(); });
  core::check(wire.starts_with(whole.again), "what is read is what was sent");
  if (whole.is_between) core::check(whole.again.size() == whole.bytes, "nothing else was there");
  core::check(come(wire, [] { return std::size_t{1}; }) == whole, "byte by byte it is the same");
  std::size_t at = 0;
  const auto next = [&] { return cuts == 0 ? std::size_t{7} : 1 + data[1 + at++ % cuts]; };
  core::check(come(wire, next) == whole, "cut anywhere it is the same");
  return 0;
}
