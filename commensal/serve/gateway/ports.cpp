// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/ports.hpp>

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

}  // namespace

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
