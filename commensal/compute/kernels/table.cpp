// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/string_codes.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

Operator operator_of(const Row& row) {
  Operator made;
  made.domain = row.domain;
  made.name = row.name;
  made.since = row.since;
  made.until = row.until;
  made.inputs_min = row.inputs_min;
  made.inputs_max = row.inputs_max;
  made.outputs_max = row.outputs_max;
  made.kind = row.kind;
  made.strings = takes_codes(row.domain, row.name) ? Strings::kCodes : row.strings;
  made.infer = row.columns.infer;
  made.ref = row.columns.ref;
  made.cpu = row.cpu.kernel;
  made.pack = row.cpu.pack;
  made.reads = row.columns.reads;
  made.element = row.columns.element;
  made.steps = row.columns.steps;
  made.partial = row.columns.partial;
  made.values = row.values;
  return made;
}

std::vector<Operator> build_table() {
  std::vector<Operator> table;
  for (const auto& rows :
       {product_rows(), arithmetic_rows(), movement_rows(), place_rows(), reduction_rows(),
        loss_rows(), trig_rows(), quantised_rows(), recurrent_rows(), structure_rows(),
        signal_rows(), attention_rows(), string_rows(), ml_rows()}) {
    for (const Row& row : rows) table.push_back(operator_of(row));
  }
  std::sort(table.begin(), table.end(), [](const Operator& a, const Operator& b) {
    return std::pair(a.name, a.since) < std::pair(b.name, b.since);
  });
  return table;
}

}  // namespace

core::Result<std::vector<Tensor>> allocate_outputs(const Call& call, tensor::Arena& arena) {
  std::vector<Tensor> outputs(call.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // A type that depends on data is known to the kernel only, which allocates.
    if (tensor::traits(call.outputs[i].dtype).size == 0) continue;
    COMMENSAL_ASSIGN(outputs[i], Tensor::allocate(arena, call.outputs[i]));
  }
  return outputs;
}

std::span<const Operator> operator_table() {
  static const std::vector<Operator> table = build_table();
  return table;
}

core::Result<const Operator*> find_operator(std::string_view domain, std::string_view name,
                                            int opset) {
  const std::string_view asked = domain == "ai.onnx" ? "" : domain;
  for (const Operator& row : operator_table()) {
    if (row.domain == asked && row.name == name && opset >= row.since &&
        (row.until == 0 || opset <= row.until)) {
      return &row;
    }
  }
  return core::fail(core::ErrorCode::kUnsupported,
                    "operator {} of domain '{}' is not supported at opset {}", name,
                    asked.empty() ? "ai.onnx" : asked, opset);
}

}  // namespace commensal::kernels
