// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// Strings for operators that only move, compare or sort elements: such a kernel runs on int64
/// codes, the ranks of the strings among all that a call is given. Equal strings have equal codes,
/// codes sort as the strings' bytes do, and 0 is the empty string, which is what padding with 0
/// means. So no kernel knows of strings.
namespace commensal::kernels {

/// The inputs of one call, strings replaced by their codes. Refers to the strings of the
/// call, and without strings to its inputs. Must not be moved while the span of inputs is in use.
class StringCodes {
 public:
  /// Errors: kUnsupported where the operator does not take strings, kInvalidArgument where it does
  /// not take these.
  static core::Result<StringCodes> of(const Operator& op, const Call& call);

  /// What the kernel is called with; without strings, the inputs as they were given.
  std::span<const Tensor* const> inputs() const { return pool_.empty() ? given_ : inputs_; }
  /// Those of the kernel that hold codes.
  Places outputs() const { return outputs_; }
  /// The kernel's outputs, those that hold codes turned into strings.
  std::vector<Tensor> decoded(std::vector<Tensor> outputs, Pulse& pulse) const;

 private:
  std::span<const Tensor* const> given_;
  std::vector<const Tensor*> inputs_;  // where there are strings
  std::vector<std::unique_ptr<const Tensor>> coded_;
  std::vector<std::string_view> pool_;  // sorted; empty where there are no strings
  std::vector<std::shared_ptr<const void>> owners_;
  Places outputs_;  // that hold codes
};

}  // namespace commensal::kernels
