// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/consequences.hpp>

namespace commensal::gateway {
namespace {

constexpr std::size_t kAtOnce = 4;
constexpr std::int64_t kRetryMs = 1000;

}  // namespace

void Consequences::add(const core::Digest& receipt) {
  waiting_.push_back(receipt);
  pump();
}

void Consequences::pump() {
  while (running_ < kAtOnce && !waiting_.empty()) {
    const core::Digest next = waiting_.front();
    waiting_.pop_front();
    ++running_;
    start(next);
  }
}

void Consequences::retry_later(const core::Digest& receipt) {
  loop_.after(kRetryMs, [this, receipt] {
    --running_;
    add(receipt);
  });
}

void Consequences::start(const core::Digest& receipt) {
  const auto old = book_.find(receipt);
  if (!old || old->replaced_by) {  // beyond the book's limit by now, or caught twice
    --running_;
    return;
  }
  if (!answers_.submit_again(*old)) retry_later(receipt);
}

void Consequences::on_replaced(const event::Replaced& event) {
  if (!event.is_done) return retry_later(event.old);
  --running_;
  pump();
}

}  // namespace commensal::gateway
