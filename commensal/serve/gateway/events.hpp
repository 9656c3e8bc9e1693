// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/serve/gateway/answer.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <deque>
#include <functional>
#include <variant>

/// Inside the gateway calls go one way: audits (auditor, consequences) see answers (dispatcher,
/// rollouts, answers), these see money (bank, lottery, winners, till), all see the tables (roster,
/// hub, receipt book), and nobody sees those above. What the upper ones must hear is an event in
/// one queue, which the gateway handles one after the other (gateway_events.cpp).
namespace commensal::gateway {

namespace event {

/// Answers: an order has come to its end. Errors: kUnavailable with the reason, kInvalidArgument as
/// the provider said it.
struct Answered {
  OrderId order = 0;
  core::Result<Answer> answer;
};
/// Answers: a step was delivered, and its receipt is durable.
struct Delivered {
  ReceiptRecord record;
};
/// Answers: an answer that was to be computed again is there, durable, or could not be had now.
struct Replaced {
  core::Digest old{};
  bool is_done = false;
};
/// Money: a winner is open in the ledger, and its answer was delivered; `at_once`: it has waited
/// for its audit too long to be given to an auditor elsewhere.
struct AuditDue {
  core::Digest receipt{};
  bool at_once = false;
};
/// Audits: one has come to its end.
struct Audited {
  core::Digest receipt{};
  protocol::Verdict verdict;
};
/// Anybody: what went wrong, that nobody waits to hear of.
struct Failed {
  core::Error error;
};

using Any = std::variant<Answered, Delivered, Replaced, AuditDue, Audited, Failed>;

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
