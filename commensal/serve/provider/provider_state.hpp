// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/provider/chains.hpp>
#include <commensal/serve/provider/computed.hpp>
#include <commensal/serve/provider/host_watch.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/provider/retention.hpp>
#include <commensal/serve/provider/task_queue.hpp>
#include <map>

/// The inside of Provider, for its own sources only: provider.cpp is its face and what it does with
/// tasks, provider_link.cpp how it meets its gateway.
namespace commensal::provider {

inline constexpr std::int64_t kReconnectMsMin = 100;

struct Provider::State {
  ProviderWorld world;
  ProviderConfig config;
  store::JointStore store;
  ModelCache cache;
  Retention retention;
  Purse purse;
  Worker worker;
  TaskQueue queue;
  Chains chains;
  HostWatch host;
  crypto::Address address;

  std::string session_token;
  std::uint64_t link_generation = 0;  // work begun on an earlier link is not answered on this one
  std::int64_t reconnect_ms = kReconnectMsMin;
  bool stopped = true;
  bool flush_is_due = false;
  std::uint64_t flushes = 0;
  protocol::KnownSignatures known;  // of the client
  ProviderStatus status;
  std::map<rpc::TaskId, std::shared_ptr<QueuedTask>> under_way;  // not computed yet
  std::map<rpc::TaskId, Computed> ready;      // computed, not yet retained and committed
  std::map<rpc::TaskId, Computed> committed;  // waiting for the client's signature

  State(const ProviderWorld& w, const ProviderConfig& c, ModelCache opened)
      : world(w),
        config(c),
        store(w.store),
        cache(std::move(opened)),
        retention(store, {c.retention_bytes_max, c.retention_memory_bytes_max}),
        purse({.store = store,
               .clock = w.clock,
               .rng = w.rng,
               .key = w.key,
               .send = [this](rpc::ToGateway message) { world.gateway.send(std::move(message)); },
               .on_drawn =
                   [this](const core::Digest& beacon, std::uint64_t round,
                          std::span<const core::Digest> winners) {
                     return retention.drawn(beacon, round, winners);
                   }},
              c.purse),
        worker(w.engines, w.gateway),
        queue(worker, c.tasks_at_once),
        chains({w.loop, w.rng, store, w.key, w.gateway, w.engines, cache, purse,
                [this] { return session_token; }}),
        host(w.why_paused,
             [this](rpc::ToGateway message) { world.gateway.send(std::move(message)); }),
        address(w.key.address()) {}

  // One overload per message of the gateway.
  void handle(Provider& self, rpc::Challenge message);
  void handle(Provider& self, rpc::Welcome message);
  void handle(Provider& self, rpc::Dismiss message);
  void handle(Provider& self, rpc::Task message);
  void handle(Provider& self, rpc::Countersign message);
  void handle(Provider& self, rpc::OpenRequest message);
  void handle(Provider& self, const rpc::Withdraw& message);

  void handle(Provider& self, rpc::Reveal message);
  void handle(Provider& self, rpc::Outcomes message);
  void handle(Provider& self, rpc::Balance message) { (void)self, purse.on_balance(message); }
  void handle(Provider&, rpc::ChainStart message);
  void handle(Provider&, const rpc::ChainBegin& message) { chains.handle(message); }
  void handle(Provider&, const rpc::ChainCountersign& message) { chains.handle(message); }

  core::Result<void> accept(const rpc::Task& task) const;
  void finish(Provider& self, rpc::Task task, core::Result<Answer> answer);
  void plan_flush(Provider& self);
  void flush();
  core::Result<void> keep(std::span<const protocol::ReceiptBody> bodies,
                          std::span<const protocol::BatchSignature> signatures);
  void refuse(rpc::TaskId task, core::Error reason);
  void report_load();
  void connect(Provider& self);
  void look(Provider& self);
  void watch_host(Provider& self);
};

}  // namespace commensal::provider
