// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/prefetcher.hpp>
#include <tuple>
#include <vector>

namespace commensal::gateway {
namespace {

constexpr double kOftenPerS = 1, kSeldomPerS = 0.02;

}  // namespace

std::size_t providers_wanted(double per_s, double usual_ms) {
  constexpr double kBusyMax = 0.5, kMost = 1'000'000;
  if (per_s < kOftenPerS) return 0;
  const double busy = per_s * usual_ms / 1'000;  // providers, all of the time
  return static_cast<std::size_t>(std::min(kMost, std::max(2.0, std::ceil(busy / kBusyMax))));
}

void Prefetcher::on_request(const ModelVersion& model, double usual_ms) {
  const std::string series = fmt::format("{}:{}", model.name, model.version);
  auto found = wanted_.find(series);
  if (found == wanted_.end()) {
    make_room();
    found = wanted_.emplace(series, Wanted{model, {}, 0}).first;
  }
  found->second.model.allowed_providers = model.allowed_providers;
  found->second.rate.on_request(now_ms());
  found->second.usual_ms = usual_ms;
  look_later();
}

void Prefetcher::make_room() {
  if (wanted_.size() < limits::kPrefetchModelsMax) return;
  wanted_.erase(std::ranges::min_element(
      wanted_, {}, [now = now_ms()](const auto& item) { return item.second.rate.per_s(now); }));
}

/// As long as anything is asked for.
void Prefetcher::look_later() {
  if (std::exchange(looks_, true)) return;
  deps_.loop.after(limits::kPrefetchLookMs, [this] {
    looks_ = false;
    look();
  });
}

void Prefetcher::look() {
  const std::int64_t now = now_ms();
  end_fetches();
  std::erase_if(wanted_,
                [now](const auto& item) { return item.second.rate.per_s(now) < kSeldomPerS; });
  std::vector<Wanted*> often;
  for (auto& [series, wanted] : wanted_) {
    if (wanted.rate.per_s(now) >= kOftenPerS) often.push_back(&wanted);
  }
  std::ranges::sort(often, std::ranges::greater(),
                    [now](Wanted* one) { return one->rate.per_s(now); });
  for (Wanted* const one : often) spread(*one);
  if (!wanted_.empty() || !under_way_.empty()) look_later();
}

/// What is there now, comes to nothing, or takes too long.
void Prefetcher::end_fetches() {
  const std::int64_t now = now_ms();
  std::erase_if(under_way_, [&](const auto& item) {
    const Roster::Peer* const peer = deps_.roster.at(item.second.stream);
    return peer == nullptr || peer->cached.contains(item.second.model) ||
           now >= item.second.until_ms;
  });
  std::erase_if(told_,
                [now](const auto& item) { return now - item.second >= limits::kPrefetchAgainMs; });
}

/// Providers that have it, or fetch it, and may be asked for it.
std::size_t Prefetcher::having(const core::Digest& model) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(deps_.roster.peers(), [&](const auto& item) {
        const Roster::Peer& peer = item.second;
        if (peer.stream == nullptr || !peer.paused.empty() || !peer.banned.empty()) return false;
        const auto fetch = under_way_.find(item.first);
        return peer.cached.contains(model) ||
               (fetch != under_way_.end() && fetch->second.model == model);
      }));
}

void Prefetcher::spread(Wanted& wanted) {
  const ModelVersion& model = wanted.model;
  const std::size_t want = providers_wanted(wanted.rate.per_s(now_ms()), wanted.usual_ms);
  const std::size_t have = having(model.content);
  const std::size_t may = limits::kPrefetchesMax - under_way_.size();
  // Who may run it is known as of the last request.
  const bool is_known =
      !model.is_private || now_ms() - wanted.rate.last_ms() <= limits::kPrefetchLookMs;
  if (have >= want || may == 0 || !is_known || now_ms() < wanted.not_before_ms) return;
  std::vector<Candidate> able = deps_.roster.candidates(model, "", 0, {}, now_ms());
  std::erase_if(able, [&](const Candidate& one) { return !may_fetch(one, model); });
  // It costs a look at all of them, in vain.
  if (able.empty()) wanted.not_before_ms = now_ms() + limits::kPrefetchVainMs;
  std::ranges::sort(able, {}, [](const Candidate& one) {
    return std::tuple(one.queued, one.last_turn, one.address);
  });
  able.resize(std::min({able.size(), want - have, may}));
  for (const Candidate& one : able) tell(one, model);
}

bool Prefetcher::may_fetch(const Candidate& one, const ModelVersion& model) const {
  const Roster::Peer& peer = *deps_.roster.by_address(one.address);
  const bool is_free = one.excluded.empty() && !one.is_new && one.avoided_until_ms == 0 &&
                       !under_way_.contains(one.address);
  return is_free && peer.room_bytes && std::cmp_less_equal(model.bytes, *peer.room_bytes) &&
         !peer.cached.contains(model.content) && !told_.contains({one.address, model.content}) &&
         deps_.lottery.reservation(one.address).empty();
}

void Prefetcher::tell(const Candidate& one, const ModelVersion& model) {
  const Roster::Peer& peer = *deps_.roster.by_address(one.address);
  const std::int64_t takes_ms =
      limits::kPrefetchMsMax + model.bytes / limits::kPrefetchBytesPerMsMin;
  under_way_[one.address] = {model.content, peer.stream_id, now_ms() + takes_ms};
  told_[{one.address, model.content}] = now_ms();
  deps_.roster.grant(peer.stream_id, model.content);
  peer.stream->send(rpc::Prefetch{model.content, static_cast<std::uint64_t>(model.bytes)});
}

}  // namespace commensal::gateway
