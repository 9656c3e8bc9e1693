// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/address.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <string>

namespace commensal::training {

/// Who made a segment, and what it cost.
struct Made {
  crypto::Address provider{};  // of a segment that was not made here
  bool is_here = false;
  bool is_paid_before = false;  // by an earlier run
  double cost = 0;              // of all segments of this run; 0: there is no money
};

/// Who is told what becomes of a training at a gateway, in the thread that drives it. Nothing of it
/// waits for an answer; an error of shown() ends the training.
class Observer {
 public:
  virtual ~Observer() = default;

  /// The trainer stands where it begins or goes on from.
  virtual core::Result<void> shown(const train::Trainer& trainer) = 0;
  /// It has one segment more, or one step of a segment that is made here.
  virtual core::Result<void> shown(const train::Trainer& trainer, const Made& made) = 0;
  /// It is back at fewer steps.
  virtual void went_back(const train::Trainer& trainer) = 0;

  /// It has begun, or another provider has taken it over before its first step.
  virtual void told_rollout(const core::Digest& rollout, const crypto::Address& provider) = 0;
  /// A rollout ended before its last segment, lost trust, or makes another training's state: this
  /// one goes on after step `done` without it.
  virtual void told_end(std::int64_t done, const crypto::Address& provider,
                        const std::string& why) = 0;
  /// Steps `first` to `last`, in the place of what `provider` said or delivered.
  virtual void told_made_here(std::int64_t first, std::int64_t last,
                              const crypto::Address& provider, const std::string& why) = 0;
  /// Nothing comes, and why; what was told last is not told again.
  virtual void told_waiting(const std::string& why) = 0;
  /// It was to be cancelled, but the gateway did not take that to the end.
  virtual void told_goes_on(const core::Digest& rollout, const std::string& why) = 0;
};

}  // namespace commensal::training
