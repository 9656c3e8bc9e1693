// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/recently_used.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace commensal::provider {

/// A step on its way through the worker, to whom its job belongs until it is done.
struct Task {
  core::Digest model{};  // SHA-256 of its file
  receipt::Begin begin;
  std::shared_ptr<rollout::ProviderJob> job;
  core::Result<rollout::ProviderJob::Computed> answer;
  std::int64_t ops_max = 0;     // its compute budget
  std::stop_source withdrawal;  // nobody waits for the answer: it is cancelled
  bool is_done = false;         // the worker's alone

  bool is_withdrawn() const { return withdrawal.stop_requested(); }
  bool is_joint() const { return job->job().traits().is_joint; }
};
using TaskPtr = std::shared_ptr<Task>;

/// A model's way to this provider.
struct Fetch {
  std::uint64_t number = 0;  // how many there have been, this one included; 0: none
  core::Digest model{};
  std::int64_t bytes = 0;  // that have come
  bool is_over = false;
  std::string failed;  // why, or ""
};

/// The part of a provider that runs off the loop: fetches models, keeps the engines that were used
/// last, and checks and computes steps: in order, and together with a joint one
/// (protocol::JobTraits) those that ask for the same model, `at_once` of them at most, wherever
/// they stand in the queue. Thread-safety: one call of finish() at a time (core::Loop::offload).
class Worker {
 public:
  /// For fetch_model, and where the model's file lies or shall lie.
  struct Place {
    std::string session_token;
    core::Path model_path;
  };

  /// Once `closing` is asked to stop, whatever is computed is cancelled.
  Worker(rollout::EngineFactory& engines, rpc::GatewayClient& gateway, std::size_t at_once,
         std::stop_token closing)
      : engines_(engines), gateway_(gateway), at_once_(at_once), closing_(std::move(closing)) {}

  /// Joins the queue. Thread-safety: any thread.
  void add(TaskPtr task);
  /// Sees to it that `task`, which was added, is done. Errors in its answer: those of
  /// rollout::ProviderJob::compute, and what fetching and loading return.
  void finish(const TaskPtr& task, const Place& place);
  /// The last one. Any thread.
  Fetch fetch() const;

 private:
  struct Key {
    core::Digest model{};
    std::vector<protocol::Feed> feeds;
    bool operator==(const Key&) const = default;
  };
  static Key key_of(const Task& task) { return {task.model, task.job->job().feeds}; }
  core::Result<std::shared_ptr<rollout::Engine>> engine_for(const Task& task, const Place& place);
  void run_all(std::span<const TaskPtr> tasks, const Place& place);
  std::vector<TaskPtr> take(const TaskPtr& first);
  core::Result<void> fetch_model(const core::Digest& model, const Place& place);

  rollout::EngineFactory& engines_;
  rpc::GatewayClient& gateway_;
  const std::size_t at_once_;
  const std::stop_token closing_;
  core::RecentlyUsed<Key, std::shared_ptr<rollout::Engine>> loaded_{limits::kEnginesMax};
  mutable std::mutex mutex_;
  std::deque<TaskPtr> waiting_;  // guarded by mutex_
  Fetch fetch_;                  // guarded by mutex_
};

}  // namespace commensal::provider
