// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <optional>

/// Several elementwise operators of binary32 in one internal operator, Chain: they pass by some
/// hundred elements at a time, which do not leave the first cache. Each is its own kernel, with its
/// own rounding: the bits are theirs.
namespace commensal::kernels::cpu {

/// An operator as a step. A value counts up from 0: the node's inputs, its outputs, then numbers
/// that only other steps read.
struct ChainStep {
  static constexpr std::size_t kOperandsMax = 4;
  static constexpr std::int64_t kNoOperand = -1;
  std::int64_t what = 0, to = 0;
  std::int64_t operands[kOperandsMax] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
};
inline constexpr std::size_t kChainInputsMax = 24, kChainOutputsMax = 8, kChainStepsMax = 48;
inline constexpr std::size_t kChainWordsMax =
    kChainInputsMax + kChainOutputsMax + kChainStepsMax;  // of a step's values
/// Of fewer, a node's own way through memory costs nothing that a chain would save.
inline constexpr std::int64_t kChainElementsMin = 64;

/// ChainStep::what of an operator's calls of binary32; none of those that are no steps.
std::optional<std::int64_t> chain_step_of(const Operator& op);
/// Two operators that are a step together: Where, whose condition is a Greater. Operands: those of
/// Greater, then the two that Where picks from.
bool is_chain_greater(const Operator& op);
bool is_chain_where(const Operator& op);
std::int64_t chain_select();

void add_chain_step(const ChainStep& step, std::vector<std::int64_t>& words);

// Inputs of one element, or of the outputs' type, the first of them of that. Attributes: "steps",
// as add_chain_step writes them, "numbers", how many there are beside inputs and outputs.
core::Result<std::vector<TensorType>> infer_chain(const Call& call);
core::Result<void> chain(const Call& call, std::span<Tensor> outputs, Workspace& ws);
/// Its row's column `cost`: all steps, shared out among the outputs.
std::int64_t chain_cost(const Call& call);

/// Its row of the table.
const Operator& chain_operator();

/// y[i] = a[i] > b[i] ? c[i] : d[i], the bits of c or d; steps are 0 or 1.
using SelectFn = void (*)(const float* const* operands, const int* steps, float* y,
                          std::int64_t count);
SelectFn select_greater_for(Isa isa);

}  // namespace commensal::kernels::cpu
