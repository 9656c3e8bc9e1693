// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/gateway/accusations.hpp>
#include <commensal/serve/gateway/holders.hpp>
#include <commensal/serve/gateway/rollouts.hpp>
#include <commensal/serve/gateway/walks.hpp>
#include <map>
#include <optional>
#include <vector>

namespace commensal::gateway {

/// Has providers let go of models (rpc::Release) that were deleted, of private ones that they may
/// not have any more, being off the list, banned, or without a statement of its privacy class, and
/// of private ones that they were given no work of for so long: soon, or when they are back. Not
/// of what a rollout needs, nor of who is accused. What they answer is in Holders. In one turn of
/// the loop at most limits::kHoldersLookedAtMax of its rows are looked at, and whoever is asked
/// then is in one write. Thread-safety: the loop's thread.
class Recalls {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    store::JointStore& store;
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
  void on_connected(const crypto::Address& provider);
  /// It is banned, or about to be: perhaps nobody hears it afterwards.
  void on_ban(const crypto::Address& provider);
  /// It is banned, has proved its key on this stream, and is about to be sent away.
  void on_turned_away(const crypto::Address& provider, rpc::GatewayPort::StreamId stream);
  void on_released(const crypto::Address& provider, const rpc::Released& message);

 private:
  struct Asked {
    rpc::GatewayPort::StreamId stream = 0;
    std::vector<core::Digest> models;
  };
  using Due = std::map<crypto::Address, Asked>;
  /// Of what a provider has: what it says that it has comes first, then what is noted of it.
  struct Place {
    bool is_noted = false;
    core::Digest from{};
  };

  bool may_hold(const Holders::Key& key, const Holder& holder, bool is_banned);
  /// May it go, and is there somebody to be asked, who was not? Then it is among them.
  void add_if_due(const Holders::Key& key, const Holders::Row& row, Due& due);
  void ask_banned(const crypto::Address& provider, rpc::GatewayPort::StreamId stream);
  void send(const Due& due);
  void look();
  void turn_later();
  void turn();
  /// These look at `rows` at most, and take off what they did.
  std::optional<Place> look_at_provider(const crypto::Address& provider, Place place,
                                        std::size_t& rows, Due& due);
  std::optional<Place> note_cached(const Roster::Peer& peer, core::Digest from, std::size_t& rows);
  std::optional<crypto::Address> look_at_model(const core::Digest& content, crypto::Address from,
                                               std::size_t& rows, Due& due);

  Dependencies deps_;
  const std::int64_t idle_ms_;
  bool looks_ = false, turns_ = false;              // is to
  Holders::Key next_;                               // where look() goes on
  std::map<crypto::Address, core::Digest> banned_;  // where ask_banned() goes on
  Walks<crypto::Address, Place> come_;              // who has connected
  Walks<core::Digest, crypto::Address> gone_;  // of which versions are, or have other providers
};

}  // namespace commensal::gateway
