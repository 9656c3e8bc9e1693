// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/answers.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <utility>

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

Result<void> check_loaded(Repository& repository, const ModelVersion& model) {
  COMMENSAL_ASSIGN(const bool is_loaded, repository.is_loaded(model.name));
  if (is_loaded) return {};
  return core::fail(ErrorCode::kUnavailable,
                    "'{}' is unloaded: its owner or an operator may load it", model.name);
}

const Account kGatewayItself{.name = "", .role = Role::kOperator};

}  // namespace

Result<Order> Answers::order_for(InferRequest& request) {
  Order order;
  order.account = request.account.name;
  order.draw_commitment = request.draw_commitment;
  order.scheduling = request.scheduling;
  order.timeout_ms = request.timeout_ms;
  order.journey = std::move(request.journey);
  COMMENSAL_ASSIGN(order.model, deps_.hub.find(&request.account, request.model, request.version));
  const ModelVersion& model = order.model;
  COMMENSAL_ASSIGN(const auto served, deps_.hub.repository().config(model.name, model.version));
  COMMENSAL_ASSIGN(order.privacy_class, deps_.privacy.class_for(model.name, served->privacy_class,
                                                                request.privacy_class));
  COMMENSAL_TRY(check_loaded(deps_.hub.repository(), order.model));
  COMMENSAL_TRY(check_outputs(order.model, request.outputs));
  COMMENSAL_ASSIGN(order.inputs, order_inputs(order.model, std::move(request.inputs)));
  if (request.check) COMMENSAL_TRY(request.check(order.model));
  // What cannot be kept with its receipt is not computed either.
  COMMENSAL_TRY(receipt::fits(order.inputs, {}, deps_.book.limits().opening_max));
  COMMENSAL_TRY(admit(request.account.name));
  return order;
}

/// That it can be kept and paid for, and what it may win too.
Result<void> Answers::admit(const std::string& account) {
  COMMENSAL_TRY(deps_.book.admit(account));
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.reserve(account, 1);
}

/// Who has left before its turn came costs nobody but the gateway anything.
void Answers::submit(InferRequest request, InferDone done) {
  if (request.left.stop_requested())
    return done(core::fail(ErrorCode::kCancelled, "nobody waits for it any more"));
  auto order = order_for(request);
  if (!order) return done(tl::unexpected(order.error()));
  Waiting waiting{request.account.name, order->model, std::move(done), {}};
  const OrderId id = deps_.dispatcher.submit(*std::move(order));
  Waiting& kept = waiting_.emplace(id, std::move(waiting)).first->second;
  if (const std::int64_t ms = request.timeout_ms; ms > 0)
    deps_.loop.after(ms, [this, id, ms] { expire(id, ms); });
  if (!request.left.stop_possible()) return;
  kept.left = std::make_unique<std::stop_callback<std::function<void()>>>(
      request.left, [this, id] { deps_.loop.post([this, id] { deps_.dispatcher.cancel(id); }); });
}

/// What is committed to is paid for, and ends in its receipt all the same.
void Answers::expire(OrderId id, std::int64_t timeout_ms) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const InferDone done = std::exchange(found->second.done, {});
  deps_.dispatcher.cancel(id);
  done(core::fail(ErrorCode::kDeadlineExceeded, "Request timeout expired: no answer within {} ms",
                  timeout_ms));
}

bool Answers::submit_again(const ReceiptRecord& old) {
  if (!deps_.hub.find(&kGatewayItself, old.model, old.version)) return false;
  if (old.is_in_file) return read_and_submit(old), true;
  auto opening = deps_.book.opening(old);
  if (opening) resubmit(old, std::move(opening->task.inputs));
  return opening.has_value();
}

void Answers::resubmit(const ReceiptRecord& old, tensor::NamedTensors inputs) {
  auto model = deps_.hub.find(&kGatewayItself, old.model, old.version);
  if (!model) return deps_.events.push(event::Replaced{old.id(), false});
  Waiting waiting{old.account, *model, {}, old.id()};
  Order order;
  order.account = old.account;
  order.model = *std::move(model);
  order.inputs = std::move(inputs);
  order.is_again = true;
  order.privacy_class = old.privacy_class.value_or("");
  const OrderId id = deps_.dispatcher.submit(std::move(order));
  waiting_.emplace(id, std::move(waiting));
}

void Answers::read_and_submit(const ReceiptRecord& old) {
  const auto opening = std::make_shared<Result<receipt::Opening>>();
  deps_.loop.offload(
      core::Loop::Lane::kFiles,
      [opening, id = old.id(), folder = deps_.book.folder()] {
        *opening = folder.opening(id);
        if (*opening) receipt::take_roots((*opening)->task.inputs);
      },
      [this, opening, old] {
        if (*opening) return resubmit(old, std::move((*opening)->task.inputs));
        deps_.events.report(*opening);
        // What is lost cannot be computed again, however often.
        deps_.events.push(event::Replaced{old.id(), true});
      });
}

void Answers::on_unanswered(event::Unanswered& event) {
  auto found = waiting_.extract(event.order);
  if (!found.empty()) end(found.mapped(), tl::unexpected(std::move(event.error)));
}

void Answers::on_kept(event::StepKept& event) {
  auto found = waiting_.extract(event.work->order);
  if (found.empty()) return;
  Waiting& waiting = found.mapped();
  if (!event.record) return end(waiting, tl::unexpected(event.record.error()));
  if (waiting.replaces) replace(*waiting.replaces, *event.record);
  end(waiting, InferResponse{.model = std::move(waiting.model),
                             .outputs = std::move(event.outputs),
                             .receipt = event.record->id(),
                             .provider = event.record->receipt.job.provider,
                             .privacy_class = event.record->privacy_class.value_or("")});
}

void Answers::end(Waiting& waiting, Result<InferResponse> response) {
  if (waiting.replaces) {
    return deps_.events.push(event::Replaced{*waiting.replaces, response.has_value()});
  }
  if (!response) deps_.till.release(waiting.account, 1);
  if (waiting.done) waiting.done(std::move(response));
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
