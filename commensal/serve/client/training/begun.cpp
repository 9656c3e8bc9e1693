// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/client/training/begun.hpp>
#include <cstdlib>

namespace commensal::training {

using client::RolloutInfo;
using core::Result;

RolloutInfo believed(RolloutInfo info, bool audits_all) {
  if (audits_all) info.trusted_steps = std::min(info.trusted_steps, info.confirmed_steps);
  return info;
}

std::string why_ended(const RolloutInfo& info) {
  if (!info.reason.empty()) return info.reason;
  if (info.state != "finished") return info.state;
  return fmt::format("no audit has confirmed segment {} of its {}", info.trusted_steps + 1,
                     info.steps);
}

std::string key_prefix(const SegmentModel& model) { return model.key() + "-"; }

Result<std::optional<Rollout>> find_begun(std::vector<RolloutInfo> list,
                                          const train::Trainer& trainer, const SegmentModel& model,
                                          bool audits_all) {
  const std::size_t beginning = key_prefix(model).size();
  const std::int64_t each = model.segment().each;
  std::optional<Rollout> found;
  std::int64_t furthest = trainer.done() - 1;
  bool is_vouched_for = false;
  std::optional<crypto::Address> caught;
  for (RolloutInfo& one : list) {
    const std::int64_t began = std::strtoll(one.key.c_str() + beginning, nullptr, 10);
    if (began >= trainer.done() || (trainer.done() - began) % each != 0) continue;
    RolloutInfo info = believed(std::move(one), audits_all);
    const std::int64_t end = began + static_cast<std::int64_t>(info.trusted_steps) * each;
    is_vouched_for |= end >= trainer.done();
    const std::int64_t made = began + static_cast<std::int64_t>(info.steps_done) * each;
    if (info.state == "caught" && end < trainer.done() && made >= trainer.done())
      caught = info.provider;
    if (end <= furthest || (info.is_over() && end <= trainer.done())) continue;
    furthest = end;
    found = Rollout{std::move(info), began};
  }
  if (caught && !is_vouched_for) return rests_on(trainer, *caught);
  return found;
}

tl::unexpected<core::Error> rests_on(const train::Trainer& trainer,
                                     const crypto::Address& provider) {
  return core::fail(core::ErrorCode::kFailedPrecondition,
                    "{} may rest on steps of {}, who was caught: remove it, what audits have "
                    "confirmed is at the gateway",
                    trainer.plan().checkpoint.string(), crypto::to_text(provider));
}

}  // namespace commensal::training
