// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/answers.hpp>
#include <deque>

namespace commensal::gateway {

/// What follows when a provider is caught: every answer of its that no audit has confirmed is
/// computed again by somebody else, and the old receipt names the new one. A few at a time, so that
/// the requests of today go on; while no provider can take them, it waits and tries again.
/// Thread-safety: the loop's thread.
class Consequences {
 public:
  /// All of them outlive this object.
  Consequences(core::Loop& loop, ReceiptBook& book, Answers& answers)
      : loop_(loop), book_(book), answers_(answers) {}

  void add(const core::Digest& receipt);
  /// A new answer has come, or has not.
  void on_replaced(const event::Replaced& event);
  std::size_t pending() const { return waiting_.size() + running_; }

 private:
  void pump();
  void start(const core::Digest& receipt);
  void retry_later(const core::Digest& receipt);

  core::Loop& loop_;
  ReceiptBook& book_;
  Answers& answers_;
  std::deque<core::Digest> waiting_;
  std::size_t running_ = 0;
};

}  // namespace commensal::gateway
