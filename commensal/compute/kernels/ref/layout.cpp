// SPDX-License-Identifier: Apache-2.0
// Operators that put elements elsewhere: Transpose, Concat, Split, Expand, Tile, DepthToSpace,
// SpaceToDepth.
#include <algorithm>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <commensal/compute/kernels/shape_inference/slice_gather.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::AxisView;
using shape_inference::Dims;

std::size_t at_of(int axis) { return static_cast<std::size_t>(axis); }

struct Transpose {
  TensorType from, to;
  std::vector<int> order;  // output dimension d is input dimension order[d]

  static core::Result<Transpose> make(const Call& call) {
    Transpose op;
    op.from = call.in(0).type();
    const int rank = op.from.shape.rank();
    COMMENSAL_ASSIGN(auto given, call.attributes->integers("perm"));
    if (given.empty()) {
      for (int d = rank; d-- > 0;) given.push_back(d);
    }
    COMMENSAL_ASSIGN(const auto sorted, shape_inference::axes_of(given, rank));
    if (static_cast<int>(sorted.size()) != rank) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'perm' must order {} dimensions", rank);
    }
    std::vector<std::int64_t> dims;
    for (const std::int64_t axis : given) {
      op.order.push_back(*tensor::normalise_axis(axis, rank));
      dims.push_back(op.from.shape[op.order.back()]);
    }
    op.to = {op.from.dtype, *Shape::of(dims)};
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    const Dims at = shape_inference::split(to.shape, index);
    Dims there{};
    for (std::size_t d = 0; d < order.size(); ++d) there[at_of(order[d])] = at[d];
    return {0, shape_inference::join(from.shape, there)};
  }
};

struct Concat {
  TensorType to;
  AxisView out;
  std::vector<AxisView> parts;
  std::vector<std::int64_t> ends;  // of the parts, along the axis

  static core::Result<Concat> make(const Call& call) {
    const Shape& first = call.in(0).shape();
    if (call.opset >= 4 && !call.attributes->has("axis")) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'axis' is missing");
    }
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, first.rank()));
    Concat op;
    std::int64_t length = 0;
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
      const Shape& shape = call.in(i).shape();
      const bool fits =
          shape.rank() == first.rank() &&
          *shape_inference::with_dim(shape, axis, 1) == *shape_inference::with_dim(first, axis, 1);
      if (!fits) {
        return fail(ErrorCode::kInvalidArgument, "{} and {} cannot be joined along axis {}",
                    first.text(), shape.text(), axis);
      }
      op.parts.emplace_back(shape, axis);
      op.ends.push_back(length += shape[axis]);
    }
    COMMENSAL_ASSIGN(const Shape joined, shape_inference::with_dim(first, axis, length));
    op.to = {call.in(0).dtype(), joined};
    op.out = AxisView(joined, axis);
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    const std::int64_t along = out.along(index);
    const auto part = static_cast<int>(std::ranges::upper_bound(ends, along) - ends.begin());
    const std::int64_t begin = part == 0 ? 0 : ends[at_of(part - 1)];
    return {part, parts[at_of(part)].position(out.outer(index), along - begin, out.inner(index))};
  }
};

struct Split : shape_inference::Split {
  static constexpr int kFirstParameter = 1;

  static core::Result<Split> make(const Call& call) {
    COMMENSAL_ASSIGN(shape_inference::Split parsed, shape_inference::split_of(call));
    return Split{std::move(parsed)};
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made;
    for (const std::int64_t length : lengths) {
      made.push_back({from.dtype, *shape_inference::with_dim(from.shape, axis, length)});
    }
    return made;
  }
  ElementRef source(int output, std::int64_t index) const {
    const AxisView whole(from.shape, axis);
    AxisView part = whole;
    part.length = lengths[at_of(output)];
    return {0, whole.position(part.outer(index), starts[at_of(output)] + part.along(index),
                              part.inner(index))};
  }
};

struct Expand {
  static constexpr int kFirstParameter = 1;
  TensorType from, to;

  static core::Result<Expand> make(const Call& call) {
    Expand op;
    op.from = call.in(0).type();
    COMMENSAL_ASSIGN(const auto dims, shape_inference::integer_list(call, 1));
    COMMENSAL_ASSIGN(const Shape wanted, Shape::of(dims));
    COMMENSAL_ASSIGN(const Shape both, tensor::broadcast(op.from.shape, wanted));
    op.to = {op.from.dtype, both};
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    const Dims at = shape_inference::split(to.shape, index);
    const int shift = to.shape.rank() - from.shape.rank();
    Dims there{};
    for (int d = 0; d < from.shape.rank(); ++d) {
      there[at_of(d)] = from.shape[d] == 1 ? 0 : at[at_of(d + shift)];
    }
    return {0, shape_inference::join(from.shape, there)};
  }
};

