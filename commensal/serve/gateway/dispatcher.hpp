// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/fair_queue.hpp>
#include <commensal/serve/gateway/leaving.hpp>
#include <commensal/serve/gateway/patience.hpp>
#include <commensal/serve/gateway/prefetcher.hpp>
#include <commensal/serve/gateway/shares.hpp>
#include <commensal/serve/gateway/steps.hpp>
#include <map>
#include <memory>
#include <set>

namespace commensal::gateway {

/// Who computes orders, jobs that may move: another provider where one is silent, leaves, refuses
/// or breaks the protocol. What a provider that pauses has not committed to goes to another one, or
/// waits where there is none; what nobody has room for waits too, and accounts take turns (Shares).
/// What takes much longer than usual goes to another one that is known (patience_ms). What
/// providers do with their jobs is written into their Health. Each order's job is made
/// (event::StepMade), or it ends with event::Unanswered. Thread-safety: the loop's thread.
class Dispatcher {
 public:
  using StreamId = Roster::StreamId;
  struct Config {
    std::int64_t pause_ms_max = 0;
    int tries_max = 0;
    crypto::Address auditor;        // the gateway's own
    bool outside_auditors = false;  // others too, of public models and inputs
  };

  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    const crypto::SecretKey& key;  // signs for the consumers' accounts
    Roster& roster;
    Shares& shares;
    Lottery& lottery;
    const AuditPolicy& audit_policy;
    Steps& steps;
    EventQueue& events;
  };
  Dispatcher(const Dependencies& deps, Config config);

  OrderId submit(Order order);
  /// Nobody waits for it: its provider stops computing. What is committed to goes on to its end.
  void cancel(OrderId id);
  /// Why an order for the model would not be placed now, as submit() would end it; "" if it would.
  std::string why_not_placed(const ModelVersion& model, const std::string& privacy_class) const;
  /// Orders for which nobody is free, and those that a provider has.
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }

  /// Of an order's job.
  void on_made(const event::StepMade& made);
  void on_lost(event::StepLost& lost);
  /// A provider has left, or has a step less in hand that is no order's. Call after Roster::leave.
  void on_free() { place_next(); }
  /// Its provider pauses. Call once the roster knows.
  void on_pause(StreamId stream);
  /// A provider has connected or goes on after a pause.
  void on_available();

 private:
  struct Request {
    OrderId id = 0;
    Order order;
    std::uint64_t bytes = 0;  // of its inputs
    std::int64_t since_ms = 0;
    crypto::Address at;       // who has its job
    std::uint32_t ahead = 0;  // jobs that that one had in hand
    bool is_long = false;     // is_long() when that one got it
    bool is_trial = false;    // that one is tried out with it
    std::set<crypto::Address> tried;
    std::set<crypto::Address> refused;  // of those
    bool is_called_invalid = false;     // by the last of these
    int called_invalid = 0;             // by so many that have answered before
    core::Error last_error;
    int moves = 0;            // away from providers that paused
    bool is_waiting = false;  // for a provider that pauses: since then its patience runs out
    bool is_late = false;     // it has
    bool is_timed = false;    // its time in the queue runs out
    bool is_delayed = false;  // it has: it goes behind others
    std::optional<std::int64_t> unshown_since_ms{};  // it waits for nothing but statements
  };
  using RequestPtr = std::unique_ptr<Request>;
  /// Its outcome says something of a provider: of a private model its owner could have it say
  /// anything (Health).
  static bool counts(const Request& request) { return !request.order.model.is_private; }
  /// Of one model, so far.
  struct Demand {
    std::uint64_t requests = 0;
    std::int64_t last_ms = 0;  // when one was asked
    UsualTime usual;           // from the offer to the answer
    UsualTime computing;       // ... to the commitment, without the way there
    double answer_bytes = 0;   // that are delivered
  };
  /// What is computed again holds up no account.
  static std::string turn_of(const Request& request) {
    return request.order.is_again ? "" : request.order.account;
  }
  void demand_for(const ModelVersion& model);
  void dispatch(RequestPtr request);
  bool place(RequestPtr& request, std::span<const Candidate> candidates);
  bool may_wait(Request& request, std::span<const Candidate> candidates) const;
  double usual_ms_of(const Request& request) const;  // 0: not known
  bool may_explore(const Request& request, std::span<const Candidate> candidates) const;
  void offer(RequestPtr request, Roster::Peer& peer);
  void end(const Request& request, core::Error why);
  /// Whether nobody need be asked once more.
  bool is_invalid(Request& request, const crypto::Address& refuser, const core::Error& reason);
  void count(const Request& request, const Trip& trip, Roster::Peer& peer);
  /// What an answer says of how long the model, and the way to its provider, take.
  void measure(const Request& request, const Trip& trip, Roster::Peer& peer);
  /// How this one would do with it, by that.
  void expect_of(Candidate& one, const Request& request, const std::string& series) const;
  /// What the model's owner has it wait there says nothing of the provider.
  static std::int64_t wait_ms(const std::optional<rpc::Batching>& batching,
                              const Roster::Peer& peer) {
    return batching && peer.knows_batching ? (std::int64_t{batching->wait_us} + 999) / 1000 : 0;
  }
  std::int64_t now_ms() const { return deps_.clock.monotonic_ns() / 1'000'000; }
  std::vector<Candidate> candidates(const ModelVersion& model, const std::string& privacy_class,
                                    const std::set<crypto::Address>& tried) const;
  /// The same for a request whose account has no more than its share.
  std::vector<Candidate> candidates(const Request& request) const;
  /// Of its order's; it waits for nobody past its own time.
  std::optional<rpc::Batching> batching_of(const Request& request) const;
  RequestPtr take(const core::Digest& job);
  void keep_place(const Request& request);
  void wait(RequestPtr request);
  void give_up(const Request& request);
  /// Gives the job to somebody else after so long, once there is one.
  void hasten_after(const core::Digest& job, std::int64_t ms);
  void hasten(const core::Digest& job, std::int64_t ms);
  static Standing standing_of(const Request& request);
  bool is_queue_full(const Request& request) const;
  void begin_queue_time(Request& request);
  void end_queue_time(OrderId id);
  void begin_patience(Request& request);
  void end_patience(OrderId id);
  void look_again();
  void move_soon();
  void move_some();
  void move(const Leaving::Turn& turn);
  /// Somebody may be free: each account that waits has a turn, a few at once.
  void place_next();
  void place_some();

  Dependencies deps_;
  const Config config_;
  const crypto::Address address_;
  OrderId last_order_ = 0;
  using Running = std::map<core::Digest, RequestPtr>;  // by the id of its job
  Running running_;
  FairQueue<RequestPtr> waiting_;  // for a provider that is free
  std::size_t turns_left_ = 0;     // of the accounts that wait, since place_next()
  bool is_placing_ = false;        // place_some() is posted
  bool looks_again_ = false;       // look_again() is
  Leaving leaving_;                // what is in hand where somebody pauses, and may move to another
  bool is_moving_ = false;
  Trials trials_;
  Prefetcher prefetcher_;
  std::map<core::Digest, Demand> demand_;  // by model; limits::kDemandModelsMax
};

}  // namespace commensal::gateway
