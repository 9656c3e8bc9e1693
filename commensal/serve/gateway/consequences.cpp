// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/consequences.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::gateway {
namespace {

constexpr std::size_t kAtOnce = 4;
constexpr std::int64_t kRetryMs = 1000;

}  // namespace

Consequences::Consequences(core::Loop& loop, ReceiptBook& book, ModelHub& hub,
                           Dispatcher& dispatcher, Replace replace)
    : loop_(loop), book_(book), hub_(hub), dispatcher_(dispatcher), replace_(std::move(replace)) {}

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
  loop_.after(kRetryMs, [this, receipt, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    --running_;
    add(receipt);
  });
}

void Consequences::start(const core::Digest& receipt) {
  auto old = book_.find(receipt);
  if (!old) {  // beyond the book's limit by now
    --running_;
    return;
  }
  const Account gateway_itself{.name = "", .role = Role::kOperator};
  const auto model = hub_.find(&gateway_itself, old->model, old->version);
  auto opening = receipt::decode_opening(old->opening);
  if (!model || !opening) return retry_later(receipt);
  dispatcher_.submit({*model, std::move(opening->inputs)},
                     [this, receipt, record = *std::move(old),
                      alive = std::weak_ptr(alive_)](core::Result<Answer> answer) {
                       if (alive.expired()) return;
                       if (!answer) return retry_later(receipt);
                       --running_;
                       replace_(record, *std::move(answer));
                       pump();
                     });
}

}  // namespace commensal::gateway