struct Tile {
  static constexpr int kFirstParameter = 1;
  TensorType from, to;

  // Before opset 6: how often (input 1) along which axis (input 2), as floats.
  static core::Result<std::vector<std::int64_t>> repeats(const Call& call) {
    if (call.opset >= 6) return shape_inference::integer_list(call, 1);
    std::int64_t given[2] = {0, 0};
    for (int i = 1; i <= 2; ++i) {
      COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, i));
      if (call.in(i).elements() != 1) {
        return fail(ErrorCode::kInvalidArgument, "input {} must be one number, not {}", i,
                    call.in(i).shape().text());
      }
      given[i - 1] = visit(Floats{}, call.in(i).dtype(), [&]<class T>() {
        return convert<std::int64_t>(load(paced<T>(call, i)[0]));
      });
    }
    const int rank = call.in(0).shape().rank();
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given[1], rank));
    std::vector<std::int64_t> made(static_cast<std::size_t>(rank), 1);
    made[static_cast<std::size_t>(axis)] = given[0];
    return made;
  }

  static core::Result<Tile> make(const Call& call) {
    Tile op;
    op.from = call.in(0).type();
    COMMENSAL_ASSIGN(auto dims, repeats(call));
    if (static_cast<int>(dims.size()) != op.from.shape.rank()) {
      return fail(ErrorCode::kInvalidArgument, "{} repeats for {}", dims.size(),
                  op.from.shape.text());
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t dim = op.from.shape[static_cast<int>(d)];
      if (dims[d] < 0 || dims[d] > limits::kTensorElementsMax / std::max<std::int64_t>(dim, 1)) {
        return fail(ErrorCode::kInvalidArgument, "repeats {} is {}", d, dims[d]);
      }
      dims[d] *= dim;
    }
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    op.to = {op.from.dtype, shape};
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    Dims at = shape_inference::split(to.shape, index);
    for (int d = 0; d < from.shape.rank(); ++d) at[at_of(d)] %= from.shape[d];
    return {0, shape_inference::join(from.shape, at)};
  }
};

// [N, C, H, W] in blocks of b: DepthToSpace takes channels apart, SpaceToDepth puts them together.
template <bool kToSpace>
struct Blocks {
  TensorType from, to;
  std::int64_t block = 1;
  bool column_row_depth = false;  // mode CRD

  static core::Result<Blocks> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 4));
    Blocks op;
    op.from = op.to = call.in(0).type();
    COMMENSAL_ASSIGN(op.block, call.attributes->integer("blocksize", 0));
    COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("mode", "DCR"));
    op.column_row_depth = mode == "CRD";
    const Shape& s = op.from.shape;
    const std::int64_t b = op.block;
    const bool fits =
        b > 0 && b < (1 << 20) &&
        (kToSpace ? s[1] % (b * b) == 0
                  : s[2] % b == 0 && s[3] % b == 0 && s[1] <= limits::kTensorElementsMax / (b * b));
    if (!fits || (mode != "DCR" && mode != "CRD")) {
      return fail(ErrorCode::kInvalidArgument, "blocks of {} ({}) do not fit {}", b, mode,
                  s.text());
    }
    const auto dims = kToSpace ? std::array{s[0], s[1] / (b * b), s[2] * b, s[3] * b}
                               : std::array{s[0], s[1] * b * b, s[2] / b, s[3] / b};
    COMMENSAL_ASSIGN(op.to.shape, Shape::of(dims));
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    const Dims at = shape_inference::split(to.shape, index);
    Dims there = at;
    if constexpr (kToSpace) {
      const std::int64_t place = at[2] % block * block + at[3] % block;
      there[1] = column_row_depth ? at[1] * block * block + place : place * to.shape[1] + at[1];
      there[2] = at[2] / block;
      there[3] = at[3] / block;
    } else {
      const std::int64_t place = at[1] / from.shape[1];
      there[1] = at[1] % from.shape[1];
      there[2] = at[2] * block + place / block;
      there[3] = at[3] * block + place % block;
    }
    return {0, shape_inference::join(from.shape, there)};
  }
};

}  // namespace

constinit const Judge kConcat = movement<Concat>();
constinit const Judge kDepthToSpace = movement<Blocks<true>>();
constinit const Judge kExpand = movement<Expand>();
constinit const Judge kSpaceToDepth = movement<Blocks<false>>();
constinit const Judge kSplit = movement<Split>();
constinit const Judge kTile = movement<Tile>();
constinit const Judge kTranspose = movement<Transpose>();

}  // namespace commensal::kernels::ref
