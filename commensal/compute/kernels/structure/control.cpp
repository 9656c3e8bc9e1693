// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/structure/call.hpp>
#include <commensal/compute/kernels/structure/ops.hpp>
#include <limits>

namespace commensal::kernels::structure {

using core::ErrorCode;
using core::fail;
using core::Result;
using Values = std::vector<Value>;

namespace {

Result<Subgraphs::Size> size_of(const ValueCall& call, std::string_view name) {
  const auto size = call.subgraphs.size(name);
  if (size) return *size;
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' must be a graph", name);
}

Result<void> check_count(std::string_view what, std::size_t found, std::size_t expected) {
  if (found == expected) return {};
  return fail(ErrorCode::kInvalidArgument, "the graph has {} {}, expected {}", found, what,
              expected);
}

// The scan outputs of a loop that never ran: no rows of what the body declares.
Result<Tensor> no_rows(const ValueCall& call, std::size_t output) {
  const TensorType row = call.subgraphs.output_type("body", output);
  if (traits(row.dtype).size == 0) {
    return fail(ErrorCode::kUnsupported, "no iteration, and no type for output {}", output);
  }
  std::vector<std::int64_t> dims(row.shape.dims().begin(), row.shape.dims().end());
  dims.insert(dims.begin(), 0);
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return Tensor::copy_of({row.dtype, shape}, {});
}

// The rows that iterations appended, one list for each scan output of the body.
class Rows {
 public:
  explicit Rows(std::size_t lists) : rows_(lists) {}

  // Takes the outputs of one iteration from `first` on.
  Result<void> append(const Values& outputs, std::size_t first) {
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const Value& row = outputs[first + k];
      if (!row.is_tensor()) {
        return fail(ErrorCode::kInvalidArgument, "a scan output must be a tensor, not {}",
                    row.text());
      }
      rows_[k].push_back(row.tensor());
    }
    return {};
  }
  std::vector<Tensor>& of(std::size_t k) { return rows_[k]; }

 private:
  std::vector<std::vector<Tensor>> rows_;
};

}  // namespace

Result<Values> branch(const ValueCall& call) {
  COMMENSAL_ASSIGN(const bool condition, truth_of(call.in(0), "the condition"));
  const std::string_view taken = condition ? "then_branch" : "else_branch";
  COMMENSAL_ASSIGN(const auto size, size_of(call, taken));
  COMMENSAL_TRY(check_count("inputs", size.inputs, 0));
  COMMENSAL_TRY(check_count("outputs", size.outputs, static_cast<std::size_t>(call.output_count)));
  return call.subgraphs.run(taken, {});
}

Result<Values> loop(const ValueCall& call) {
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  bool goes_on = true;
  if (call.has(0)) {
    COMMENSAL_ASSIGN(trips, integer_input(call, 0));
  }
  if (call.has(1)) {
    COMMENSAL_ASSIGN(goes_on, truth_of(call.in(1), "the condition"));
  }
  Values carried;
  for (int i = 2; i < static_cast<int>(call.inputs.size()); ++i) carried.push_back(call.in(i));
  COMMENSAL_ASSIGN(const auto size, size_of(call, "body"));
  COMMENSAL_TRY(check_count("inputs", size.inputs, carried.size() + 2));
  COMMENSAL_TRY(
      check_count("outputs", size.outputs, static_cast<std::size_t>(call.output_count) + 1));
  if (size.outputs < carried.size() + 1) {
    return fail(ErrorCode::kInvalidArgument, "the graph returns fewer values than it is given");
  }
  const std::size_t first_row = carried.size() + 1;
  Rows rows(size.outputs - first_row);
  for (std::int64_t i = 0; i < trips && goes_on; ++i) {
    if (i == limits::kLoopStepsMax) {
      return fail(ErrorCode::kInvalidArgument, "more than {} iterations", limits::kLoopStepsMax);
    }
    call.threads.yield();
    Values inputs = {scalar_of(i), scalar_of(true)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    COMMENSAL_ASSIGN(const Values outputs, call.subgraphs.run("body", std::move(inputs)));
    COMMENSAL_ASSIGN(goes_on, truth_of(outputs[0], "the loop's condition"));
    carried.assign(outputs.begin() + 1, outputs.begin() + static_cast<std::ptrdiff_t>(first_row));
    COMMENSAL_TRY(rows.append(outputs, first_row));
  }
  for (std::size_t k = 0; k + first_row < size.outputs; ++k) {
    COMMENSAL_ASSIGN(const Tensor whole, rows.of(k).empty() ? no_rows(call, first_row + k)
                                                            : stack(call, rows.of(k), 0));
    carried.emplace_back(whole);
  }
  return carried;
}

Result<Values> sequence_map(const ValueCall& call) {
  COMMENSAL_ASSIGN(const auto size, size_of(call, "body"));
  COMMENSAL_TRY(check_count("inputs", size.inputs, call.inputs.size()));
  COMMENSAL_TRY(check_count("outputs", size.outputs, static_cast<std::size_t>(call.output_count)));
  COMMENSAL_ASSIGN(const Values first, sequence_input(call, 0));
  std::vector<Values> made(size.outputs);
  for (std::size_t at = 0; at < first.size(); ++at) {
    call.threads.yield();
    Values inputs;
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      const Value input = call.in(i);
      if (input.is_sequence() && input.items().size() != first.size()) {
        return fail(ErrorCode::kInvalidArgument, "{}, expected as many as input 0's {}",
                    input.text(), first.size());
      }
      inputs.push_back(input.is_sequence() ? input.items()[at] : input);
    }
    COMMENSAL_ASSIGN(const Values outputs, call.subgraphs.run("body", std::move(inputs)));
    for (std::size_t k = 0; k < made.size(); ++k) made[k].push_back(outputs[k]);
  }
  Values sequences;
  for (Values& items : made) sequences.push_back(Value::sequence(std::move(items)));
  return sequences;
}

}  // namespace commensal::kernels::structure
