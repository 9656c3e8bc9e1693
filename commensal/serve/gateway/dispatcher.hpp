// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/verify/receipt/step.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace commensal::gateway {

/// What is asked of a provider. The inputs are in the order of the model's.
struct Order {
  ModelVersion model;
  tensor::NamedTensors inputs;
};

/// A delivered answer: it opens the commitment that both sides have signed.
struct Answer {
  protocol::Receipt receipt;
  core::Digest input_salt;
  core::Digest output_salt;
  tensor::NamedTensors inputs;
  tensor::NamedTensors outputs;
};

/// Brings orders to providers and answers back: one receipt::Step per try, countersignatures in
/// batches, another provider where one is silent, leaves, refuses or breaks the protocol. What a
/// provider that pauses has not answered goes to another one, or waits where there is none.
/// Thread-safety: the loop's thread.
class Dispatcher {
 public:
  using Done = std::function<void(core::Result<Answer>)>;
  using LinkId = Roster::LinkId;
  struct Config {
    std::int64_t silence_ms_max = 0;
    std::int64_t pause_ms_max = 0;
    int tries_max = 0;
    crypto::Address auditor;  // of private models
  };

  Dispatcher(core::Loop& loop, core::Rng& rng, const crypto::SecretKey& key, Roster& roster,
             Lottery& lottery, Config config);

  /// `done` is called once. Errors: kUnavailable with the reason, kInvalidArgument as the provider
  /// said it.
  void submit(Order order, Done done);

  void on_commit(LinkId link, const rpc::Commit& message);
  void on_deliver(LinkId link, rpc::Deliver message);
  void on_refuse(LinkId link, const rpc::Refuse& message);
  /// The link's tasks go elsewhere. Call after Roster::leave.
  void on_close(LinkId link);
  /// Its provider pauses. Call once the roster knows.
  void on_pause(LinkId link);
  /// A provider has connected or goes on after a pause.
  void on_available();

 private:
  using RequestId = std::uint64_t;
  struct Request {
    RequestId id = 0;
    Order order;
    Done done;
    std::set<crypto::Address> tried;
    core::Error last_error;
    int moves = 0;            // away from providers that paused
    bool is_waiting = false;  // for a provider that pauses: since then its patience runs out
    bool is_late = false;     // it has
  };
  struct Running {
    std::unique_ptr<Request> request;
    LinkId link = 0;
    std::uint64_t pauses = 0;  // of its provider when its silence was counted from last
    receipt::Step step;
    core::Digest input_salt;
  };
  using Tasks = std::map<rpc::TaskId, Running>;

  void dispatch(std::unique_ptr<Request> request);
  protocol::Job job_for(const Order& order, const crypto::Address& provider,
                        const core::Digest& input_salt) const;
  Tasks::iterator find(LinkId link, rpc::TaskId task);
  /// Ends one try; the request goes to the next provider, or back with `error`.
  void lose(Tasks::iterator task, core::Error error);
  std::unique_ptr<Request> take(Tasks::iterator task);
  void watch(rpc::TaskId task);
  static bool may_be_silent(const Running& task, const Roster::Peer& peer);
  std::vector<Candidate> candidates(const Request& request) const;
  void wait(std::unique_ptr<Request> request);
  void give_up(const Request& request);
  void begin_patience(Request& request);
  void end_patience(RequestId id);
  void place_next();

  core::Loop& loop_;
  core::Rng& rng_;
  const crypto::SecretKey& key_;
  Roster& roster_;
  Lottery& lottery_;
  const Config config_;
  const crypto::Address address_;
  rpc::TaskId last_task_ = 0;
  RequestId last_request_ = 0;
  Tasks tasks_;
  std::deque<std::unique_ptr<Request>> waiting_;  // for a provider that does not pause
  std::map<core::Digest, std::uint64_t> demand_;  // requests so far, by model
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // timers may outlive this object
};

}  // namespace commensal::gateway
