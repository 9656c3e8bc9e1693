// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/arbiter/program.hpp>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using core::fail;

std::vector<OperatorRow> make_table() {
  std::vector<OperatorRow> all;
  for (const auto rows :
       {elementwise_rows(), conversion_rows(), product_rows(), conv_transpose_rows(), einsum_rows(),
        sum_rows(), pool_rows(), order_rows(), movement_rows(), placement_rows(), generate_rows(),
        resize_rows(), grid_rows(), norm_rows(), softmax_rows(), quantised_rows(), recurrent_rows(),
        scatter_rows(), attention_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::ranges::stable_sort(all, {}, &OperatorRow::name);
  return all;
}

core::Result<const OperatorRow*> find(const NodeCall& call) {
  const NodeText& node = call.node;
  for (const OperatorRow& row : disputable_operators()) {
    const bool in_force = row.since <= node.opset && (row.until == 0 || node.opset <= row.until);
    if (node.domain.empty() && row.name == node.name && in_force && !node.has_subgraphs)
      return &row;
  }
  return fail(ErrorCode::kUnsupported, "no program for operator {}{} of opset {}",
              node.domain.empty() ? "" : node.domain + ".", node.name, node.opset);
}

core::Result<void> check_call(const NodeCall& call) {
  if (call.lists.size() != call.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "as many lists as inputs are expected");
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Shaped& input = call.inputs[i];
    if (!input.is_there()) continue;
    COMMENSAL_TRY(input.valid());
    const auto elements = static_cast<std::size_t>(input.elements());
    const auto& list = call.lists[i];
    if (is_list(input) ? !list || list->size() != elements : list.has_value()) {
      return fail(ErrorCode::kInvalidArgument, "input {}: a list of {} elements is expected", i,
                  is_list(input) ? elements : 0);
    }
  }
  for (const Shaped& output : call.outputs) COMMENSAL_TRY(output.valid());
  return {};
}

}  // namespace

std::span<const OperatorRow> disputable_operators() {
  static const std::vector<OperatorRow> kTable = make_table();
  return kTable;
}

core::Result<std::optional<Shaped>> output_type(const NodeCall& call, std::size_t output) {
  COMMENSAL_TRY(check_call(call));
  COMMENSAL_ASSIGN(const OperatorRow* row, find(call));
  auto made = row->type(call, output);
  if (!made) return core::in_context(row->name, made.error());
  if (*made) COMMENSAL_TRY((*made)->valid());
  return made;
}

core::Result<Program> Program::of(NodeCall call, std::size_t output, std::uint64_t element) {
  if (output >= call.outputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "output {}, expected one of {}", output,
                call.outputs.size());
  }
  COMMENSAL_ASSIGN(const auto type, output_type(call, output));
  if (type && *type != call.outputs[output]) {
    return fail(ErrorCode::kInvalidArgument, "the output is {}, expected {}",
                call.outputs[output].text(), type->text());
  }
  if (element >= static_cast<std::uint64_t>(call.outputs[output].elements())) {
    return fail(ErrorCode::kInvalidArgument, "element {} of {}", element,
                call.outputs[output].text());
  }
  Program made;
  COMMENSAL_ASSIGN(made.row_, find(call));
  made.call_ = std::move(call);
  made.output_ = output;
  made.element_ = static_cast<std::int64_t>(element);
  StepBuilder steps = StepBuilder::counting();
  made.emit(steps);
  made.steps_ = steps.steps();
  if (made.steps_ == 0 || made.steps_ > limits::kDisputeStepsMax) {
    return fail(ErrorCode::kUnsupported, "a program of {} steps, 1 to {} are accepted", made.steps_,
                limits::kDisputeStepsMax);
  }
  return made;
}

void Program::emit(StepBuilder& steps) const {
  row_->emit(call_, output_, element_, steps);
  steps.finish();
}

Step Program::at(std::uint64_t step) const {
  StepBuilder steps = StepBuilder::picking(step);
  emit(steps);
  core::check(steps.picked().has_value(), "only a step of the program is asked for");
  return *steps.picked();
}

std::vector<std::uint64_t> Program::evaluate(Fetch fetch) const {
  StepBuilder steps = StepBuilder::evaluating(std::move(fetch));
  emit(steps);
  return steps.values();
}

}  // namespace commensal::arbiter
