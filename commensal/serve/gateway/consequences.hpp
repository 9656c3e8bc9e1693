// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <deque>
#include <functional>
#include <memory>

namespace commensal::gateway {

/// What follows when a provider is caught: every answer of its that no audit has confirmed is
/// computed again by somebody else, and the old receipt names the new one. A few at a time, so that
/// the requests of today go on; while no provider can take them, it waits and tries again.
/// Thread-safety: the loop's thread.
class Consequences {
 public:
  /// Makes a durable record of the new answer and links the old one to it.
  using Replace = std::function<void(ReceiptRecord old, Answer answer)>;

  Consequences(core::Loop& loop, ReceiptBook& book, ModelHub& hub, Dispatcher& dispatcher,
               Replace replace);

  void add(const core::Digest& receipt);
  std::size_t pending() const { return waiting_.size() + running_; }

 private:
  void pump();
  void start(const core::Digest& receipt);
  void retry_later(const core::Digest& receipt);

  core::Loop& loop_;
  ReceiptBook& book_;
  ModelHub& hub_;
  Dispatcher& dispatcher_;
  const Replace replace_;
  std::deque<core::Digest> waiting_;
  std::size_t running_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::gateway
