// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/under_way.hpp>

namespace commensal::training {

namespace {

constexpr std::int64_t kEndMs = 2'000;  // somebody may wait for the command's end

}  // namespace

void UnderWay::heard(const client::RolloutInfo& info) {
  if (info.state == "running") {
    all_.insert(info.id);
    return;
  }
  all_.erase(info.id);
  ending_.erase(info.id);
}

bool UnderWay::cancel(const core::Digest& rollout) {
  if (!all_.contains(rollout)) return false;
  ending_.insert(rollout);
  try_again();
  return true;
}

void UnderWay::try_again() {
  std::erase_if(ending_, [this](const core::Digest& rollout) {
    const bool is_cancelled = gateway_.cancel_rollout(rollout).has_value();
    if (is_cancelled) all_.erase(rollout);
    return is_cancelled;
  });
}

void UnderWay::end(Observer& observer) {
  for (const std::string& key : keys_) {
    const auto list = client::ask_again(clock_, kEndMs, [&] { return gateway_.rollouts(key); });
    if (!list) continue;
    for (const client::RolloutInfo& info : *list) {
      if (info.key == key) heard(info);
    }
  }
  for (const core::Digest& rollout : all_) {
    const auto cancel = [&] { return gateway_.cancel_rollout(rollout); };
    const auto cancelled = client::ask_again(clock_, kEndMs, cancel);
    if (!cancelled) observer.told_goes_on(rollout, cancelled.error().message);
  }
  all_.clear();
  ending_.clear();
  keys_.clear();
}

}  // namespace commensal::training
