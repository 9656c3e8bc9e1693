// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <map>

namespace commensal::gateway {
namespace {

std::string expected(const ModelVersion& model) {
  std::string text;
  for (const ModelPort& port : model.inputs) {
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", port.name, port.declared.text());
  }
  return text;
}

bool is_empty_batch(const graph::Declared& declared, const tensor::Shape& shape) {
  return shape.rank() > 1 && shape[0] == 0 && declared.ranked && declared.dims[0] < 0;
}

using Symbols = std::map<std::string, std::int64_t>;

Symbols symbols_of(const graph::Graph& outline, const tensor::NamedTensors& inputs) {
  Symbols known;
  for (std::size_t i = 0; i < std::min(outline.inputs.size(), inputs.size()); ++i) {
    const auto& declared = outline.values[static_cast<std::size_t>(outline.inputs[i])].declared;
    const tensor::Shape& shape = inputs[i].value.shape();
    const auto dims = shape.dims();
    if (!declared.ranked || declared.dims.size() != dims.size()) continue;
    for (std::size_t d = 0; d < std::min(dims.size(), declared.symbols.size()); ++d) {
      if (!declared.symbols[d].empty()) known[declared.symbols[d]] = dims[d];
    }
  }
  return known;
}

/// Nothing where it is not known.
std::optional<double> bytes_of(const graph::Declared& declared, const Symbols& known) {
  if (!declared.ranked || declared.dtype == tensor::DType::kString) return std::nullopt;
  double bytes = static_cast<double>(tensor::traits(declared.dtype).size);
  for (std::size_t d = 0; d < declared.dims.size(); ++d) {
    std::int64_t dim = declared.dims[d];
    if (dim < 0) {
      const auto found =
          d < declared.symbols.size() ? known.find(declared.symbols[d]) : known.end();
      if (found == known.end()) return std::nullopt;
      dim = found->second;
    }
    bytes *= static_cast<double>(dim);
  }
  return bytes;
}

}  // namespace

std::int64_t answer_bytes_max(const graph::Graph& outline, const tensor::NamedTensors& inputs) {
  constexpr double kRoom = 16;
  const Symbols known = symbols_of(outline, inputs);
  double sum = 0;
  for (const graph::ValueId id : outline.outputs) {
    const auto bytes = bytes_of(outline.values[static_cast<std::size_t>(id)].declared, known);
    if (!bytes) return limits::kRpcMessageBytesMax;
    sum += *bytes;
  }
  const double most = static_cast<double>(limits::kRpcWordsBytesMax) + kRoom * sum;
  return static_cast<std::int64_t>(
      std::min(most, static_cast<double>(limits::kRpcMessageBytesMax)));
}

core::Result<tensor::NamedTensors> order_inputs(const ModelVersion& model,
                                                tensor::NamedTensors inputs) {
  const auto refuse = [&](const std::string& what) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{}; '{}' expects {}", what, model.name,
                      expected(model));
  };
  tensor::NamedTensors ordered;
  for (const ModelPort& port : model.inputs) {
    const auto found = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const auto& item) { return item.name == port.name; });
    if (found == inputs.end()) return refuse(fmt::format("input '{}' is missing", port.name));
    if (!port.declared.admits(found->value.type())) {
      return refuse(fmt::format("input '{}' is {}", port.name, found->value.type().text()));
    }
    // Nothing would be computed of it, and yet be paid for.
    if (is_empty_batch(port.declared, found->value.shape())) {
      return refuse(fmt::format("input '{}' is a batch of 0", port.name));
    }
    ordered.push_back(std::move(*found));
    inputs.erase(found);
  }
  if (!inputs.empty()) return refuse(fmt::format("unknown input '{}'", inputs.front().name));
  return ordered;
}

}  // namespace commensal::gateway
