// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/structure/call.hpp>
#include <commensal/compute/kernels/structure/ops.hpp>

namespace commensal::kernels::structure {

using core::ErrorCode;
using core::fail;
using core::Result;
using Values = std::vector<Value>;

namespace {

/// Where the scans run: one entry for each scanned input or output.
struct Direction {
  std::int64_t axis = 0;
  bool reverse = false;
};

struct ScanPlan {
  std::size_t states = 0;
  std::vector<Direction> inputs, outputs;
};

Result<std::vector<Direction>> directions(const ValueCall& call, std::size_t count,
                                          const char* axes_name, const char* directions_name) {
  std::vector<std::int64_t> axes, ways;
  if (axes_name != nullptr) {
    COMMENSAL_ASSIGN(axes, call.attributes->integers(axes_name));
  }
  if (directions_name != nullptr) {
    COMMENSAL_ASSIGN(ways, call.attributes->integers(directions_name));
  }
  const auto is_way = [](std::int64_t way) { return way == 0 || way == 1; };
  if ((!axes.empty() && axes.size() != count) || (!ways.empty() && ways.size() != count) ||
      !std::ranges::all_of(ways, is_way)) {
    return fail(ErrorCode::kInvalidArgument,
                "the axes and directions must be {}, directions 0 or 1", count);
  }
  std::vector<Direction> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!axes.empty()) made[i].axis = axes[i];
    if (!ways.empty()) made[i].reverse = ways[i] == 1;
  }
  return made;
}

Result<ScanPlan> plan_of(const ValueCall& call, std::size_t inputs, bool by_batch) {
  COMMENSAL_ASSIGN(const std::int64_t scanned, call.attributes->integer("num_scan_inputs", 0));
  const auto size = call.subgraphs.size("body");
  if (!size) return fail(ErrorCode::kInvalidArgument, "attribute 'body' must be a graph");
  if (scanned < 1 || static_cast<std::size_t>(scanned) > inputs || size->inputs != inputs) {
    return fail(ErrorCode::kInvalidArgument,
                "{} inputs, {} of them scanned, and a graph of {} inputs", inputs, scanned,
                size->inputs);
  }
  ScanPlan plan;
  plan.states = inputs - static_cast<std::size_t>(scanned);
  if (size->outputs != static_cast<std::size_t>(call.output_count) || size->outputs < plan.states) {
    return fail(ErrorCode::kInvalidArgument, "the graph has {} outputs, expected {}, at least {}",
                size->outputs, call.output_count, plan.states);
  }
  COMMENSAL_ASSIGN(plan.inputs, directions(call, static_cast<std::size_t>(scanned),
                                           by_batch ? nullptr : "scan_input_axes",
                                           by_batch ? "directions" : "scan_input_directions"));
  COMMENSAL_ASSIGN(plan.outputs, directions(call, size->outputs - plan.states,
                                            by_batch ? nullptr : "scan_output_axes",
                                            by_batch ? nullptr : "scan_output_directions"));
  return plan;
}

// The common length of the scanned inputs, each of which follows the states in `given`.
Result<std::int64_t> length_of(const ScanPlan& plan, const std::vector<Tensor>& given) {
  std::int64_t length = -1;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const tensor::Shape& shape = given[plan.states + i].shape();
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(plan.inputs[i].axis, shape.rank()));
    if (length >= 0 && shape[axis] != length) {
      return fail(ErrorCode::kInvalidArgument, "scanned inputs of length {} and {}", length,
                  shape[axis]);
    }
    length = shape[axis];
  }
  if (length <= limits::kLoopStepsMax) return length;
  return fail(ErrorCode::kInvalidArgument, "more than {} steps", limits::kLoopStepsMax);
}

Result<Tensor> joined(const ValueCall& call, std::vector<Tensor> rows, std::size_t output,
                      const Direction& way) {
  if (rows.empty()) {
    return fail(ErrorCode::kUnsupported, "no step to take output {} from", output);
  }
  if (way.reverse) std::ranges::reverse(rows);
  return stack(call, rows, way.axis);
}

