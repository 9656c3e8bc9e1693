// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/work.hpp>
#include <commensal/trade/pay/ledger/case_rows.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <deque>
#include <functional>
#include <variant>

/// Inside the gateway calls go one way: audits (auditor, consequences) see answers (steps,
/// dispatcher, rollouts, deliveries, answers), these see money (bank, lottery, winners, till), all
/// see the tables (roster, hub, receipt book), and nobody sees those above. What the upper ones
/// must hear is an event in one queue, which the gateway handles one after the other
/// (gateway_events.cpp).
namespace commensal::gateway {

/// A step's way to its provider and back.
struct Trip {
  rpc::GatewayPort::StreamId stream = 0;
  std::uint64_t pauses = 0;  // of the provider when its silence was counted from last
  std::int64_t since_ms = 0;
  std::uint32_t ahead = 0;   // jobs that the provider had in hand before it
  bool was_warm = false;     // the provider had answered the model before
  std::int64_t took_ms = 0;  // once it is over
  double commit_ms = 0;      // of that, from the offer to the commitment
  double deliver_ms = 0;     // ... from its signature to the delivery
  std::uint64_t bytes = 0;   // that were delivered
  bool has_paused = false;
};

/// Why a step came back undone.
enum class Loss : std::uint8_t {
  kLeft,     // the stream ended
  kSilent,   // nobody answered in time: the stream was closed
  kRefused,  // the provider said no
  kBroken,   // the provider broke the protocol
  kOurs,     // nothing of it is the provider's fault
};

namespace event {

/// Steps: a step was delivered, and opens what was signed.
struct StepMade {
  WorkPtr work;
  rollout::ClientJob::Delivery delivery;
  Trip trip;
};
/// Steps: one was not.
struct StepLost {
  WorkPtr work;
  Loss loss = Loss::kOurs;
  core::Error error;
  bool is_state_refused = false;  // what was delivered holds a state that the job does not allow
};
/// Deliveries: what opens it is in a file, of so many bytes, or why not.
struct OpeningFiled {
  StepMade made;
  core::Result<std::uint64_t> bytes;
};
/// Deliveries: its receipt is durable and paid for, or why not.
struct StepKept {
  WorkPtr work;
  core::Result<ReceiptRecord> record;
  tensor::NamedTensors outputs;
};
/// Dispatcher: nobody answers an order. Errors: kUnavailable with the reason, kInvalidArgument as
/// the provider said it.
struct Unanswered {
  OrderId order = 0;
  core::Error error;
};
/// Answers: an answer that was to be computed again is there, durable, or could not be had now.
struct Replaced {
  core::Digest old{};
  bool is_done = false;
};
/// Money: a winner is open in the ledger, or a ticket is withheld, and its answer was delivered;
/// `at_once`: it has waited for its audit too long to be given to an auditor elsewhere.
struct AuditDue {
  core::Digest receipt{};
  bool at_once = false;
};
/// Money: somebody has shown a value of a provider's hash chain in the ledger.
struct Revealed {
  core::Digest hash_chain{};
  std::uint64_t round = 0;
  core::Digest value{};
};
/// Money: the ledger has booked something about a case.
struct CaseMoved {
  ledger::CaseKey key;
  ledger::CaseStatus status = ledger::CaseStatus::kAccused;  // by this entry
  ledger::Entry entry;
};
/// Money: an open claim is for sale, or no longer, or its provider has sold it.
struct ClaimTraded {
  core::Digest ticket{};
};
/// Audits: one has come to its end.
struct Audited {
  core::Digest receipt{};
  protocol::Verdict verdict;
};
/// Audits: one could not be done, and is given up.
struct Unaudited {
  core::Digest receipt{};
};
/// Anybody: what went wrong, that nobody waits to hear of.
struct Failed {
  core::Error error;
};

using Any = std::variant<StepMade, StepLost, OpeningFiled, StepKept, Unanswered, Replaced, AuditDue,
                         Revealed, CaseMoved, ClaimTraded, Audited, Unaudited, Failed>;

}  // namespace event

/// Thread-safety: the loop's thread.
class EventQueue {
 public:
  using Handler = std::function<void(event::Any&)>;
  /// `handle` gets the events in the order in which they came, `rest` a call whenever none is left;
  /// both never from inside push(). The loop outlives this object, and drops its tasks with it.
  EventQueue(core::Loop& loop, Handler handle, std::function<void()> rest)
      : loop_(loop), handle_(std::move(handle)), rest_(std::move(rest)) {}

  void push(event::Any event) {
    events_.push_back(std::move(event));
    if (events_.size() == 1 && !is_handling_) loop_.post([this] { handle_all(); });
  }
  /// Pushes what went wrong, if it did.
  template <class T>
  void report(const core::Result<T>& outcome) {
    if (!outcome) push(event::Failed{outcome.error()});
  }
  std::size_t pending() const { return events_.size(); }

 private:
  void handle_all() {
    is_handling_ = true;
    while (!events_.empty()) {
      event::Any event = std::move(events_.front());
      events_.pop_front();
      handle_(event);
    }
    is_handling_ = false;
    rest_();
  }

  core::Loop& loop_;
  const Handler handle_;
  const std::function<void()> rest_;
  std::deque<event::Any> events_;
  bool is_handling_ = false;
};

}  // namespace commensal::gateway
