// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/gateway/deliveries.hpp>

namespace commensal::gateway {

using core::Result;

void Deliveries::on_made(event::StepMade& made) {
  if (made.work->job().traits().is_kept) {
    // What is kept step by step opens itself: a row of its own.
    const auto fits = receipt::fits({}, made.delivery.record.outputs, limits::kStoreValueBytesMax);
    return add(made, fits.map([&] { return record_of(made); }));
  }
  receipt::Opening opening = made.work->client.opening_of(made.delivery);
  if (deps_.book.folder().takes(opening)) return file(made, std::move(opening));
  add(made, protocol::encode_stored(opening).map([&](core::Bytes bytes) {
    ReceiptRecord record = record_of(made);
    record.opening_bytes = bytes.size();
    record.opening = std::move(bytes);
    return record;
  }));
}

void Deliveries::file(event::StepMade& made, receipt::Opening opening) {
  struct Errand {
    event::StepMade made;
    receipt::Opening opening;
    core::Digest receipt;
    Result<std::uint64_t> bytes = 0;
  };
  const core::Digest receipt = protocol::receipt_id(made.delivery.record.step.body());
  const auto errand =
      std::make_shared<Errand>(Errand{std::move(made), std::move(opening), receipt});
  ++filing_;
  deps_.loop.offload(
      core::Loop::Lane::kFiles,
      [errand, folder = deps_.book.folder()] {
        errand->bytes = folder.write(errand->receipt, errand->opening);
        errand->opening = {};
      },
      [this, errand] {
        deps_.events.push(event::OpeningFiled{std::move(errand->made), errand->bytes});
      });
}

void Deliveries::on_filed(event::OpeningFiled& filed) {
  --filing_;
  deps_.events.report(filed.bytes);
  add(filed.made, filed.bytes.map([&](std::uint64_t bytes) {
    ReceiptRecord record = record_of(filed.made);
    record.opening_bytes = bytes;
    record.is_in_file = true;
    return record;
  }));
}

void Deliveries::add(event::StepMade& made, Result<ReceiptRecord> record) {
  if (!record) {
    return deps_.events.push(event::StepKept{std::move(made.work), std::move(record),
                                             std::move(made.delivery.record.outputs)});
  }
  records_.push_back(*std::move(record));
  ready_.push_back(std::move(made));
}

ReceiptRecord Deliveries::record_of(const event::StepMade& made) const {
  const Work& work = *made.work;
  ReceiptRecord record;
  record.receipt = made.delivery.record.step.receipt();
  record.account = work.account;
  record.model = work.model;
  record.version = work.version;
  record.model_content = work.content;
  record.delivered_ms = deps_.clock.wall_ms();
  record.is_wanted = work.order != kNobodysOrder;
  record.charged = work.is_charged;
  if (!work.privacy_class.empty()) record.privacy_class = work.privacy_class;
  // Drawn after the commitment was signed: the provider cannot know.
  const bool is_drawn = deps_.audit_policy.draws(record.receipt, work.audit_probability, deps_.rng);
  record.audit = is_drawn ? AuditState::kDrawn : AuditState::kNotDrawn;
  return record;
}

void Deliveries::flush(std::size_t awaited) {
  if (records_.empty() || awaited == 0) return write();
  if (std::exchange(gathers_, true)) return;
  deps_.loop.after(limits::kGatherMs, [this] {
    gathers_ = false;
    write();
  });
}

void Deliveries::write() {
  if (records_.empty()) return;
  const auto batch = std::make_shared<Batch>();
  batch->records = std::exchange(records_, {});
  batch->ready = std::exchange(ready_, {});
  writing_ += batch->ready.size();
  const auto keep = [&]() -> Result<void> {
    COMMENSAL_ASSIGN(
        batch->outcomes,
        deps_.till.keep(batch->records, [&](const Till::Outcomes& paid) -> Result<void> {
          for (std::size_t i = 0; i < paid.size(); ++i) {
            event::StepMade& made = batch->ready[i];
            if (paid[i]) COMMENSAL_TRY(made.work->client.keep(made.delivery));
          }
          return {};
        }));
    return {};
  };
  deps_.store.together_later(deps_.loop, keep, [this, batch](const Result<void>& written) {
    on_written(*batch, written);
  });
}

void Deliveries::on_written(Batch& batch, const Result<void>& written) {
  writing_ -= batch.ready.size();
  deps_.events.report(written);
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const Result<void> outcome = written ? batch.outcomes[i] : written;
    Result<ReceiptRecord> record = std::move(batch.records[i]);
    if (!outcome && written && record->is_in_file) deps_.book.remove_files({record->id()});
    if (!outcome) record = tl::unexpected(outcome.error());
    event::StepMade& made = batch.ready[i];
    deps_.events.push(event::StepKept{std::move(made.work), std::move(record),
                                      std::move(made.delivery.record.outputs)});
  }
}

}  // namespace commensal::gateway
