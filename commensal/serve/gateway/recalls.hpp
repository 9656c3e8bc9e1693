// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/accusations.hpp>
#include <commensal/serve/gateway/holders.hpp>
#include <commensal/serve/gateway/rollouts.hpp>
#include <set>

namespace commensal::gateway {

/// Has providers let go of models (rpc::Release) that were deleted, of private ones that they may
/// not have any more, being off the list, banned, or without a statement of its privacy class, and
/// of private ones that they were given no work of for so long: at once, or when they are back. Not
/// of what a rollout needs, nor of who is accused. What they answer is in Holders.
/// Thread-safety: the loop's thread.
class Recalls {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    ModelHub& hub;
    Roster& roster;
    Holders& holders;
    const Rollouts& rollouts;
    const Accusations& accusations;
    EventQueue& events;
  };
  /// @param idle_ms without work of a private model; 0: for ever
  Recalls(const Dependencies& deps, std::int64_t idle_ms);

  /// From now on it is looked for what is to go, as long as there is any holder.
  void watch();
  void on_connected(const crypto::Address& provider) { ask(provider, false); }
  /// It is about to be: afterwards nobody hears it.
  void on_ban(const crypto::Address& provider) { ask(provider, true); }
  void on_released(const crypto::Address& provider, const rpc::Released& message);

 private:
  void ask(const crypto::Address& provider, bool is_banned);
  bool may_hold(const Holders::Key& key, const Holder& holder, bool is_banned);
  /// May it go, and is there somebody to be asked, who was not?
  bool is_due(const Holders::Key& key, const Holders::Row& row, bool is_banned);
  void send(const crypto::Address& provider, const std::vector<core::Digest>& models);
  void look();
  void look_at_changed();

  Dependencies deps_;
  const std::int64_t idle_ms_;
  bool looks_ = false;              // is to
  Holders::Key next_;               // where look() goes on
  std::set<core::Digest> changed_;  // of which versions are gone, or have other providers
};

}  // namespace commensal::gateway
