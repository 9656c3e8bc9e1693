// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using ref::convert;
using tensor::Shape;

namespace {

// Where a slice of a dimension begins and how many elements it has (Python's rules).
core::Result<std::int64_t> cut(Slice& op, int axis, std::int64_t begin, std::int64_t end,
                               std::int64_t by) {
  const std::int64_t dim = op.from.shape[axis];
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
  op.start[static_cast<std::size_t>(axis)] = begin;
  op.step[static_cast<std::size_t>(axis)] = by;
  const std::int64_t room = by > 0 ? end - begin : begin - end;
  const std::int64_t stride = by > 0 ? by : -by;
  return room <= 0 ? 0 : (room + stride - 1) / stride;
}

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

core::Result<void> widen(Pad& op, int axis, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kPadMax = std::int64_t{1} << 40;
  const std::int64_t dim = op.from.shape[axis];
  const auto is_small = [](std::int64_t pad) { return pad > -kPadMax && pad < kPadMax; };
  const bool sane = is_small(begin) && is_small(end) && begin + dim + end >= 0;
  const bool can_reflect = op.mode != PadMode::kReflect || std::max(begin, end) < dim;
  const bool has_source = op.mode == PadMode::kConstant || dim > 0;
  if (!sane || !can_reflect || !has_source) {
    return fail(ErrorCode::kInvalidArgument, "pads {} and {} do not fit dimension {} of {}", begin,
                end, axis, op.from.shape.text());
  }
  op.before[static_cast<std::size_t>(axis)] = begin;
  COMMENSAL_ASSIGN(op.to.shape, with_dim(op.to.shape, axis, begin + dim + end));
  return {};
}

core::Result<void> set_pad_value(Pad& op, const Call& call) {
  if (call.opset >= 11) {
    COMMENSAL_TRY(check_same_dtype(call, 2));
    op.value_is_input = call.has(2) && call.in(2).elements() == 1;
    return {};
  }
  COMMENSAL_TRY(check_dtype<ref::Everything>(call, 0));
  COMMENSAL_ASSIGN(const float value, call.attributes->real("value", 0));
  op.value_bits = visit(ref::Everything{}, op.from.dtype, [&]<class T>() {
    return ref::scalar_of(ref::store<T>(convert<ref::Compute<T>>(value))).bits;
  });
  return {};
}

}  // namespace

core::Result<Slice> slice_of(const Call& call) {
  Slice op;
  op.from = op.to = call.in(0).type();
  const int rank = op.from.shape.rank();
  op.step.fill(1);
  COMMENSAL_ASSIGN(const auto starts, list_from(call, "starts", 1, 10));
  COMMENSAL_ASSIGN(const auto ends, list_from(call, "ends", 2, 10));
  COMMENSAL_ASSIGN(auto axes, list_from(call, "axes", 3, 10));
  COMMENSAL_ASSIGN(auto steps, list_from(call, "steps", 4, 10));
  for (std::int64_t d = 0; axes.size() < starts.size() && d < rank; ++d) axes.push_back(d);
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return fail(ErrorCode::kInvalidArgument, "starts, ends, axes and steps differ in length");
  }
  COMMENSAL_TRY(axes_of(axes, rank));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis = *tensor::normalise_axis(axes[i], rank);
    COMMENSAL_ASSIGN(const std::int64_t count, cut(op, axis, starts[i], ends[i], steps[i]));
    COMMENSAL_ASSIGN(op.to.shape, with_dim(op.to.shape, axis, count));
  }
  return op;
}

core::Result<std::vector<std::int64_t>> positions_of(const Call& call, std::int64_t dim) {
  COMMENSAL_TRY((check_dtype<ref::Types<std::int32_t, std::int64_t>>(call, 1)));
  std::vector<std::int64_t> made;
  if (call.unknown.has(1)) return made;
  bool is_inside = true;
  made.resize(static_cast<std::size_t>(call.in(1).elements()));
  visit(ref::Types<std::int32_t, std::int64_t>{}, call.in(1).dtype(), [&]<class T>() {
    constexpr std::size_t kPiece = 1 << 12;
    const auto values = call.in(1).data<T>();
    for (std::size_t first = 0; first < values.size(); first += kPiece) {
      const std::size_t end = std::min(values.size(), first + kPiece);
      call.pulse(end - first);
      for (std::size_t i = first; i < end; ++i) {
        const std::int64_t value = values[i], position = value < 0 ? value + dim : value;
        is_inside &= static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(dim);
        made[i] = position;
      }
    }
  });
  if (is_inside) return made;
  return fail(ErrorCode::kInvalidArgument, "an index is outside of a dimension of {}", dim);
}

core::Result<Gather> gather_of(const Call& call) {
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

core::Result<Pad> pad_of(const Call& call) {
  Pad op;
  op.from = op.to = call.in(0).type();
  const int rank = op.from.shape.rank();
  COMMENSAL_ASSIGN(op.mode, pad_mode(call));
  COMMENSAL_ASSIGN(const auto pads, list_from(call, call.opset < 2 ? "paddings" : "pads", 1, 11));
  std::vector<std::int64_t> axes;
  if (call.has(3)) {
    COMMENSAL_ASSIGN(axes, integer_list(call, 3));
  } else {
    for (std::int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  COMMENSAL_TRY(axes_of(axes, rank));
  if (pads.size() != 2 * axes.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} pads for {} axes", pads.size(), axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = *tensor::normalise_axis(axes[i], rank);
    COMMENSAL_TRY(widen(op, axis, pads[i], pads[i + axes.size()]));
  }
  COMMENSAL_TRY(set_pad_value(op, call));
  return op;
}

core::Result<Split> split_of(const Call& call) {
  Split op;
  op.from = call.in(0).type();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
  COMMENSAL_ASSIGN(op.axis, tensor::normalise_axis(given, op.from.shape.rank()));
  // Opset 1 knows both the attribute and the input.
  COMMENSAL_ASSIGN(op.lengths, list_from(call, "split", 1, call.has(1) ? 1 : 13));
  const std::int64_t whole = op.from.shape[op.axis], count = call.output_count;
  COMMENSAL_ASSIGN(const std::int64_t stated, call.attributes->integer("num_outputs", count));
  if (stated != count) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'num_outputs' is {}, expected {}", stated,
                count);
  }
  if (op.lengths.empty()) {
    const std::int64_t chunk = (whole + count - 1) / count;
    if (call.opset < 18 && chunk * count != whole) {
      return fail(ErrorCode::kInvalidArgument, "{} does not split into {} equal parts", whole,
                  count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      op.lengths.push_back(std::clamp<std::int64_t>(whole - i * chunk, 0, chunk));
    }
  }
  std::int64_t start = 0;
  bool fits = static_cast<std::int64_t>(op.lengths.size()) == count;
  for (const std::int64_t length : op.lengths) {
    op.starts.push_back(start);
    fits = fits && length >= 0 && length <= whole - start;
    start += fits ? length : 0;
  }
  if (!fits || start != whole) {
    return fail(ErrorCode::kInvalidArgument, "the parts of the split do not make up {} in {}",
                whole, count);
  }
  return op;
}

}  // namespace commensal::kernels::shape_inference
