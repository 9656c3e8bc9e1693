// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <commensal/serve/provider/holdings.hpp>
#include <commensal/serve/provider/job_end.hpp>
#include <commensal/serve/provider/live_jobs.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace commensal::provider {

/// The way of every step of every job through the provider:
///
///   Offer or Begin -> queued -> fetched, checked and computed off the loop -> signed and durable
///   with its ticket -> Commit -> Countersign, durable -> Deliver
///
/// What is ready together shares one signature and one write. Whatever does not fit is answered
/// with Refuse and changes nothing; the same question has the same answer. Kinds of jobs differ in
/// what their traits say (protocol::JobTraits). Thread-safety: the loop's thread.
class Jobs final : public std::enable_shared_from_this<Jobs> {
 public:
  /// It outlives the jobs.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;
    rpc::GatewayClient& gateway;
    rollout::EngineFactory& engines;
    ModelCache& cache;
    Holdings& holdings;
    Purse& purse;
    std::stop_token closing;  // what is computed is cancelled
    /// Hears of each job that ends; null: nobody does.
    std::function<void(const JobEnd&)> job_ended = {};
  };
  struct Config {
    AtOnce at_once = {};
    std::int64_t commit_wait_ms_max = 500;
    std::uint64_t answer_bytes_max = limits::kStoreValueBytesMax;  // inputs and outputs together
    std::size_t kept_max = limits::kRolloutsKeptMax;               // jobs in the store
    std::uint64_t kept_bytes_max = limits::kProviderRolloutBytesMax;
  };
  struct Counts {
    std::uint32_t at_work = 0;  // off the loop, or waiting for that
    std::uint64_t delivered = 0;
    std::uint64_t refused = 0;
    std::string refused_why;  // the last, with what only its owner is to see
  };
  Jobs(const Dependencies& deps, const Config& config);

  /// A new stream: jobs that are not kept are gone, the others are not answered on this one.
  void on_connect();
  /// Who has proved its key on the present stream: models are held for it.
  void on_meet(const crypto::Address& gateway) { gateway_ = gateway; }
  /// On the present stream: for fetch_model, and whether the gateway hears of what room there is.
  void on_welcome(std::string session_token, bool tells_room);
  /// No more work is accepted, for this reason.
  void close(std::string reason) { closed_ = std::move(reason); }

  void handle(rpc::Offer message);
  void handle(const rpc::Begin& message);
  void handle(const rpc::Countersign& message);
  void handle(const rpc::Withdraw& message);
  void handle(const rpc::Prefetch& message);

  const Counts& counts() const { return counts_; }
  const std::shared_ptr<Executor>& executor() const { return executor_; }
  Fetch fetch() const { return executor_->fetch(); }
  /// Something is computed with this model, or is to be signed, or it is on its way here.
  bool uses(const core::Digest& model) const;
  /// What there is in the cache has changed.
  void report_load();

 private:
  core::Result<LiveJobPtr> accept(rpc::Offer& message);
  void refuse(JobEnd end, core::Error reason);
  /// Of one that ends now.
  JobEnd ending(const LiveJob& live) const;
  void tell(JobEnd end, std::string_view outcome);
  void ask(const LiveJobPtr& live, const receipt::Begin& begin);
  void compute(const LiveJobPtr& live);
  void compute_soon();
  void compute_next();
  void release_later(const TaskPtr& task);
  core::Result<void> check_size(const rollout::ProviderJob& job,
                                const core::Result<rollout::ProviderJob::Computed>& answer) const;
  void collect();
  void computed(const LiveJobPtr& live, Task& task);
  void forget(const LiveJobPtr& live);
  void plan_flush();
  std::size_t unsigned_jobs() const;
  void tell_run(const LiveJob& live, rpc::Commit& commit) const;
  void flush();
  void owe(const LiveJob& live);
  void hold(const core::Digest& model);
  Holdings::Key holding_of(const core::Digest& model) const;
  bool may_prefetch(const rpc::Prefetch& message) const;
  void prefetched(const core::Digest& model);
  /// While it is at work, again and again.
  void report_work();

  Dependencies deps_;
  const Config config_;
  std::shared_ptr<Executor> executor_;  // shared with what is off the loop
  LiveJobs live_;
  crypto::Address gateway_;
  std::string session_token_;
  bool tells_room_ = false;
  std::optional<core::Digest> prefetched_{};  // off the loop, beside what is computed
  std::string closed_;                        // why no work is accepted, or ""
  bool tells_runs_ = false;                   // this stream's gateway takes them
  std::uint64_t stream_ = 0;
  std::uint32_t queued_ = 0;     // joint ones, withdrawn ones too until they have had their turn
  std::uint32_t withdrawn_ = 0;  // of those
  std::size_t due_ = 0;          // tasks that are to be taken off the loop once this turn ends
  bool flush_is_due_ = false;
  bool gathers_ = false;  // flushes soon
  bool reports_work_ = false;
  std::uint64_t flushes_ = 0;
  std::map<TaskPtr, LiveJobPtr> computing_;
  std::vector<LiveJobPtr> ready_;  // computed, neither signed nor durable
  Counts counts_;
};

}  // namespace commensal::provider
