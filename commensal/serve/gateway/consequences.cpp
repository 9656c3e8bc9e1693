// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/consequences.hpp>

namespace commensal::gateway {
namespace {

constexpr std::size_t kAtOnce = 4;
constexpr std::int64_t kRetryMs = 1000, kRetryMsMax = 300'000;

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
  const int before = tries_[receipt]++;
  const std::int64_t wait_ms = std::min(kRetryMs << std::min(before, 10), kRetryMsMax);
  loop_.after(wait_ms, [this, receipt] { add(receipt); });
}

void Consequences::start(const core::Digest& receipt) {
  const auto old = book_.find(receipt);
  const bool is_open = old && !old->replaced_by;  // or beyond the book's limit, or caught twice
  if (is_open && answers_.submit_again(*old)) return;
  --running_;
  tries_.erase(receipt);
}

void Consequences::on_replaced(const event::Replaced& event) {
  --running_;
  if (event.is_done) {
    tries_.erase(event.old);
  } else {
    retry_later(event.old);
  }
  pump();
}

}  // namespace commensal::gateway
