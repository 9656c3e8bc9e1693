// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/draws.hpp>
#include <commensal/compute/kernels/table_arithmetic.hpp>
#include <commensal/compute/kernels/table_attention.hpp>
#include <commensal/compute/kernels/table_indexing.hpp>
#include <commensal/compute/kernels/table_internal.hpp>
#include <commensal/compute/kernels/table_losses.hpp>
#include <commensal/compute/kernels/table_ml.hpp>
#include <commensal/compute/kernels/table_movement.hpp>
#include <commensal/compute/kernels/table_products.hpp>
#include <commensal/compute/kernels/table_quantised.hpp>
#include <commensal/compute/kernels/table_recurrent.hpp>
#include <commensal/compute/kernels/table_reductions.hpp>
#include <commensal/compute/kernels/table_signal.hpp>
#include <commensal/compute/kernels/table_strings.hpp>
#include <commensal/compute/kernels/table_structure.hpp>
#include <commensal/compute/kernels/table_trig.hpp>
#include <tuple>

namespace commensal::kernels {
namespace {

constexpr bool comes_before(const Operator& a, const Operator& b) {
  return std::tuple(a.is_internal(), a.name, a.since) <
         std::tuple(b.is_internal(), b.name, b.since);
}

template <std::size_t... kSizes>
constexpr auto joined(const Operator (&... groups)[kSizes]) {
  std::array<Operator, (kSizes + ...)> all;
  auto end = all.begin();
  ((end = std::copy(std::begin(groups), std::end(groups), end)), ...);
  std::sort(all.begin(), all.end(), comes_before);
  return all;
}

constexpr auto kTable =
    joined(kArithmeticRows, kAttentionRows, kLossRows, kMlRows, kMovementRows, kIndexingRows,
           kProductRows, kQuantisedRows, kRecurrentRows, kReductionRows, kSignalRows, kStringRows,
           kStructureRows, kTrigRows, kBlockedRows, kTransformerRows, kChainRow, kGraphRows);

constexpr std::size_t kModelRows =
    static_cast<std::size_t>(std::ranges::count(kTable, false, &Operator::is_internal));

constexpr bool has_one_operator_a_role() {
  for (const Operator& a : kTable) {
    for (const Operator& b : kTable) {
      const bool same = a.role == b.role && a.role != Role::kNone;
      if (same && std::tie(a.domain, a.name) != std::tie(b.domain, b.name)) return false;
    }
  }
  return true;
}
static_assert(has_one_operator_a_role());

constexpr bool is_in_force(const Operator& op, int opset) {
  return opset >= op.since && (op.until == 0 || opset <= op.until);
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

std::span<const Operator> operator_table() { return kTable; }

std::span<const Operator> model_operators() { return operator_table().first(kModelRows); }

core::Result<const Operator*> find_operator(std::string_view domain, std::string_view name,
                                            int opset) {
  const std::string_view asked = domain == "ai.onnx" ? "" : domain;
  for (const Operator& row : model_operators()) {
    if (row.domain == asked && row.name == name && is_in_force(row, opset)) return &row;
  }
  return core::fail(core::ErrorCode::kUnsupported,
                    "operator {} of domain '{}' is not supported at opset {}", name,
                    asked.empty() ? "ai.onnx" : asked, opset);
}

const Operator& operator_of(Role role, int opset) {
  const auto found = std::ranges::find_if(
      kTable, [&](const Operator& row) { return row.role == role && is_in_force(row, opset); });
  core::check(found != kTable.end(), "an operator of that role is in the table");
  return *found;
}

bool draws(const Operator& op) {
  const std::array drawing = {&ref::kBernoulli,     &ref::kMultinomial,
                              &ref::kRandomNormal,  &ref::kRandomNormalLike,
                              &ref::kRandomUniform, &ref::kRandomUniformLike};
  return std::ranges::find(drawing, op.judge) != drawing.end();
}

}  // namespace commensal::kernels
