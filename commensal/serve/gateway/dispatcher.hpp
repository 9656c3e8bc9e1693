// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/fair_queue.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/verify/receipt/step.hpp>
#include <map>
#include <memory>
#include <set>

namespace commensal::gateway {

/// Brings orders, jobs of one step, to providers and answers back: one receipt::Step per try,
/// countersignatures in batches, another provider where one is silent, leaves, refuses or breaks
/// the protocol. What a provider that pauses has not answered goes to another one, or waits where
/// there is none; what nobody has room for waits too, and accounts take turns. What providers do
/// with their jobs is written into their Health. Each order ends with event::Answered.
/// Thread-safety: the loop's thread.
class Dispatcher {
 public:
  using StreamId = Roster::StreamId;
  struct Config {
    std::int64_t silence_ms_max = 0;
    std::int64_t pause_ms_max = 0;
    int tries_max = 0;
    crypto::Address auditor;  // of private models
  };

  Dispatcher(core::Loop& loop, const core::Clock& clock, core::Rng& rng,
             const crypto::SecretKey& key, Roster& roster, Lottery& lottery, EventQueue& events,
             Config config);

  OrderId submit(Order order);
  /// Why an order for the model would not be placed now, as submit() would end it; "" if it would.
  std::string why_not_placed(const ModelVersion& model) const;

  /// Messages of providers; those about jobs that are not this dispatcher's are passed over.
  void on_commit(StreamId stream, const rpc::Commit& message);
  void on_deliver(StreamId stream, rpc::Deliver& message);
  void on_refuse(StreamId stream, const rpc::Refuse& message);
  /// The stream's jobs go elsewhere. Call after Roster::leave.
  void on_close(StreamId stream);
  /// Its provider pauses. Call once the roster knows.
  void on_pause(StreamId stream);
  /// A provider has connected or goes on after a pause.
  void on_available();

 private:
  struct Request {
    OrderId id = 0;
    Order order;
    std::set<crypto::Address> tried;
    std::set<crypto::Address> refused;  // of those
    bool is_called_invalid = false;     // by the last of these
    int called_invalid = 0;             // by so many that have answered before
    core::Error last_error;
    int moves = 0;            // away from providers that paused
    bool is_waiting = false;  // for a provider that pauses: since then its patience runs out
    bool is_late = false;     // it has
  };
  /// Whose outcomes say something of a provider.
  static bool is_public(const Request& request) { return !request.order.model.is_private; }
  struct Running {
    std::unique_ptr<Request> request;
    StreamId stream = 0;
    std::uint64_t pauses = 0;  // of its provider when its silence was counted from last
    receipt::Step step;
    core::Digest input_salt;
    std::int64_t since_ms = 0;
    std::uint32_t ahead = 0;  // jobs that its provider had in hand before it
    bool was_warm = false;    // its provider had answered the model before
  };
  /// Of one model, so far.
  struct Demand {
    std::uint64_t requests = 0;
    UsualTime usual;
  };
  using Jobs = std::map<core::Digest, Running>;  // by id

  void dispatch(std::unique_ptr<Request> request);
  bool place(std::unique_ptr<Request>& request, std::span<const Candidate> candidates);
  void offer(std::unique_ptr<Request> request, Roster::Peer& peer);
  void end(const Request& request, core::Result<Answer> answer);
  Jobs::iterator find(StreamId stream, const core::Digest& job);
  /// Ends one try; the request goes to the next provider, or back with `error`. Is it for certain
  /// the provider's fault, it is avoided.
  enum class Fault : bool { kOpen, kProviders };
  void lose(Jobs::iterator job, core::Error error, Fault fault);
  void lose(const core::Digest& job, const core::Error& error);
  void count(const Running& running, Roster::Peer& peer);
  std::unique_ptr<Request> take(Jobs::iterator job);
  void forget(StreamId stream, const core::Digest& job);
  void watch(const core::Digest& job);
  static bool may_be_silent(const Running& job, const Roster::Peer& peer);
  std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }
  std::vector<Candidate> candidates(const ModelVersion& model,
                                    const std::set<crypto::Address>& tried) const;
  std::vector<Candidate> candidates(const Request& request) const {
    return candidates(request.order.model, request.tried);
  }
  void wait(std::unique_ptr<Request> request);
  void give_up(const Request& request);
  void begin_patience(Request& request);
  void end_patience(OrderId id);
  /// Somebody may be free: each account that waits has a turn, a few at once.
  void place_next();
  void place_some();

  core::Loop& loop_;
  const core::Clock& clock_;
  core::Rng& rng_;
  const crypto::SecretKey& key_;
  Roster& roster_;
  Lottery& lottery_;
  EventQueue& events_;
  const Config config_;
  const crypto::Address address_;
  OrderId last_order_ = 0;
  Jobs jobs_;
  FairQueue<std::unique_ptr<Request>> waiting_;  // for a provider that is free
  std::size_t turns_left_ = 0;                   // of the accounts that wait, since place_next()
  bool is_placing_ = false;                      // place_some() is posted
  double explore_budget_ = kExploreBurst;        // of choices that try somebody new
  std::map<core::Digest, Demand> demand_;        // by model
};

}  // namespace commensal::gateway
