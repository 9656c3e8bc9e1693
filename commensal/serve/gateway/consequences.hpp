// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/answers.hpp>
#include <deque>
#include <map>

namespace commensal::gateway {

/// What follows when a provider is caught: every answer of its that no audit has confirmed is
/// computed again by somebody else, and the old receipt names the new one. A few at a time, so that
/// the requests of today go on. One that no provider takes is tried again later and later, so that
/// it holds up no other; one whose model or opening is gone is given up.
/// Thread-safety: the loop's thread.
class Consequences {
 public:
  /// All of them outlive this object.
  Consequences(core::Loop& loop, ReceiptBook& book, Answers& answers)
      : loop_(loop), book_(book), answers_(answers) {}

  void add(const core::Digest& receipt);
  /// A new answer has come, or has not.
  void on_replaced(const event::Replaced& event);
  std::size_t pending() const { return waiting_.size() + running_ + tries_.size(); }

 private:
  void pump();
  void start(const core::Digest& receipt);
  void retry_later(const core::Digest& receipt);

  core::Loop& loop_;
  ReceiptBook& book_;
  Answers& answers_;
  std::deque<core::Digest> waiting_;
  std::map<core::Digest, int> tries_;  // in vain, of what is tried again later
  std::size_t running_ = 0;
};

}  // namespace commensal::gateway
