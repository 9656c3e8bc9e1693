// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/recently_used.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace commensal::provider {

/// A step on its way through the executor, to whom its job belongs until it is done.
struct Task {
  core::Digest model{};       // SHA-256 of its file
  core::Path model_path;      // where that lies or shall lie
  std::string session_token;  // for fetch_model
  receipt::Begin begin;
  std::shared_ptr<rollout::ProviderJob> job;
  core::Result<rollout::ProviderJob::Computed> answer;
  std::int64_t ops_max = 0;     // its compute budget
  std::stop_source withdrawal;  // nobody waits for the answer: it is cancelled

  const crypto::Address& client() const { return job->job().client; }
  bool is_withdrawn() const { return withdrawal.stop_requested(); }
  bool is_joint() const { return job->job().traits().is_joint; }
};
using TaskPtr = std::shared_ptr<Task>;

/// Tasks of one model that an engine may run together.
struct AtOnce {
  std::size_t usual = 1;
  std::map<core::Digest, std::size_t> by_model = {};  // where it is not the usual number

  std::size_t of(const core::Digest& model) const {
    const auto found = by_model.find(model);
    return found == by_model.end() ? usual : found->second;
  }
};

/// A model's way to this provider.
struct Fetch {
  std::uint64_t number = 0;  // how many there have been, this one included; 0: none
  core::Digest model{};
  std::int64_t bytes = 0;  // that have come
  bool is_over = false;
  std::string failed;  // why, or ""
};

/// The part of a provider that runs off the loop: fetches models, keeps the engines that were used
/// last, and checks and computes steps: clients take turns, each with its oldest, and together with
/// a joint one (protocol::JobTraits) go those that ask for the same model, `at_once` of them at
/// most, wherever they stand in the queue. Thread-safety: one call of next() at a time
/// (core::Loop::offload).
class Executor {
 public:
  /// Once `closing` is asked to stop, whatever is computed is cancelled.
  Executor(rollout::EngineFactory& engines, rpc::GatewayClient& gateway, AtOnce at_once,
           std::stop_token closing)
      : engines_(engines),
        gateway_(gateway),
        at_once_(std::move(at_once)),
        closing_(std::move(closing)) {}

  /// Joins the queue; once for each, next() is to be called. Thread-safety: any thread.
  void add(TaskPtr task);
  /// Whoever has the turn, if anybody waits. Errors in their answers: those of
  /// rollout::ProviderJob::compute, and what fetching and loading return.
  void next();
  /// For what else is done in the same lane: the engine of a model whose file lies, or shall lie,
  /// at `path`. Errors: what fetching and loading return.
  core::Result<std::shared_ptr<rollout::Engine>> engine(const core::Digest& model,
                                                        const std::vector<protocol::Feed>& feeds,
                                                        const core::Path& path,
                                                        const std::string& session_token,
                                                        const std::stop_token& cancel);
  /// What has been done since, or was withdrawn before. Thread-safety: any thread.
  std::vector<TaskPtr> finished();
  /// The last one. Any thread.
  Fetch fetch() const;

 private:
  struct Key {
    core::Digest model{};
    std::vector<protocol::Feed> feeds;
    bool operator==(const Key&) const = default;
  };
  static Key key_of(const Task& task) { return {task.model, task.job->job().feeds}; }
  void run_all(std::span<const TaskPtr> tasks);
  std::vector<TaskPtr> take();
  TaskPtr first_in_turn();
  core::Result<void> fetch_model(const core::Digest& model, const core::Path& path,
                                 const std::string& session_token);

  rollout::EngineFactory& engines_;
  rpc::GatewayClient& gateway_;
  const AtOnce at_once_;
  const std::stop_token closing_;
  core::RecentlyUsed<Key, std::shared_ptr<rollout::Engine>> loaded_{limits::kEnginesMax};
  mutable std::mutex mutex_;
  // The rest is guarded by mutex_.
  std::deque<TaskPtr> waiting_;
  std::vector<TaskPtr> finished_;
  std::map<crypto::Address, std::uint64_t> turns_;  // the last of each client that waits
  std::uint64_t turn_ = 0;
  Fetch fetch_;
};

}  // namespace commensal::provider
