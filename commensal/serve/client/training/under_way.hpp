// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/client/training/gateway.hpp>
#include <commensal/serve/client/training/observer.hpp>
#include <set>

// Inside the room.
namespace commensal::training {

/// Rollouts that cost while nobody may wait for them. Gateway and clock outlive this object.
/// Thread-safety: none.
class UnderWay {
 public:
  UnderWay(Gateway& gateway, const core::Clock& clock) : gateway_(gateway), clock_(clock) {}

  /// How one of the training's stands.
  void heard(const client::RolloutInfo& info);
  /// Nobody waits for more of it. A refusal is no end: it is tried again. Returns whether it was
  /// under way.
  bool cancel(const core::Digest& rollout);
  void try_again();
  /// A start by this key may have been heard, though its answer was not; it was answered after all.
  void asked_in_vain(const std::string& key) { keys_.insert(key); }
  void answered(const std::string& key) { keys_.erase(key); }
  /// Cancels all that is under way, and tells what the gateway does not take. What no start's
  /// answer told of is looked for once more.
  void end(Observer& observer);

 private:
  Gateway& gateway_;
  const core::Clock& clock_;
  std::set<core::Digest> all_, ending_;  // of those, which are to be cancelled
  std::set<std::string> keys_;
};

}  // namespace commensal::training
