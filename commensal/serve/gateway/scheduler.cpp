// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/scheduler.hpp>
#include <tuple>

namespace commensal::gateway {
namespace {

constexpr std::size_t kReasonsMax = 5;

auto rank(const Candidate& item) {
  return std::tuple(item.queued + item.load_cost, item.served, item.address);
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

core::Result<std::size_t> choose(std::span<const Candidate> candidates, std::string_view model) {
  const Candidate* best = nullptr;
  for (const Candidate& item : candidates) {
    if (!item.excluded.empty()) continue;
    if (best == nullptr || rank(item) < rank(*best)) best = &item;
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
