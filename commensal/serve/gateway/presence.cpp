// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/gateway/presence.hpp>

namespace commensal::gateway {
namespace {

constexpr std::string_view kSpace = "presence";
constexpr std::string_view kKey = "providers";

struct Present {
  static constexpr std::string_view kRecord = "providers that are connected";

  std::vector<crypto::Address> providers;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("providers", self.providers);
  }
};

}  // namespace

core::Result<std::vector<crypto::Address>> Presence::open() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kSpace, core::as_bytes(kKey)));
  if (!row) return std::vector<crypto::Address>();
  COMMENSAL_ASSIGN(Present before, protocol::decode_stored<Present>(*row));
  for (const crypto::Address& provider : before.providers) left(provider);
  return std::move(before.providers);
}

void Presence::on_connect(const crypto::Address& provider) {
  if (connected_.insert(provider).second) write_later();
}

void Presence::on_leave(const crypto::Address& provider) {
  if (connected_.erase(provider) == 0) return;
  left(provider);
  write_later();
}

/// Keys cost nothing: of those that come and go the last count.
void Presence::left(const crypto::Address& provider) {
  left_.emplace_back(clock_.monotonic_ns() / 1'000'000, provider);
  if (left_.size() > static_cast<std::size_t>(limits::kProvidersMax)) left_.pop_front();
}

void Presence::write_later() {
  if (std::exchange(is_due_, true)) return;
  loop_.after(limits::kPresenceWriteMs, [this] { write(); });
}

void Presence::write() {
  is_due_ = false;
  const std::int64_t now_ms = clock_.monotonic_ns() / 1'000'000;
  while (!left_.empty() && now_ms - left_.front().first >= limits::kPresenceKeptMs) {
    left_.pop_front();
  }
  std::set<crypto::Address> present = connected_;
  for (const auto& [when_ms, provider] : left_) present.insert(provider);
  auto row = protocol::encode_stored(Present{{present.begin(), present.end()}});
  if (!row) return events_.report(row);
  const core::ByteView key = core::as_bytes(kKey);
  events_.report(store_.apply({{std::string(kSpace), {key.begin(), key.end()}, *std::move(row)}}));
}

}  // namespace commensal::gateway
