// SPDX-License-Identifier: Apache-2.0
// Operators that pick elements by position: Slice, Gather, GatherElements, Pad.
#include <algorithm>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

struct Slice : shape_inference::Slice {
  static constexpr int kFirstParameter = 1;

  static core::Result<Slice> make(const Call& call) {
    COMMENSAL_ASSIGN(const shape_inference::Slice parsed, shape_inference::slice_of(call));
    return Slice{parsed};
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = shape_inference::split(to.shape, index);
    for (std::size_t d = 0; d < static_cast<std::size_t>(to.shape.rank()); ++d) {
      at[d] = start[d] + at[d] * step[d];
    }
    return {0, shape_inference::join(from.shape, at)};
  }
};

struct Gather : shape_inference::Gather {
  static core::Result<Gather> make(const Call& call) {
    COMMENSAL_ASSIGN(shape_inference::Gather parsed, shape_inference::gather_of(call));
    return Gather{std::move(parsed)};
  }
  std::vector<TensorType> types() const { return {to}; }
  std::int64_t entry(std::int64_t index) const {
    return index / from.inner_size % static_cast<std::int64_t>(positions.size());
  }
  ElementRef source(int, std::int64_t index) const {
    const std::int64_t outer =
        index / from.inner_size / static_cast<std::int64_t>(positions.size());
    return {0, from.position(outer, positions[static_cast<std::size_t>(entry(index))],
                             from.inner(index))};
  }
};

struct GatherElements {
  TensorType from, to;
  int axis = 0;
  std::vector<std::int64_t> positions;

  static core::Result<GatherElements> make(const Call& call) {
    GatherElements op;
    op.from = call.in(0).type();
    op.to = {op.from.dtype, call.in(1).shape()};
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
    COMMENSAL_TRY(shape_inference::check_rank(call, 1, op.from.shape.rank()));
    COMMENSAL_ASSIGN(op.axis, tensor::normalise_axis(given, op.from.shape.rank()));
    COMMENSAL_ASSIGN(op.positions, shape_inference::positions_of(call, op.from.shape[op.axis]));
    for (int d = 0; d < op.axis + 1 || d < op.to.shape.rank(); ++d) {
      if (d == op.axis || op.to.shape[d] <= op.from.shape[d]) continue;
      return fail(ErrorCode::kInvalidArgument, "indices {} reach beyond {}", op.to.shape.text(),
                  op.from.shape.text());
    }
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  std::int64_t entry(std::int64_t index) const { return index; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = shape_inference::split(to.shape, index);
    at[static_cast<std::size_t>(axis)] = positions[static_cast<std::size_t>(index)];
    return {0, shape_inference::join(from.shape, at)};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const Shape& x = from.shape;
    const shape_inference::Dims strides = strides_without(x, axis);
    const std::int64_t stride = x.elements(axis + 1, x.rank());
    copy_runs(threads, to.shape.elements(), 1, tensor::traits(to.dtype).size,
              call.in(0).bytes().data(), outputs[0].mutable_bytes().data(),
              [&](std::int64_t first, std::int64_t count, std::int64_t* where) {
                Odometer place(to.shape.dims(), strides, first);
                const std::int64_t* at = positions.data() + first;
                const std::int64_t apart = axis + 1 == x.rank() ? 0 : 1;
                for (std::int64_t i = 0; i < count;) {
                  const std::int64_t begin = i, end = std::min(count, i + place.left());
                  for (; i < end; ++i) {
                    where[i] = place.offset() + (i - begin) * apart + at[i] * stride;
                  }
                  place.advance(end - begin);
                }
              });
  }
};

// What picks by one entry of its indices also reads that entry.
template <class Op>
struct SliceGatherPlan : MovementPlan<Op> {
  static core::Result<SliceGatherPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return SliceGatherPlan{{std::move(op)}};
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    MovementPlan<Op>::reads(call, output, index, out);
    out.push_back({1, this->op.entry(index)});
  }
};

struct Pad : shape_inference::Pad {
  static constexpr int kFirstParameter = 1;

  static core::Result<Pad> make(const Call& call) {
    COMMENSAL_ASSIGN(const shape_inference::Pad parsed, shape_inference::pad_of(call));
    return Pad{parsed};
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = shape_inference::split(to.shape, index);
    for (int d = 0; d < from.shape.rank(); ++d) {
      const std::int64_t dim = from.shape[d];
      std::int64_t& x = at[static_cast<std::size_t>(d)];
      x -= before[static_cast<std::size_t>(d)];
      if (x >= 0 && x < dim) continue;
      if (mode == shape_inference::PadMode::kConstant) return {value_is_input ? 2 : kFill, 0};
      if (mode == shape_inference::PadMode::kEdge) x = std::clamp<std::int64_t>(x, 0, dim - 1);
      if (mode == shape_inference::PadMode::kReflect) x = x < 0 ? -x : 2 * (dim - 1) - x;
      if (mode == shape_inference::PadMode::kWrap) x = (x % dim + dim) % dim;
    }
    return {0, shape_inference::join(from.shape, at)};
  }
  std::uint64_t fill(int) const { return value_bits; }
};

}  // namespace

constinit const Judge kGather = judge_of<SliceGatherPlan<Gather>>();
constinit const Judge kGatherElements = judge_of<SliceGatherPlan<GatherElements>>();
constinit const Judge kPad = movement<Pad>();
constinit const Judge kSlice = movement<Slice>();

}  // namespace commensal::kernels::ref
