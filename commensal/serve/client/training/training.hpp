// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/client/training/observer.hpp>
#include <commensal/serve/client/training/segment_model.hpp>
#include <stop_token>

/// A training whose steps others make, a segment (compute/train/segment.hpp) at a time: a rollout
/// at a gateway (docs/training.md).
namespace commensal::training {

/// Of the segments that the trainer's state rests on, as far as they are known. One that was made
/// here counts as audited; of a rollout that was not taken to its end, those do that audits have
/// confirmed from the first on without a gap.
struct End {
  std::uint64_t segments = 0, audited = 0;
};

/// What a training is driven with. All of it outlives the call.
struct Outside {
  train::Trainer& trainer;
  Gateway& gateway;
  const core::Clock& clock;
  Observer& observer;
};

/// Where all segments are to be audited, those behind the trainer's checkpoint were: to be asked
/// before anything is pushed. Error: kFailedPrecondition.
core::Result<void> check_checkpoint(const train::Trainer& trainer, double audit_probability);

/// Takes the trainer to its plan's last step; `first` is of the segments that come next. The same
/// again goes on where it was: the gateway keeps the state after each segment. It goes on from
/// segments alone that have no open audit; after a provider that was caught it goes back to the
/// last one that audits have confirmed, and on with another one, also where that comes after its
/// rollout's end: before each rollout, and at the end, it asks about all that its state rests on,
/// of earlier runs too. What cannot be right, and what nobody could make as a provider says, is
/// made here. Where all are to be audited, it takes those alone that audits have confirmed, and has
/// the first that none has made again. At `stop`, and whatever else ends it, it cancels what is
/// under way; the gateway keeps the states. It goes on in a rollout alone that has delivered the
/// trainer's state, or begins from it. Blocks. Thread-safety: one thread at a time, but for `stop`.
/// Errors: those of the gateway, of signed steps, of Trainer::step and of the observer;
/// kFailedPrecondition (rollouts bring nothing again and again, whatever was made here in their
/// place, with the reason of the last); kDataLoss (a state to go back to is another one now);
/// kCancelled (`stop`: how it goes on).
core::Result<End> run(const Outside& outside, const Terms& terms, SegmentModel first,
                      const std::stop_token& stop);

}  // namespace commensal::training
