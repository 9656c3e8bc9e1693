// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/provider/engine.hpp>
#include <commensal/serve/provider/late_links.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/serve/rpc/link.hpp>
#include <commensal/verify/chain/provider.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>

namespace commensal::provider {

/// The chains of links that this provider computes: chain::ChainProvider of each, off the loop
/// where it computes, with tickets. What it has said of a chain is on disk, so that a chain goes on
/// after a crash of either side, from ChainStart on a new stream.
/// A message that does not fit is answered with ChainRefuse and changes nothing.
/// Thread-safety: the loop's thread.
class Chains {
 public:
  struct World {
    core::Loop& loop;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;
    rpc::GatewayClient& gateway;
    EngineFactory& engines;
    ModelCache& cache;
    Purse& purse;
    /// For fetch_model, on the present stream.
    std::function<std::string()> session_token;
  };
  explicit Chains(World world) : world_(std::move(world)), late_(world_.store) {}

  /// Counts the chains in the store; call once before the rest. Error: the store's.
  core::Result<void> open();
  /// A new stream: what was begun on an earlier one is kept, but not answered on this one.
  void on_connect() { ++generation_; }

  void handle(rpc::ChainStart message);
  void handle(const rpc::ChainBegin& message);
  void handle(const rpc::ChainCountersign& message);

 private:
  using Engine = std::shared_ptr<chain::Engine>;
  /// A chain at hand.
  struct Live {
    core::Digest id{};
    Engine engine;
    std::optional<chain::ChainProvider> provider;  // once the engine is there
    bool is_busy = true;                           // off the loop
    bool is_asked_again = false;                   // meanwhile, on a new stream
    std::uint64_t used = 0;
    std::uint64_t excused = 0;  // the link before we were gone: its delay may be ours
  };
  using LivePtr = std::shared_ptr<Live>;
  struct Loaded {
    core::Digest model{};
    std::vector<protocol::Feed> feeds;
    Engine engine;
  };

  core::Result<void> accept(const protocol::Job& job) const;
  core::Result<void> make_room();
  /// Off the loop.
  core::Result<Engine> engine_for(const rpc::ChainStart& start, const std::string& token,
                                  const core::Path& path);
  core::Result<void> open_chain(Live& live, const rpc::ChainStart& start);
  core::Result<chain::Commit> commit(Live& live, const chain::Begin& begin, chain::Values outputs);
  void repeat(Live& live, const chain::Commit& made);
  /// The last link's ticket comes to nothing. Error: kFailedPrecondition, too many before it.
  core::Result<void> note_late(const Live& live);
  core::Result<chain::Deliver> countersign(Live& live, const chain::Countersign& message);
  void after_work(Live& live);
  void refuse(const core::Digest& chain, core::Error reason);
  /// The chain, not busy; else the message is refused.
  LivePtr at_hand(const core::Digest& chain);

  World world_;
  LateLinks late_;
  std::uint64_t generation_ = 0, uses_ = 0;
  std::size_t kept_ = 0;  // in the store
  std::map<core::Digest, LivePtr> live_;
  std::set<core::Digest> at_work_;  // chains with links since we are there
  std::list<Loaded> loaded_;  // off the loop's; youngest first
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::provider
