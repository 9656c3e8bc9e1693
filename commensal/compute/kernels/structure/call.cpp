// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/string_codes.hpp>
#include <commensal/compute/kernels/structure/call.hpp>

namespace commensal::kernels::structure {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<Tensor> tensor_input(const ValueCall& call, int i) {
  if (call.in(i).is_tensor()) return call.in(i).tensor();
  return fail(ErrorCode::kInvalidArgument, "input {} must be a tensor, not {}", i,
              call.in(i).text());
}

Result<std::vector<Value>> sequence_input(const ValueCall& call, int i) {
  if (call.in(i).is_sequence()) return call.in(i).items();
  return fail(ErrorCode::kInvalidArgument, "input {} must be a sequence, not {}", i,
              call.in(i).text());
}

Result<std::int64_t> integer_input(const ValueCall& call, int i) {
  COMMENSAL_ASSIGN(const Tensor given, tensor_input(call, i));
  if (given.elements() == 1 && given.dtype() == tensor::DType::kInt64) {
    return given.data<std::int64_t>()[0];
  }
  if (given.elements() == 1 && given.dtype() == tensor::DType::kInt32) {
    return given.data<std::int32_t>()[0];
  }
  return fail(ErrorCode::kInvalidArgument, "input {} must be one int64 or int32, not {}", i,
              given.type().text());
}

Result<bool> truth_of(const Value& value, std::string_view what) {
  const bool is_truth = value.is_tensor() && value.tensor().elements() == 1 &&
                        value.tensor().dtype() == tensor::DType::kBool;
  if (is_truth) return value.tensor().data<bool>()[0];
  return fail(ErrorCode::kInvalidArgument, "{} must be one bool, not {}", what, value.text());
}

Tensor scalar_of(std::int64_t value) {
  return Tensor::of<std::int64_t>({}, std::span<const std::int64_t>(&value, 1));
}
Tensor scalar_of(bool value) { return Tensor::of<bool>({}, std::span<const bool>(&value, 1)); }

Result<Tensor> invoke(const ValueCall& call, Role role, const std::vector<Tensor>& inputs,
                      Attributes attributes) {
  constexpr int kOpset = 13;
  const Operator& op = operator_of(role, kOpset);
  std::vector<const Tensor*> given;
  for (const Tensor& input : inputs) given.push_back(&input);
  Call inner;
  inner.opset = kOpset;
  inner.attributes = &attributes;
  inner.inputs = given;
  inner.pulse = Pulse(&call.threads);
  COMMENSAL_ASSIGN(const StringCodes codes, StringCodes::of(op, inner));
  inner.inputs = codes.inputs();
  COMMENSAL_ASSIGN(inner.outputs, op.judge->infer(inner));
  COMMENSAL_ASSIGN(auto outputs, allocate_outputs(inner, call.arena));
  Workspace workspace{call.arena, call.threads};
  COMMENSAL_TRY(op.judge->run(inner, outputs, workspace));
  return codes.decoded(std::move(outputs), inner.pulse).front();
}

Result<Tensor> concatenate(const ValueCall& call, const std::vector<Tensor>& parts,
                           std::int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return invoke(call, Role::kConcat, parts, std::move(attributes));
}

Result<Tensor> stack(const ValueCall& call, const std::vector<Tensor>& parts, std::int64_t axis) {
  core::check(!parts.empty(), "nothing has no type to be stacked as");
  const int rank = parts.front().shape().rank() + 1;
  COMMENSAL_ASSIGN(const int at, tensor::normalise_axis(axis, rank));
  std::vector<Tensor> lifted;
  for (const Tensor& part : parts) {
    if (part.type() != parts.front().type()) {
      return fail(ErrorCode::kInvalidArgument, "{} and {} cannot be stacked",
                  parts.front().type().text(), part.type().text());
    }
    std::vector<std::int64_t> dims(part.shape().dims().begin(), part.shape().dims().end());
    dims.insert(dims.begin() + at, 1);
    COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
    lifted.push_back(part.reshaped(shape));
  }
  return concatenate(call, lifted, at);
}

Result<Tensor> part_at(const ValueCall& call, const Tensor& whole, std::int64_t axis,
                       std::int64_t index) {
  Attributes attributes;
  attributes.set("axis", axis);
  return invoke(call, Role::kGather, {whole, scalar_of(index)}, std::move(attributes));
}

}  // namespace commensal::kernels::structure
