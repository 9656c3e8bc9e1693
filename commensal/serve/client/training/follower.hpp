// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/chain.hpp>

// Inside the room: one rollout at a time, segment by segment, as far as it can be believed.
namespace commensal::training {

/// Context, chain and model outlive this object. Thread-safety: none.
class Follower {
 public:
  /// `price`: of a segment.
  Follower(Context& context, Chain& chain, const SegmentModel& model, double price)
      : context_(context),
        trainer_(context.outside.trainer),
        observer_(context.outside.observer),
        chain_(chain),
        model_(model),
        each_(model.segment().each),
        price_(price) {}

  /// To its end, to where it cannot be right, or to `stop`. Precondition: it has delivered the
  /// trainer's state, or begins from it. Returns how it stands then. Errors: run()'s.
  core::Result<client::RolloutInfo> follow(const Rollout& rollout);
  /// How many steps were made here, of all rollouts and in the place of the last one's.
  std::int64_t made_here() const { return made_here_; }
  std::int64_t made_here_last() const { return made_here_last_; }

 private:
  void begin(const Rollout& rollout);
  void note(const client::RolloutInfo& info);
  core::Result<void> end(const Rollout& rollout, const client::RolloutInfo& info);
  core::Result<bool> take(const Rollout& rollout, const client::RolloutInfo& info);
  core::Result<void> make_here(const client::RolloutInfo& info, const std::string& why);
  Made made_by(const crypto::Address& provider, bool is_new) const;

  Context& context_;
  train::Trainer& trainer_;
  Observer& observer_;
  Chain& chain_;  // whose last link is the present rollout
  const SegmentModel& model_;
  const std::int64_t each_;
  const double price_;
  std::int64_t made_here_ = 0, made_here_last_ = 0;
  crypto::Address provider_;  // the present rollout's, who may give way until a step is delivered
};

}  // namespace commensal::training
