// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/arbiter/evidence.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::dispute {
namespace {

using arbiter::Attribute;
using arbiter::Operand;

struct AttributeText {
  Attribute operator()(float value) const { return std::bit_cast<std::uint32_t>(value); }
  Attribute operator()(const tensor::Tensor& value) const { return receipt::tensor_root(value); }
  Attribute operator()(const std::vector<float>& values) const {
    std::vector<std::uint32_t> bits;
    for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
  }
  template <class T>
  Attribute operator()(const T& value) const {
    return value;
  }
};

}  // namespace

arbiter::Shaped shaped_of(const tensor::TensorType& type) {
  arbiter::Shaped made{static_cast<std::uint8_t>(type.dtype), {}};
  for (const std::int64_t dim : type.shape.dims()) {
    made.dims.push_back(static_cast<std::uint64_t>(dim));
  }
  return made;
}

arbiter::NodeText node_text(const kernels::Operator& op, int opset,
                            const kernels::Attributes& attributes) {
  arbiter::NodeText node;
  node.domain = op.domain;
  node.name = op.name;
  node.opset = static_cast<std::uint32_t>(opset);
  for (const auto& [name, value] : attributes.all()) {
    node.attributes[name] = std::visit(AttributeText{}, value);
  }
  return node;
}

std::optional<std::vector<std::int64_t>> list_of(const tensor::Tensor& tensor) {
  const arbiter::Shaped type = shaped_of(tensor.type());
  if (!arbiter::is_list(type)) return std::nullopt;
  return arbiter::list_in(tensor.bytes(), type);
}

std::vector<core::Bytes> attribute_lists(const kernels::Attributes& attributes) {
  std::vector<core::Bytes> lists;
  for (const auto& [name, value] : attributes.all()) {
    const auto* tensor = std::get_if<tensor::Tensor>(&value);
    if (tensor == nullptr) continue;
    const arbiter::Shaped type = shaped_of(tensor->type());
    const bool is_shown = type.valid() && arbiter::is_list(type);
    lists.push_back(is_shown ? arbiter::list_of_attribute(type, tensor->bytes()) : core::Bytes());
  }
  return lists;
}

arbiter::Fetch fetch_from(std::span<const tensor::Tensor> inputs,
                          std::span<const tensor::Tensor> outputs) {
  return [inputs, outputs](int input, std::uint64_t index) {
    const tensor::Tensor& from = input < 0 ? outputs[static_cast<std::size_t>(~input)]
                                           : inputs[static_cast<std::size_t>(input)];
    return tensor::element_bits(from, static_cast<std::int64_t>(index));
  };
}

std::uint64_t evaluate_step(const arbiter::Step& step, std::span<const std::uint64_t> values,
                            const arbiter::Fetch& fetch) {
  std::array<std::uint64_t, scalar::kOperandsMax> operands{};
  const auto count = static_cast<std::size_t>(scalar::operation(step.op).operands);
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& operand = step.operands[i];
    std::uint64_t value = operand.is_of_step() ? values[operand.value] : operand.value;
    if (operand.is_of_input()) value = fetch(operand.input, value);
    if (operand.kind == Operand::Kind::kOwn) value = fetch(~operand.input, value);
    operands[i] = value;
  }
  return scalar::evaluate(step.op, {operands.data(), count});
}

}  // namespace commensal::dispute
