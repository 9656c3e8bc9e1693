// SPDX-License-Identifier: Apache-2.0
// Operators that pick elements by position: Slice, Gather, GatherElements, Pad.
#include <algorithm>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using infer::AxisView;
using infer::Dims;

struct Slice {
  static constexpr int kFirstParameter = 1;
  TensorType from, to;
  Dims start{}, step{};

  // Where a slice of a dimension begins and how many elements it has (Python's rules).
  core::Result<std::int64_t> cut(int axis, std::int64_t begin, std::int64_t end, std::int64_t by) {
    const std::int64_t dim = from.shape[axis];
    if (by == 0) return fail(ErrorCode::kInvalidArgument, "a slice's step is 0");
    if (dim == 0) return 0;
    by = std::clamp<std::int64_t>(by, -dim - 1, dim + 1);
    // Nothing is gained beyond one place outside of the dimension.
    begin = std::clamp<std::int64_t>(begin, -dim - 1, dim);
    end = std::clamp<std::int64_t>(end, -dim - 1, dim);
    if (begin < 0) begin += dim;
    if (end < 0) end += dim;
    begin = std::clamp<std::int64_t>(begin, 0, by > 0 ? dim : dim - 1);
    end = by > 0 ? std::max<std::int64_t>(end, 0) : end;
    start[static_cast<std::size_t>(axis)] = begin;
    step[static_cast<std::size_t>(axis)] = by;
    const std::int64_t room = by > 0 ? end - begin : begin - end;
    const std::int64_t stride = by > 0 ? by : -by;
    return room <= 0 ? 0 : (room + stride - 1) / stride;
  }

  static core::Result<Slice> make(const Call& call) {
    Slice op;
    op.from = op.to = call.in(0).type();
    const int rank = op.from.shape.rank();
    op.step.fill(1);
    COMMENSAL_ASSIGN(const auto starts, infer::list_from(call, "starts", 1, 10));
    COMMENSAL_ASSIGN(const auto ends, infer::list_from(call, "ends", 2, 10));
    COMMENSAL_ASSIGN(auto axes, infer::list_from(call, "axes", 3, 10));
    COMMENSAL_ASSIGN(auto steps, infer::list_from(call, "steps", 4, 10));
    for (std::int64_t d = 0; axes.size() < starts.size() && d < rank; ++d) axes.push_back(d);
    if (steps.empty()) steps.assign(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size()) {
      return fail(ErrorCode::kInvalidArgument, "starts, ends, axes and steps differ in length");
    }
    COMMENSAL_TRY(infer::axes_of(axes, rank));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int axis = *tensor::normalise_axis(axes[i], rank);
      COMMENSAL_ASSIGN(const std::int64_t count, op.cut(axis, starts[i], ends[i], steps[i]));
      COMMENSAL_ASSIGN(op.to.shape, infer::with_dim(op.to.shape, axis, count));
    }
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = infer::split(to.shape, index);
    for (std::size_t d = 0; d < static_cast<std::size_t>(to.shape.rank()); ++d) {
      at[d] = start[d] + at[d] * step[d];
    }
    return {0, infer::join(from.shape, at)};
  }
};

// The entries of input 1 as positions along a dimension; negative ones count from its end.
core::Result<std::vector<std::int64_t>> positions_of(const Call& call, std::int64_t dim) {
  COMMENSAL_TRY((infer::check_dtype<Types<std::int32_t, std::int64_t>>(call, 1)));
  std::vector<std::int64_t> made;
  made.reserve(static_cast<std::size_t>(call.in(1).elements()));
  visit(Types<std::int32_t, std::int64_t>{}, call.in(1).dtype(), [&]<class T>() {
    for (const T value : call.in(1).data<T>()) made.push_back(value < 0 ? value + dim : value);
  });
  for (const std::int64_t position : made) {
    if (position < 0 || position >= dim) {
      return fail(ErrorCode::kInvalidArgument, "an index is outside of a dimension of {}", dim);
    }
  }
  return made;
}

struct Gather {
  AxisView from;
  TensorType to;
  std::vector<std::int64_t> positions;

  static core::Result<Gather> make(const Call& call) {
    const Shape &data = call.in(0).shape(), &indices = call.in(1).shape();
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, data.rank()));
    Gather op;
    op.from = AxisView(data, axis);
    COMMENSAL_ASSIGN(op.positions, positions_of(call, data[axis]));
    std::vector<std::int64_t> dims(data.dims().begin(), data.dims().begin() + axis);
    dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
    dims.insert(dims.end(), data.dims().begin() + axis + 1, data.dims().end());
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    op.to = {call.in(0).dtype(), shape};
    return op;
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
    COMMENSAL_TRY(infer::check_rank(call, 1, op.from.shape.rank()));
    COMMENSAL_ASSIGN(op.axis, tensor::normalise_axis(given, op.from.shape.rank()));
    COMMENSAL_ASSIGN(op.positions, positions_of(call, op.from.shape[op.axis]));
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
    Dims at = infer::split(to.shape, index);
    at[static_cast<std::size_t>(axis)] = positions[static_cast<std::size_t>(index)];
    return {0, infer::join(from.shape, at)};
  }
};

