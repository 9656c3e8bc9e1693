// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/messages.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace commensal::provider {

/// A run of a model, for all tasks whose rows were joined.
struct JointRun {
  std::size_t tasks = 0;
  std::uint64_t rows = 0;
  std::int64_t took_ns = 0;
  bool is_told = false;  // to the gateway; the loop's
};

/// A step on its way through the executor, to whom its job belongs until it is done.
struct Task {
  core::Digest model{};       // SHA-256 of its file
  core::Path model_path;      // where that lies or shall lie
  std::string session_token;  // for fetch_model
  receipt::Begin begin;
  std::shared_ptr<rollout::ProviderJob> job;
  core::Result<rollout::ProviderJob::Computed> answer;
  std::int64_t ops_max = 0;                 // its compute budget
  std::optional<rpc::Batching> batching{};  // as its gateway wishes
  std::stop_source withdrawal;              // nobody waits for the answer: it is cancelled
  std::shared_ptr<JointRun> run = {};       // that it was computed by, if it is joint

  const crypto::Address& client() const { return job->job().client; }
  bool is_withdrawn() const { return withdrawal.stop_requested(); }
  bool is_joint() const { return job->job().traits().is_joint; }
  /// Of its batch: the first dimension of its inputs.
  std::int64_t rows() const;
  /// Whether it waits for others at all.
  bool waits() const { return is_joint() && batching && batching->wait_us > 0; }
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

/// Tasks that wait to be computed: clients take turns, each with its oldest, and together with a
/// joint one (protocol::JobTraits) go those that ask for the same model with inputs of the same
/// types, whatever their rows, wherever they stand: as many as AtOnce and their Batching allow.
/// Those that wait for others go once there are so many, or they are released. A value.
class WaitingTasks {
 public:
  explicit WaitingTasks(AtOnce at_once) : at_once_(std::move(at_once)) {}

  /// Whether it is due: it does not wait for others, or the last one that they waited for.
  bool add(TaskPtr task);
  /// It is due now. False: it is not here any more.
  bool release(const TaskPtr& task);
  /// How many are not due.
  std::size_t held() const;
  /// Out of the queue. What was withdrawn.
  std::vector<TaskPtr> take_withdrawn();
  /// Whose turn it is of those that are due, and what goes with that.
  std::vector<TaskPtr> take();

 private:
  struct Waiting {
    TaskPtr task;
    bool is_due = true;
  };
  /// What goes with the first of them, and whether that is as many as they waited for.
  struct Batch {
    std::vector<TaskPtr> tasks;
    bool is_whole = false;
  };
  Batch batch_of(const TaskPtr& first) const;
  TaskPtr first_in_turn();

  const AtOnce at_once_;
  std::deque<Waiting> waiting_;
  std::map<crypto::Address, std::uint64_t> turns_;  // the last of each client that waits
  std::uint64_t turn_ = 0;
};

}  // namespace commensal::provider
