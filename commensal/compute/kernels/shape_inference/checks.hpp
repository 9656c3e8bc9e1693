// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

/// What `infer` functions share: one-line errors that say what was expected.
namespace commensal::kernels::shape_inference {

/// kInvalidArgument "input 0 must be one of float32, float64, not int8".
template <class TypeSet>
core::Result<void> check_dtype(const Call& call, int input) {
  const tensor::DType found = call.in(input).dtype();
  if (TypeSet::has(found)) return {};
  return core::fail(core::ErrorCode::kUnsupported, "input {} must be one of {}, not {}", input,
                    TypeSet::text(), traits(found).name);
}

/// The input has the same element type as input 0.
inline core::Result<void> check_same_dtype(const Call& call, int input) {
  if (!call.has(input) || call.in(input).dtype() == call.in(0).dtype()) return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "input {} must be {} like input 0, not {}",
                    input, traits(call.in(0).dtype()).name, traits(call.in(input).dtype()).name);
}

/// The input has `rank` dimensions.
inline core::Result<void> check_rank(const Call& call, int input, int rank) {
  if (call.in(input).shape().rank() == rank) return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "input {} must have rank {}, not {}", input,
                    rank, call.in(input).shape().text());
}

/// An input that lists integers (a shape, axes, ...): rank 0 or 1, int32 or int64.
core::Result<std::vector<std::int64_t>> integer_list(const Call& call, int input);

/// Integers from the attribute `name` or, from opset `since_input` on, from `input`; empty where
/// neither is there.
core::Result<std::vector<std::int64_t>> list_from(const Call& call, std::string_view name,
                                                  int input, int since_input);

/// The axes as 0..rank-1, each once, ascending.
core::Result<std::vector<int>> axes_of(const std::vector<std::int64_t>& axes, int rank);

}  // namespace commensal::kernels::shape_inference
