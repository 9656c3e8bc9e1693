// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/internal.hpp>
#include <commensal/compute/kernels/internal_rows.hpp>

namespace commensal::kernels {

namespace {

/// Has no function: graph/by_image.hpp runs its subgraph.
Operator by_image_row() {
  Operator op;
  op.domain = "commensal";
  op.name = "ByImage";
  op.inputs_min = 1;
  op.inputs_max = limits::kNodeInputsMax;
  op.outputs_max = limits::kNodeInputsMax;
  op.kind = Kind::kStructure;
  return op;
}

}  // namespace

std::span<const Operator> internal_table() {
  static const std::vector<Operator> table = [] {
    std::vector<Operator> made;
    for (const auto& rows : {blocked_rows(), transformer_rows()}) {
      for (const InternalRow& row : rows) {
        Operator op;
        op.domain = "commensal";
        op.name = row.name;
        op.inputs_min = row.inputs_min;
        op.inputs_max = row.inputs_max;
        op.kind = row.kind;
        op.infer = row.infer;
        op.cpu = row.cpu;
        op.pack = row.pack;
        made.push_back(op);
      }
    }
    made.push_back(by_image_row());
    return made;
  }();
  return table;
}

const Operator& internal_operator(std::string_view name) {
  const auto found = std::ranges::find(internal_table(), name, &Operator::name);
  core::check(found != internal_table().end(), "an internal operator is in its table");
  return *found;
}

}  // namespace commensal::kernels
