// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <vector>

/// Calls of operators that pick elements by position, checked.
namespace commensal::kernels::shape_inference {

/// Output element `at` is the input's at start + at * step.
struct Slice {
  TensorType from, to;
  Dims start{}, step{};
};
core::Result<Slice> slice_of(const Call& call);

/// The entries of input 1 as positions along a dimension; negative ones count from its end.
core::Result<std::vector<std::int64_t>> positions_of(const Call& call, std::int64_t dim);

/// The input's entries at `positions` along an axis.
struct Gather {
  AxisView from;
  TensorType to;
  std::vector<std::int64_t> positions;
};
core::Result<Gather> gather_of(const Call& call);

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

/// Output element `at` is the input's at at - before, where there is one.
struct Pad {
  TensorType from, to;
  PadMode mode = PadMode::kConstant;
  Dims before{};
  bool value_is_input = false;  // input 2, else value_bits
  std::uint64_t value_bits = 0;
};
core::Result<Pad> pad_of(const Call& call);

/// Output i is the input's places [starts[i], starts[i] + lengths[i]) along an axis.
struct Split {
  TensorType from;
  int axis = 0;
  std::vector<std::int64_t> lengths, starts;
};
core::Result<Split> split_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
