// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/ir.hpp>
#include <span>

namespace commensal::graph {

namespace {

std::string shape_text(const Declared& declared) {
  if (!declared.ranked) return " of any shape";
  std::string text = "[";
  const auto& dims = declared.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(std::max<std::int64_t>(dims[i], -1));
  }
  return text + ']';
}

bool admits_in(std::span<const Container> containers, const Declared& declared,
               const tensor::Value& value) {
  if (containers.empty()) return value.is_tensor() && declared.admits(value.tensor().type());
  const auto inner = containers.subspan(1);
  if (containers.front() == Container::kOptional) {
    return value.is_nothing() || admits_in(inner, declared, value);
  }
  if (!value.is_sequence()) return false;
  return std::ranges::all_of(
      value.items(), [&](const tensor::Value& item) { return admits_in(inner, declared, item); });
}

}  // namespace

std::string Declared::text() const {
  if (dtype == tensor::DType::kUndefined) return "anything";
  std::string text = std::string(tensor::traits(dtype).name) + shape_text(*this);
  for (auto at = containers.rbegin(); at != containers.rend(); ++at) {
    text = (*at == Container::kSequence ? "sequence(" : "optional(") + text + ")";
  }
  return text;
}

bool Declared::admits(const tensor::Value& value) const {
  return dtype == tensor::DType::kUndefined || admits_in(containers, *this, value);
}

std::optional<tensor::TensorType> Declared::type() const {
  const auto shape = tensor::Shape::of(dims);  // refuses what is negative, so free
  if (!ranked || !containers.empty() || !shape) return std::nullopt;
  return tensor::TensorType{dtype, *shape};
}

bool Declared::admits(const tensor::TensorType& type) const {
  if (type.dtype != dtype) return false;
  if (!ranked) return true;
  if (static_cast<int>(dims.size()) != type.shape.rank()) return false;
  for (int i = 0; i < type.shape.rank(); ++i) {
    const std::int64_t dim = dims[static_cast<std::size_t>(i)];
    if (dim >= 0 && dim != type.shape[i]) return false;
  }
  return true;
}

}  // namespace commensal::graph