// States and scanned inputs in `given`; the first `steps` are taken.
Result<std::vector<Tensor>> run_scan(const ValueCall& call, const ScanPlan& plan,
                                     const std::vector<Tensor>& given, std::int64_t steps,
                                     std::int64_t length) {
  Values states(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(plan.states));
  std::vector<std::vector<Tensor>> rows(plan.outputs.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    call.threads.yield();
    Values inputs = states;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const std::int64_t at = plan.inputs[i].reverse ? length - 1 - step : step;
      COMMENSAL_ASSIGN(const Tensor part,
                       part_at(call, given[plan.states + i], plan.inputs[i].axis, at));
      inputs.emplace_back(part);
    }
    COMMENSAL_ASSIGN(const Values outputs, call.subgraphs.run("body", std::move(inputs)));
    for (const Value& output : outputs) {
      if (!output.is_tensor()) {
        return fail(ErrorCode::kInvalidArgument, "the graph returns {}, expected a tensor",
                    output.text());
      }
    }
    states.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(plan.states));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      rows[k].push_back(outputs[plan.states + k].tensor());
    }
  }
  std::vector<Tensor> made;
  for (const Value& state : states) made.push_back(state.tensor());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    // Steps beyond a batch item's own length leave zeros.
    if (steps > 0 && steps < length) {
      const TensorType& type = rows[k].front().type();
      const core::Bytes none(static_cast<std::size_t>(type.bytes()));
      rows[k].resize(static_cast<std::size_t>(length), Tensor::copy_of(type, none));
    }
    COMMENSAL_ASSIGN(const Tensor whole,
                     joined(call, std::move(rows[k]), plan.states + k, plan.outputs[k]));
    made.push_back(whole);
  }
  return made;
}

Result<std::vector<Tensor>> tensors_from(const ValueCall& call, int first) {
  std::vector<Tensor> given;
  for (int i = first; i < static_cast<int>(call.inputs.size()); ++i) {
    COMMENSAL_ASSIGN(const Tensor input, tensor_input(call, i));
    given.push_back(input);
  }
  return given;
}

// Steps of batch item `item` by the optional input sequence_lens.
Result<std::int64_t> steps_of(const ValueCall& call, std::int64_t item, std::int64_t length) {
  if (!call.has(0)) return length;
  COMMENSAL_ASSIGN(const Tensor lens, tensor_input(call, 0));
  if (lens.dtype() != tensor::DType::kInt64 || item >= lens.elements()) {
    return fail(ErrorCode::kInvalidArgument, "sequence_lens must be one int64 for each batch item");
  }
  const std::int64_t steps = lens.data<std::int64_t>()[static_cast<std::size_t>(item)];
  if (steps >= 1 && steps <= length) return steps;
  return fail(ErrorCode::kInvalidArgument, "sequence_lens has {}, expected 1 to {}", steps, length);
}

}  // namespace

Result<Values> scan(const ValueCall& call) {
  COMMENSAL_ASSIGN(const auto given, tensors_from(call, 0));
  COMMENSAL_ASSIGN(const ScanPlan plan, plan_of(call, given.size(), false));
  COMMENSAL_ASSIGN(const std::int64_t length, length_of(plan, given));
  COMMENSAL_ASSIGN(const auto made, run_scan(call, plan, given, length, length));
  return Values(made.begin(), made.end());
}

Result<Values> scan_batch(const ValueCall& call) {
  COMMENSAL_ASSIGN(const auto given, tensors_from(call, 1));
  COMMENSAL_ASSIGN(const ScanPlan plan, plan_of(call, given.size(), true));
  for (const Tensor& one : given) {
    if (one.shape().rank() < 1 || one.shape()[0] != given.front().shape()[0] ||
        one.shape()[0] < 1) {
      return fail(ErrorCode::kInvalidArgument, "{}: every input needs the same batch axis 0",
                  one.type().text());
    }
  }
  std::vector<std::vector<Tensor>> by_output(static_cast<std::size_t>(call.output_count));
  for (std::int64_t item = 0; item < given.front().shape()[0]; ++item) {
    std::vector<Tensor> own;
    for (const Tensor& whole : given) {
      COMMENSAL_ASSIGN(const Tensor part, part_at(call, whole, 0, item));
      own.push_back(part);
    }
    COMMENSAL_ASSIGN(const std::int64_t length, length_of(plan, own));
    COMMENSAL_ASSIGN(const std::int64_t steps, steps_of(call, item, length));
    COMMENSAL_ASSIGN(const auto made, run_scan(call, plan, own, steps, length));
    for (std::size_t k = 0; k < made.size(); ++k) by_output[k].push_back(made[k]);
  }
  Values outputs;
  for (const auto& parts : by_output) {
    COMMENSAL_ASSIGN(const Tensor whole, stack(call, parts, 0));
    outputs.emplace_back(whole);
  }
  return outputs;
}

}  // namespace commensal::kernels::structure
