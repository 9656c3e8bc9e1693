// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/deliveries.hpp>

namespace commensal::gateway {

using core::Result;

void Deliveries::on_made(event::StepMade& made) {
  auto record = record_of(made);
  if (!record) {  // it fails by itself, not what is written beside it
    events_.push(event::StepKept{std::move(made.work), std::move(record),
                                 std::move(made.delivery.record.outputs)});
    return;
  }
  records_.push_back(*std::move(record));
  ready_.push_back(std::move(made));
}

Result<ReceiptRecord> Deliveries::record_of(const event::StepMade& made) {
  const Work& work = *made.work;
  ReceiptRecord record;
  record.receipt = made.delivery.record.step.receipt();
  record.account = work.account;
  record.model = work.model;
  record.version = work.version;
  record.model_content = work.content;
  record.delivered_ms = clock_.wall_ms();
  record.charged = work.is_charged;
  // Drawn after the commitment was signed: the provider cannot know.
  const bool is_drawn = audit_policy_.draws(record.receipt, work.audit_probability, rng_);
  record.audit = is_drawn ? AuditState::kDrawn : AuditState::kNotDrawn;
  if (work.job().traits().is_kept) {
    // What is kept step by step opens itself: a row of its own.
    COMMENSAL_TRY(receipt::fits({}, made.delivery.record.outputs, limits::kStoreValueBytesMax));
  } else {
    COMMENSAL_ASSIGN(record.opening,
                     protocol::encode_stored(work.client.opening_of(made.delivery)));
  }
  return record;
}

void Deliveries::flush() {
  if (records_.empty()) return;
  std::vector<ReceiptRecord> records = std::exchange(records_, {});
  std::vector<event::StepMade> ready = std::exchange(ready_, {});
  const auto saved = till_.keep(records, [&](const Till::Outcomes& paid) -> Result<void> {
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (paid[i]) COMMENSAL_TRY(ready[i].work->client.keep(ready[i].delivery));
    }
    return {};
  });
  events_.report(saved);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Result<void> outcome = saved ? (*saved)[i] : tl::unexpected(saved.error());
    Result<ReceiptRecord> record = std::move(records[i]);
    if (!outcome) record = tl::unexpected(outcome.error());
    events_.push(event::StepKept{std::move(ready[i].work), std::move(record),
                                 std::move(ready[i].delivery.record.outputs)});
  }
}

}  // namespace commensal::gateway
