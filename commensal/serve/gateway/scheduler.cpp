// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/scheduler.hpp>
#include <tuple>

namespace commensal::gateway {
namespace {

constexpr std::size_t kReasonsMax = 5;

constexpr std::uint32_t kBusyQueue = 8;  // from then on somebody new may help

/// In steps of the square root of two. Who is like the others is well within one, and so is, for
/// one fault, who has a few answers: without work nobody would come back.
int step_of(double wait) {
  constexpr double kWithin = 0.25;
  return static_cast<int>(std::floor(2 * std::log2(wait) + kWithin));
}

/// The lowest is the best.
auto rank(const Candidate& item, bool explores, bool has_known) {
  const bool is_tried_out = item.is_new && explores && item.queued == 0;
  const int tier = is_tried_out ? 0 : item.is_new && has_known ? 2 : 1;
  return std::tuple(item.avoided_until_ms, tier, item.is_held, step_of(wait_of(item)),
                    item.last_turn, item.address);
}

std::string reasons(std::span<const Candidate> candidates) {
  std::string text;
  for (std::size_t i = 0; i < candidates.size() && i < kReasonsMax; ++i) {
    text +=
        fmt::format("{}'{}' {}", i == 0 ? "" : ", ", candidates[i].name, candidates[i].excluded);
  }
  if (candidates.size() > kReasonsMax) {
    text += fmt::format(", and {} more", candidates.size() - kReasonsMax);
  }
  return text;
}

}  // namespace

double wait_of(const Candidate& item) {
  constexpr double kUsualMs = 10;  // where nobody knows
  const double way = item.link_ms / (item.usual_ms > 0 ? item.usual_ms : kUsualMs);
  return ((1.0 + item.queued + item.load_cost) * item.effort + way) * (1 + item.wrong_cost);
}

double fetch_cost(double fetch_ms, double usual_ms) {
  constexpr double kLongMs = 200;
  if (fetch_ms < kLongMs || usual_ms <= 0) return 0;
  return std::min<double>(limits::kProviderJobsMax, fetch_ms / usual_ms);
}

bool is_at_hand(const Candidate& item) {
  return item.excluded.empty() && item.avoided_until_ms == 0 && !item.is_new && !item.is_held &&
         item.queued < kBusyQueue;
}

void exclude_held(std::span<Candidate> candidates) {
  const auto is_quick = [](const Candidate& item) {
    return item.excluded.empty() && item.avoided_until_ms == 0 && !item.is_new && !item.is_held;
  };
  if (std::ranges::none_of(candidates, is_quick)) return;
  for (Candidate& item : candidates) {
    if (!item.is_held || !item.excluded.empty()) continue;
    item.excluded = "is busy with something long";
    item.may_come = true;
  }
}

core::Result<std::size_t> choose(std::span<const Candidate> candidates, std::string_view model,
                                 bool explores) {
  const bool has_known = std::ranges::any_of(candidates, is_at_hand);
  const Candidate* best = nullptr;
  for (const Candidate& item : candidates) {
    if (!item.excluded.empty()) continue;
    if (best == nullptr || rank(item, explores, has_known) < rank(*best, explores, has_known))
      best = &item;
  }
  if (best != nullptr) return static_cast<std::size_t>(best - candidates.data());
  if (candidates.empty()) {
    return core::fail(core::ErrorCode::kUnavailable,
                      "no provider for '{}': none is connected to this gateway", model);
  }
  return core::fail(core::ErrorCode::kUnavailable, "no provider for '{}': {}", model,
                    reasons(candidates));
}

}  // namespace commensal::gateway
