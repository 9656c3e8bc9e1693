// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <commensal/serve/provider/job_end.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace commensal::provider {

struct ProviderConfig {
  std::string name;
  core::Path folder;                                // state: models/
  std::string gateway = {};                         // what is dialled: rpc::make_grpc_client()'s
  std::optional<crypto::Address> gateway_key = {};  // none: as the first time (KnownGateways)
  std::uint32_t threads = 1;
  AtOnce tasks_at_once = {};
  std::int64_t cache_bytes_max = std::int64_t{8} << 30;
  std::int64_t commit_wait_ms_max = 500;  // of an answer for others to be signed with
  std::uint64_t answer_bytes_max = limits::kStoreValueBytesMax;  // inputs and outputs together
  std::int64_t reconnect_ms_max = 10'000;
  PurseConfig purse;
  /// What auditors have signed of it; those that have ended are shown to nobody.
  std::vector<protocol::PrivacyStatement> statements = {};
};

/// The world, injected; it outlives the provider.
struct ProviderDependencies {
  core::Loop& loop;
  const core::Clock& clock;
  core::Rng& rng;
  core::Store& store;
  const crypto::SecretKey& key;
  rpc::GatewayClient& gateway;
  rollout::EngineFactory& engines;
  /// Why the guest stands still, "" while it runs; asked several times a second. Empty: it always
  /// runs.
  std::function<std::string()> why_paused = {};
  /// What the gateway is shown of the host now; nothing while nobody here looks at it. Empty: it is
  /// shown nothing.
  std::function<std::optional<rpc::HostSeen>()> host_now = {};
  std::stop_token closing = {};  // asked to stop, whatever is computed is cancelled
  /// Hears of each job that ends, on the loop. Empty: nobody does.
  std::function<void(const JobEnd&)> job_ended = {};
};

enum class StreamState { kConnecting, kConnected, kDismissed };

/// What the owner of the machine sees.
struct ProviderStatus {
  StreamState stream = StreamState::kConnecting;
  std::string stream_message;  // why it is not connected, or ""
  std::string paused;          // why it pauses, as the gateway was told, or ""
  std::uint32_t queued = 0;
  std::uint64_t delivered = 0;
  Runs runs = {};  // of models, for answers
  std::uint64_t refused = 0;
  std::string refused_why;                     // the last job
  std::optional<crypto::Address> new_gateway;  // a key that it never met before, and takes on trust
  Fetch fetch;                                 // the last model that was fetched
  ticket::Totals tickets;
  std::optional<rpc::Balance> balance;  // as the gateway's ledger has it
  std::size_t unjudged = 0;             // winners that it has not judged in time
  std::size_t accusations = 0;          // that are pending against it
  std::string accusation;               // what became of the last one, or ""
};

/// The provider without its sockets: an event handler on its loop. It dials out and meets its
/// gateway; jobs.hpp has the way of every job through it.
/// Thread-safety: the loop's thread.
class Provider final : public rpc::ProviderPort, public std::enable_shared_from_this<Provider> {
 public:
  /// Errors: Purse::open's and ModelCache::open's; kInvalidArgument (a statement of somebody else,
  /// or one that has ended).
  static core::Result<std::shared_ptr<Provider>> create(const ProviderDependencies& deps,
                                                        const ProviderConfig& config);
  ~Provider() override;

  /// Dials the gateway and goes on dialling, with back-off, until stop() or a dismissal.
  void start();
  void stop();
  /// Before a stop: no new work, and what is under way may move elsewhere; tickets are drawn.
  void retire();
  /// Tickets that are left then, signed and not drawn: they cost who stays away. What is at work
  /// and not signed is lost, and costs nothing.
  std::size_t left() const;

  ProviderStatus status() const;
  crypto::Address address() const;

  void on_message(rpc::ToProvider message) override;
  void on_close(core::Error reason) override;

 private:
  struct State;
  explicit Provider(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::provider
