// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/provider/unjudged.hpp>
#include <utility>

namespace commensal::provider {

using core::Result;

namespace {

constexpr std::string_view kSpace = "unjudged";  // ticket -> Since
constexpr std::int64_t kSlackMs = 60'000;        // the gateway pays what matures itself
constexpr std::int64_t kRetryMs = 600'000;

core::Bytes key_of(const core::Digest& ticket) { return {ticket.begin(), ticket.end()}; }

}  // namespace

struct Unjudged::Since {
  static constexpr std::string_view kRecord = "unjudged winner";
  std::uint64_t ms = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ms", self.ms);
  }
};

Result<void> Unjudged::open(const std::function<bool(const core::Digest&)>& awaited) {
  Result<void> read;
  COMMENSAL_TRY(store_.scan(kSpace, {}, [&](core::ByteView key, core::ByteView value) {
    core::Digest ticket{};
    if (key.size() == ticket.size()) std::ranges::copy(key, ticket.begin());
    const auto since = protocol::decode_stored<Since>(value);
    if (!since) read = tl::unexpected(since.error());
    if (since) winners_[ticket].since_ms = static_cast<std::int64_t>(since->ms);
    return since.has_value();
  }));
  COMMENSAL_TRY(read);
  std::vector<core::Digest> old;
  for (const auto& [ticket, winner] : winners_) {
    if (!awaited(ticket)) old.push_back(ticket);
  }
  for (const core::Digest& ticket : old) forget(ticket);
  return {};
}

Result<void> Unjudged::note(const core::Digest& ticket) {
  const auto [winner, is_new] = winners_.try_emplace(ticket, Winner{clock_.wall_ms(), {}});
  if (!is_new) return {};
  COMMENSAL_ASSIGN(
      core::Bytes row,
      protocol::encode_stored(Since{static_cast<std::uint64_t>(winner->second.since_ms)}));
  core::Store::Batch batch = std::exchange(gone_, {});
  batch.push_back({std::string(kSpace), key_of(ticket), std::move(row)});
  return store_.apply(batch);
}

void Unjudged::forget(const core::Digest& ticket) {
  if (winners_.erase(ticket) == 0) return;
  gone_.push_back({std::string(kSpace), key_of(ticket), std::nullopt});
}

bool Unjudged::is_overdue(const Winner& winner, std::uint64_t audit_delay_ms) const {
  const std::int64_t waited_ms = clock_.wall_ms() - winner.since_ms - kSlackMs;
  return waited_ms >= 0 && static_cast<std::uint64_t>(waited_ms) >= audit_delay_ms;
}

std::optional<core::Digest> Unjudged::next(std::uint64_t audit_delay_ms,
                                           const std::function<bool(const core::Digest&)>& wanted) {
  const std::int64_t now_ms = clock_.wall_ms();
  for (auto& [ticket, winner] : winners_) {
    const bool is_asked = winner.asked_ms && now_ms - *winner.asked_ms < kRetryMs;
    if (is_asked || !is_overdue(winner, audit_delay_ms) || !wanted(ticket)) continue;
    winner.asked_ms = now_ms;
    return ticket;
  }
  return std::nullopt;
}

std::size_t Unjudged::overdue(std::uint64_t audit_delay_ms) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      winners_, [&](const auto& one) { return is_overdue(one.second, audit_delay_ms); }));
}

}  // namespace commensal::provider
