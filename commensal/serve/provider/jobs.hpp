// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <commensal/serve/provider/serial_jobs.hpp>
#include <commensal/serve/provider/worker.hpp>
#include <commensal/verify/receipt/step.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace commensal::provider {

/// The way of every job through the provider:
///
///   Offer -> accepted -> queued -> fetched, checked and computed off the loop -> signed and
///   durable with its ticket -> Commit -> Countersign, durable -> Deliver
///
/// A serial job is Ready where one of a single step is computed at once, and each Begin computes
/// the next step of it. Single steps that are ready together share one signature and one write; a
/// serial job's step has its own. Whatever does not fit is answered with Refuse and changes
/// nothing. Thread-safety: the loop's thread.
class Jobs final : public std::enable_shared_from_this<Jobs> {
 public:
  /// It outlives the jobs.
  struct Dependencies {
    core::Loop& loop;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;
    rpc::GatewayClient& gateway;
    EngineFactory& engines;
    ModelCache& cache;
    Purse& purse;
  };
  struct Config {
    std::size_t at_once = 1;  // of one model, that an engine may run together
    std::int64_t commit_wait_ms_max = 500;
    std::size_t serial_kept_max = limits::kRolloutsKeptMax;  // in the store
  };
  struct Counts {
    std::uint32_t at_work = 0;  // off the loop, or waiting for that
    std::uint64_t delivered = 0;
    std::uint64_t refused = 0;
  };
  Jobs(const Dependencies& deps, const Config& config);

  /// A new stream: jobs of one step are gone, serial ones are kept, but not answered on this one.
  void on_connect();
  /// For fetch_model, on the present stream.
  void on_welcome(std::string session_token) { session_token_ = std::move(session_token); }
  /// No more work is accepted, for this reason.
  void close(std::string reason) { closed_ = std::move(reason); }

  void handle(rpc::Offer message);
  void handle(const rpc::Begin& message);
  void handle(const rpc::Countersign& message);
  void handle(const rpc::Withdraw& message);

  const Counts& counts() const { return counts_; }
  Fetch fetch() const { return worker_->fetch(); }

 private:
  /// A single step that has been computed.
  struct Computed {
    receipt::Step step;
    core::Digest output_salt{};
    core::Digest output_root{};
    core::Digest commitment{};
    tensor::NamedTensors outputs;
  };

  bool is_repeated(const core::Digest& id);
  core::Result<void> accept(const protocol::Job& job) const;
  void refuse(const core::Digest& id, core::Error reason);
  void offload(std::function<void()> work, std::function<void()> done);
  void compute(const TaskPtr& task);
  void make_ready(Task& task, std::uint64_t stream);
  void computed(Task& task);
  void set_free(SerialJobs::Live& live);
  void plan_flush();
  void flush();
  void send(receipt::Commit made);
  void countersign_serial(const rpc::Countersign::Item& item);
  void deliver(rpc::Deliver message);
  void report_load();

  Dependencies deps_;
  const Config config_;
  std::shared_ptr<Worker> worker_;  // shared with what is off the loop
  SerialJobs serial_;
  std::string session_token_;
  std::string closed_;  // why no work is accepted, or ""
  std::uint64_t stream_ = 0;
  std::uint32_t queued_ = 0;  // single steps, withdrawn ones too until they have had their turn
  bool flush_is_due_ = false;
  std::uint64_t flushes_ = 0;
  protocol::KnownSignatures known_;            // of the client
  std::map<core::Digest, TaskPtr> tasks_;      // of one step, not computed yet
  std::vector<Computed> ready_;                // computed, neither signed nor durable
  std::map<core::Digest, Computed> unsigned_;  // waiting for the client's signature
  Counts counts_;
};

}  // namespace commensal::provider
