// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/begun.hpp>
#include <cstdlib>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::ErrorCode;
using core::Result;

namespace {

std::string unconfirmed(const RolloutInfo& info) {
  return fmt::format("no audit has confirmed segment {} of its {}", info.trusted_steps + 1,
                     info.steps);
}

}  // namespace

RolloutInfo believed(RolloutInfo info, bool audits_all) {
  if (audits_all) info.trusted_steps = std::min(info.trusted_steps, info.confirmed_steps);
  return info;
}

std::string why_ended(const RolloutInfo& info) {
  if (!info.reason.empty()) return info.reason;
  return info.state == "finished" ? unconfirmed(info) : info.state;
}

/// One whose provider was caught elsewhere keeps the reason of its own end.
std::string why_fallen(const RolloutInfo& info) {
  const bool says_why = info.state == "caught" && !info.reason.empty();
  return says_why ? info.reason : unconfirmed(info);
}

bool is_away(const core::Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded;
}

Result<std::vector<Rollout>> list_begun(Context& context, const SegmentModel& model) {
  const std::string prefix = model.key() + "-";
  const auto ask = [&] { return context.outside.gateway.rollouts(prefix); };
  COMMENSAL_ASSIGN(std::vector<RolloutInfo> list,
                   client::ask_again(context.outside.clock, kAwayMsMax, ask, context.stop));
  std::vector<Rollout> made;
  for (RolloutInfo& info : list) {
    const std::int64_t began = std::strtoll(info.key.c_str() + prefix.size(), nullptr, 10);
    if (began <= context.outside.trainer.done()) context.under_way.heard(info);
    made.push_back({believed(std::move(info), context.audits_all), began});
  }
  const std::int64_t each = model.segment().each;
  std::ranges::stable_sort(made, std::ranges::greater(), [each](const Rollout& one) {
    return one.began + static_cast<std::int64_t>(one.info.trusted_steps) * each;
  });
  return made;
}

std::shared_ptr<RolloutSteps> steps_of(Context& context, const SegmentModel& model,
                                       const RolloutInfo& info,
                                       std::optional<tensor::NamedTensors> inputs) {
  auto open = [graph = model.graph(), roots = model.roots(), provider = info.provider,
               inputs = std::move(inputs)](const rollout::JobRecord& record) {
    return rollout::SignedSteps::open(record, provider, *graph, roots, inputs);
  };
  const Outside& outside = context.outside;
  return std::make_shared<RolloutSteps>(outside.gateway, outside.clock, info.id, std::move(open),
                                        kAwayMsMax, context.stop);
}

Result<bool> leads_to(Context& context, const SegmentModel& model, Rollout& rollout,
                      std::int64_t done,
                      const std::function<bool(const tensor::NamedTensors&)>& is_it) {
  const std::int64_t each = model.segment().each, made = done - rollout.began;
  if (made <= 0 || made % each != 0) return false;
  const auto segment = static_cast<std::uint64_t>(made / each);
  if (segment > rollout.info.steps_done) return false;
  const auto look = [&]() -> Result<bool> {
    rollout.steps = steps_of(context, model, rollout.info, {});
    COMMENSAL_ASSIGN(const auto inputs, rollout.steps->inputs());
    COMMENSAL_ASSIGN(const auto outputs, rollout.steps->outputs(segment));
    if (!is_it(outputs)) return false;
    rollout.from = receipt::state_root(inputs);
    return true;
  };
  const auto found = look();
  if (!found && !is_away(found.error())) return false;
  return found;
}

}  // namespace commensal::training
