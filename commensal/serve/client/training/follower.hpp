// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/begun.hpp>
#include <commensal/serve/client/training/context.hpp>
#include <commensal/serve/client/training/rollout_steps.hpp>

// Inside the room: one rollout at a time, segment by segment, as far as it can be believed.
namespace commensal::training {

/// Context and model outlive this object. Thread-safety: none.
class Follower {
 public:
  /// `price`: of a segment.
  Follower(Context& context, const SegmentModel& model, double price)
      : context_(context),
        trainer_(context.outside.trainer),
        observer_(context.outside.observer),
        model_(model),
        each_(model.segment().each),
        price_(price) {}

  /// To its end, to where it cannot be right, or to `stop`. Returns how it stands then. Errors:
  /// run()'s.
  core::Result<client::RolloutInfo> follow(const Rollout& rollout);
  /// The one that was followed last, if it was not seen to its end: nobody waits for more of it.
  /// What was made of it, the same training goes on from.
  void cancel();
  /// How many steps were made here, of all rollouts and in the place of the last one's.
  std::int64_t made_here() const { return made_here_; }
  std::int64_t made_here_last() const { return made_here_last_; }

 private:
  void begin(const Rollout& rollout);
  void note_provider(const client::RolloutInfo& info);
  core::Result<client::RolloutInfo> end(const Rollout& rollout, client::RolloutInfo info,
                                        const train::Checkpoint& before, std::uint64_t taken);
  core::Result<bool> is_ours(std::uint64_t taken);
  core::Result<bool> take(const Rollout& rollout, const client::RolloutInfo& info,
                          std::uint64_t step);
  core::Result<void> go_back(const Rollout& rollout, const client::RolloutInfo& info,
                             const train::Checkpoint& before, std::uint64_t taken);
  core::Result<void> make_here(const client::RolloutInfo& info, const std::string& why);
  void count(const client::RolloutInfo& info, std::uint64_t taken);
  void confirm(const Rollout& rollout, const client::RolloutInfo& info);
  Made made_by(const crypto::Address& provider, bool is_new) const;
  std::int64_t end_of(const Rollout& rollout, std::uint64_t step) const {
    return rollout.began + static_cast<std::int64_t>(step) * each_;
  }

  Context& context_;
  train::Trainer& trainer_;
  Observer& observer_;
  const SegmentModel& model_;
  const std::int64_t each_;
  const double price_;
  std::int64_t made_here_ = 0, made_here_last_ = 0;
  std::optional<RolloutSteps> steps_;    // of the present rollout
  std::optional<core::Digest> running_;  // the present rollout
  crypto::Address provider_;             // its, who may give way until a step is delivered
};

}  // namespace commensal::training