// What picks by one entry of its indices also reads that entry.
template <class Op>
struct PickPlan : MovementPlan<Op> {
  static core::Result<PickPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return PickPlan{{std::move(op)}};
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    MovementPlan<Op>::reads(call, output, index, out);
    out.push_back({1, this->op.entry(index)});
  }
};

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

core::Result<PadMode> pad_mode(const Call& call) {
  constexpr std::pair<std::string_view, PadMode> kModes[] = {{"constant", PadMode::kConstant},
                                                             {"reflect", PadMode::kReflect},
                                                             {"edge", PadMode::kEdge},
                                                             {"wrap", PadMode::kWrap}};
  COMMENSAL_ASSIGN(const std::string name, call.attributes->text("mode", "constant"));
  for (const auto& [text, mode] : kModes) {
    if (text == name) return mode;
  }
  return fail(ErrorCode::kInvalidArgument, "attribute 'mode' is '{}'", name);
}

struct Pad {
  static constexpr int kFirstParameter = 1;
  TensorType from, to;
  PadMode mode = PadMode::kConstant;
  Dims before{};
  bool value_is_input = false;
  std::uint64_t value_bits = 0;

  static core::Result<Pad> make(const Call& call) {
    Pad op;
    op.from = op.to = call.in(0).type();
    const int rank = op.from.shape.rank();
    COMMENSAL_ASSIGN(op.mode, pad_mode(call));
    COMMENSAL_ASSIGN(const auto pads,
                     infer::list_from(call, call.opset < 2 ? "paddings" : "pads", 1, 11));
    std::vector<std::int64_t> axes;
    if (call.has(3)) {
      COMMENSAL_ASSIGN(axes, infer::integer_list(call, 3));
    } else {
      for (std::int64_t d = 0; d < rank; ++d) axes.push_back(d);
    }
    COMMENSAL_TRY(infer::axes_of(axes, rank));
    if (pads.size() != 2 * axes.size()) {
      return fail(ErrorCode::kInvalidArgument, "{} pads for {} axes", pads.size(), axes.size());
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int axis = *tensor::normalise_axis(axes[i], rank);
      COMMENSAL_TRY(op.widen(axis, pads[i], pads[i + axes.size()]));
    }
    COMMENSAL_TRY(op.set_value(call));
    return op;
  }
  core::Result<void> widen(int axis, std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kPadMax = std::int64_t{1} << 40;
    const std::int64_t dim = from.shape[axis];
    const bool sane = std::max({begin, end, -begin, -end}) < kPadMax && begin + dim + end >= 0;
    const bool can_reflect = mode != PadMode::kReflect || std::max(begin, end) < dim;
    const bool has_source = mode == PadMode::kConstant || dim > 0;
    if (!sane || !can_reflect || !has_source) {
      return fail(ErrorCode::kInvalidArgument, "pads {} and {} do not fit dimension {} of {}",
                  begin, end, axis, from.shape.text());
    }
    before[static_cast<std::size_t>(axis)] = begin;
    COMMENSAL_ASSIGN(to.shape, infer::with_dim(to.shape, axis, begin + dim + end));
    return {};
  }
  core::Result<void> set_value(const Call& call) {
    if (call.opset >= 11) {
      COMMENSAL_TRY(infer::check_same_dtype(call, 2));
      value_is_input = call.has(2) && call.in(2).elements() == 1;
      return {};
    }
    COMMENSAL_TRY(infer::check_dtype<Everything>(call, 0));
    COMMENSAL_ASSIGN(const float value, call.attributes->real("value", 0));
    value_bits = visit(Everything{}, from.dtype, [&]<class T>() {
      return scalar_of(store<T>(convert<Compute<T>>(value))).bits;
    });
    return {};
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = infer::split(to.shape, index);
    for (int d = 0; d < from.shape.rank(); ++d) {
      const std::int64_t dim = from.shape[d];
      std::int64_t& x = at[static_cast<std::size_t>(d)];
      x -= before[static_cast<std::size_t>(d)];
      if (x >= 0 && x < dim) continue;
      if (mode == PadMode::kConstant) return {value_is_input ? 2 : kFill, 0};
      if (mode == PadMode::kEdge) x = std::clamp<std::int64_t>(x, 0, dim - 1);
      if (mode == PadMode::kReflect) x = x < 0 ? -x : 2 * (dim - 1) - x;
      if (mode == PadMode::kWrap) x = (x % dim + dim) % dim;
    }
    return {0, infer::join(from.shape, at)};
  }
  std::uint64_t fill(int) const { return value_bits; }
};

}  // namespace

Columns gather() { return columns_of<PickPlan<Gather>>(); }
Columns gather_elements() { return columns_of<PickPlan<GatherElements>>(); }
Columns pad() { return movement<Pad>(); }
Columns slice() { return movement<Slice>(); }

}  // namespace commensal::kernels::ref
