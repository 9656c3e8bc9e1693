// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/recently_used.hpp>
#include <commensal/serve/provider/tasks.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace commensal::provider {

/// A model's way to this provider.
struct Fetch {
  std::uint64_t number = 0;  // how many there have been, this one included; 0: none
  core::Digest model{};
  std::int64_t bytes = 0;  // that have come
  bool is_over = false;
  std::string failed;  // why, or ""
};

/// How often engines were run for joint tasks, and for how many in all.
struct Runs {
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
};

/// The part of a provider that runs off the loop: fetches models, keeps the engines that were used
/// last, and checks and computes steps, in the order of WaitingTasks. Thread-safety: one call of
/// next() at a time (core::Loop::offload).
class Executor {
 public:
  /// Once `closing` is asked to stop, whatever is computed is cancelled.
  Executor(const core::Clock& clock, rollout::EngineFactory& engines, rpc::GatewayClient& gateway,
           AtOnce at_once, std::stop_token closing)
      : clock_(clock),
        engines_(engines),
        gateway_(gateway),
        closing_(std::move(closing)),
        waiting_(std::move(at_once)) {}

  /// Joins the queue. True: next() is to be called once for it; else it waits for others to be
  /// computed with, until release(). Thread-safety: any thread.
  bool add(TaskPtr task);
  /// It has waited for others long enough. True: next() is to be called once for it; else it has
  /// been computed, or is. Thread-safety: any thread.
  bool release(const TaskPtr& task);
  /// How many wait for others. Any thread.
  std::size_t held() const;
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
  /// The model's file comes to lie at `path`, or does not: fetch() says. Beside next(); it blocks.
  /// Thread-safety: any thread.
  void prefetch(const core::Digest& model, const core::Path& path,
                const std::string& session_token);
  /// What was made ready of it ends, the worker that has its weights too. In the lane of next().
  void forget(const core::Digest& model);
  /// What has been done since, or was withdrawn before. Thread-safety: any thread.
  std::vector<TaskPtr> finished();
  /// The last one. Any thread.
  Fetch fetch() const;
  /// So far. Any thread.
  Runs runs() const;

 private:
  struct Key {
    core::Digest model{};
    std::vector<protocol::Feed> feeds;
    bool operator==(const Key&) const = default;
  };
  void run_all(std::span<const TaskPtr> tasks);
  std::vector<TaskPtr> take();
  core::Result<void> fetch_model(const core::Digest& model, const core::Path& path,
                                 const std::string& session_token);

  const core::Clock& clock_;
  rollout::EngineFactory& engines_;
  rpc::GatewayClient& gateway_;
  const std::stop_token closing_;
  core::RecentlyUsed<Key, std::shared_ptr<rollout::Engine>> loaded_{limits::kEnginesMax};
  mutable std::mutex mutex_;
  // The rest is guarded by mutex_.
  WaitingTasks waiting_;
  std::vector<TaskPtr> finished_;
  Fetch fetch_;
  Runs runs_;
};

}  // namespace commensal::provider
