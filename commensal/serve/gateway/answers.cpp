// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/answers.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

Result<void> check_outputs(const ModelVersion& model, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (std::ranges::find(model.outputs, name, &ModelPort::name) != model.outputs.end()) continue;
    std::string names;
    for (const ModelPort& port : model.outputs)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name);
    return core::fail(ErrorCode::kInvalidArgument, "unknown output '{}'; '{}' has {}", name,
                      model.name, names);
  }
  return {};
}

}  // namespace

Result<Order> Answers::order_for(InferRequest& request) {
  Order order;
  order.account = request.account.name;
  COMMENSAL_ASSIGN(order.model, deps_.hub.find(&request.account, request.model, request.version));
  COMMENSAL_TRY(check_outputs(order.model, request.outputs));
  COMMENSAL_ASSIGN(order.inputs, order_inputs(order.model, std::move(request.inputs)));
  COMMENSAL_TRY(admit(request.account.name));
  return order;
}

/// That it can be paid for, and what it may win too.
Result<void> Answers::admit(const std::string& account) {
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.reserve(account, 1);
}

void Answers::submit(InferRequest request, InferDone done) {
  auto order = order_for(request);
  if (!order) return done(tl::unexpected(order.error()));
  Waiting waiting{request.account.name, order->model, std::move(done), {}};
  waiting_.emplace(deps_.dispatcher.submit(*std::move(order)), std::move(waiting));
}

bool Answers::submit_again(const ReceiptRecord& old) {
  const Account gateway_itself{.name = "", .role = Role::kOperator};
  auto model = deps_.hub.find(&gateway_itself, old.model, old.version);
  auto opening = deps_.book.opening(old);
  if (!model || !opening) return false;
  Waiting waiting{old.account, *model, {}, old.id()};
  waiting_.emplace(
      deps_.dispatcher.submit({"", *std::move(model), std::move(opening->task.inputs)}),
      std::move(waiting));
  return true;
}

void Answers::on_answered(event::Answered& event) {
  auto found = waiting_.extract(event.order);
  if (found.empty()) return;
  Waiting& waiting = found.mapped();
  if (!event.answer) return end(waiting, tl::unexpected(event.answer.error()));
  tensor::NamedTensors outputs = event.answer->opening.outputs;  // views: no elements are copied
  records_.push_back(record_of(waiting, *event.answer));
  ready_.push_back({std::move(waiting), std::move(outputs)});
}

void Answers::end(Waiting& waiting, Result<InferResponse> response) {
  if (waiting.replaces) {
    return deps_.events.push(event::Replaced{*waiting.replaces, response.has_value()});
  }
  if (!response) deps_.till.release(waiting.account, 1);
  waiting.done(std::move(response));
}

ReceiptRecord Answers::record_of(const Waiting& waiting, Answer& answer) {
  ReceiptRecord record;
  record.opening = protocol::encode(answer.opening);
  record.receipt = std::move(answer.receipt);
  record.account = waiting.account;
  record.model = waiting.model.name;
  record.version = waiting.model.version;
  record.model_content = waiting.model.content;
  record.delivered_ms = deps_.clock.wall_ms();
  record.charged = !waiting.replaces;
  // Drawn after the commitment was signed: the provider cannot know.
  const double probability = deps_.audit_policy.probability(record.receipt.job.provider);
  record.audit = deps_.rng.next_unit() < probability ? AuditState::kDrawn : AuditState::kNotDrawn;
  return record;
}

void Answers::flush() {
  if (records_.empty()) return;
  std::vector<ReceiptRecord> records = std::exchange(records_, {});
  std::vector<Ready> ready = std::exchange(ready_, {});
  const Result<Till::Outcomes> saved = deps_.till.keep(records);
  deps_.events.report(saved);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Result<void> outcome = saved ? (*saved)[i] : tl::unexpected(saved.error());
    if (outcome) {
      settle(records[i], ready[i]);
    } else {
      end(ready[i].waiting, tl::unexpected(outcome.error()));
    }
  }
}

void Answers::settle(ReceiptRecord& record, Ready& ready) {
  Waiting& waiting = ready.waiting;
  if (waiting.replaces) replace(*waiting.replaces, record);
  InferResponse response{.model = std::move(waiting.model),
                         .outputs = std::move(ready.outputs),
                         .receipt = record.id(),
                         .provider = record.receipt.job.provider};
  deps_.events.push(event::Delivered{std::move(record)});
  end(waiting, std::move(response));
}

void Answers::replace(const core::Digest& old, const ReceiptRecord& now) {
  auto record = deps_.book.find(old);
  if (!record) return;
  record->replaced_by = now.id();
  if (!record->verdict) record->audit = AuditState::kReplaced;
  deps_.events.report(deps_.book.update(*record));
  deps_.observer.on_replaced(*record, now);
}

}  // namespace commensal::gateway
