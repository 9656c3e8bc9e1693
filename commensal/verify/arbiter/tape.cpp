// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/tape.hpp>

namespace commensal::arbiter {

std::uint64_t Tape::value_of(const Operand& operand) const {
  if (operand.kind == Operand::Kind::kConstant) return operand.value;
  if (operand.kind == Operand::Kind::kInput) return fetch_(operand.input, operand.value);
  return values_[operand.value];
}

Operand Tape::put(scalar::Op op, std::initializer_list<Operand> operands) {
  if (fetch_) {
    std::array<std::uint64_t, scalar::kOperandsMax> values{};
    std::ranges::transform(operands, values.begin(),
                           [this](const Operand& operand) { return value_of(operand); });
    values_.push_back(scalar::evaluate(op, {values.data(), operands.size()}));
  } else if (wanted_ == next_) {
    picked_ = Step{op, {}};
    std::ranges::copy(operands, picked_->operands.begin());
  }
  return {Operand::Kind::kStep, 0, next_++};
}

}  // namespace commensal::arbiter
