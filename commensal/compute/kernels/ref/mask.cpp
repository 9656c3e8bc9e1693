// SPDX-License-Identifier: Apache-2.0
// Operators that keep some elements by place or by a mask: Trilu, Compress, GatherND.
#include <commensal/compute/kernels/few.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

// +0 outside of the triangle.
struct Trilu {
  static constexpr int kFirstParameter = 1;
  TensorType type;
  bool upper = true;
  std::int64_t diagonal = 0;

  static core::Result<Trilu> make(const Call& call) {
    Trilu op;
    op.type = call.in(0).type();
    if (op.type.shape.rank() < 2) {
      return fail(ErrorCode::kInvalidArgument, "input 0 must have rank 2 or more, not {}",
                  op.type.shape.text());
    }
    COMMENSAL_ASSIGN(op.upper, call.attributes->integer("upper", 1));
    if (!call.has(1)) return op;
    COMMENSAL_ASSIGN(const auto k, shape_inference::integer_list(call, 1));
    if (k.size() != 1) return fail(ErrorCode::kInvalidArgument, "input 1 must be one number");
    op.diagonal = k[0];
    return op;
  }
  std::vector<TensorType> types() const { return {type}; }
  ElementRef source(int, std::int64_t index) const {
    const Shape& s = type.shape;
    const std::int64_t column = index % s[s.rank() - 1];
    const std::int64_t row = index / s[s.rank() - 1] % s[s.rank() - 2];
    const bool keeps = upper ? column - row >= diagonal : column - row <= diagonal;
    return {keeps ? 0 : kFill, keeps ? index : 0};
  }
};

struct Compress {
  static constexpr int kFirstParameter = 1;
  TensorType to;
  shape_inference::AxisView from;
  std::int64_t outer = 1;
  std::vector<std::int64_t> kept;

  static core::Result<Compress> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Types<bool>>(call, 1));
    COMMENSAL_TRY(shape_inference::check_rank(call, 1, 1));
    const Shape& x = call.in(0).shape();
    const bool flat = !call.attributes->has("axis");
    const Shape whole = flat ? Shape{x.elements()} : x;
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", 0));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, whole.rank()));
    Compress op;
    op.from = shape_inference::AxisView(whole, axis);
    op.outer = whole.elements(0, axis);
    const auto mask = paced<bool>(call, 1);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) op.kept.push_back(static_cast<std::int64_t>(i));
    }
    if (static_cast<std::int64_t>(mask.size()) > whole[axis]) {
      return fail(ErrorCode::kInvalidArgument, "a mask of {} over a dimension of {}", mask.size(),
                  whole[axis]);
    }
    COMMENSAL_ASSIGN(
        const Shape shape,
        shape_inference::with_dim(whole, axis, static_cast<std::int64_t>(op.kept.size())));
    op.to = {call.in(0).dtype(), shape};
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    shape_inference::AxisView out = from;
    out.length = static_cast<std::int64_t>(kept.size());
    return {0, from.position(out.outer(index), kept[static_cast<std::size_t>(out.along(index))],
                             out.inner(index))};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    copy_along(threads, from, kept, outer, tensor::traits(to.dtype).size, call.in(0).bytes().data(),
               outputs[0].mutable_bytes().data());
  }
};

// The last dimension of the indices names a place in the dimensions of the data that follow the
// batch dimensions.
struct GatherNd {
  static constexpr int kFirstParameter = 1;
  TensorType to;
  std::int64_t slice = 1;            // elements that one tuple of indices picks
  std::vector<std::int64_t> starts;  // where each slice begins

  static core::Result<GatherNd> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 1));
    const Shape &x = call.in(0).shape(), &at = call.in(1).shape();
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("batch_dims", 0));
    const bool sane = at.rank() > 0 && given >= 0 && given < at.rank() && given < x.rank() &&
                      at[at.rank() - 1] >= 1 && at[at.rank() - 1] <= x.rank() - given;
    if (!sane) {
      return fail(ErrorCode::kInvalidArgument,
                  "indices {} do not fit data {} ({} batch dimensions)", at.text(), x.text(),
                  given);
    }
    const int batch = static_cast<int>(given), depth = static_cast<int>(at[at.rank() - 1]);
    for (int d = 0; d < batch; ++d) {
      if (x[d] != at[d]) return fail(ErrorCode::kInvalidArgument, "batch dimension {} differs", d);
    }
    GatherNd op;
    op.slice = x.elements(batch + depth, x.rank());
    const auto picked = at.dims().first(static_cast<std::size_t>(at.rank() - 1));
    const auto rest = x.dims().subspan(static_cast<std::size_t>(batch + depth));
    Few<std::int64_t> dims(std::ssize(picked) + std::ssize(rest));
    std::ranges::copy(rest, std::ranges::copy(picked, dims.data()).out);
    COMMENSAL_ASSIGN(op.to.shape, Shape::of(dims.all()));
    op.to.dtype = call.in(0).dtype();
    if (!call.unknown.has(1)) COMMENSAL_TRY(op.find_starts(call, batch, depth));
    return op;
  }
  core::Result<void> find_starts(const Call& call, int batch, int depth) {
    const Shape &x = call.in(0).shape(), &at = call.in(1).shape();
    const auto indices = paced<std::int64_t>(call, 1);
    const std::int64_t tuples = at.elements(0, at.rank() - 1);
    const std::int64_t per_batch = at.elements(batch, at.rank() - 1);
    starts.reserve(static_cast<std::size_t>(tuples));
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::int64_t place = t / per_batch;
      for (int d = 0; d < depth; ++d) {
        const std::int64_t dim = x[batch + d];
        const std::int64_t index = indices[static_cast<std::size_t>(t * depth + d)];
        if (index < -dim || index >= dim) {
          return fail(ErrorCode::kInvalidArgument, "index {} is outside of a dimension of {}",
                      index, dim);
        }
        place = place * dim + (index < 0 ? index + dim : index);
      }
      starts.push_back(place * slice);
    }
    return {};
  }
  std::vector<TensorType> types() const { return {to}; }
  ElementRef source(int, std::int64_t index) const {
    return {0, starts[static_cast<std::size_t>(index / slice)] + index % slice};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    copy_runs(threads, static_cast<std::int64_t>(starts.size()), slice,
              tensor::traits(to.dtype).size, call.in(0).bytes().data(),
              outputs[0].mutable_bytes().data(),
              [&](std::int64_t first, std::int64_t count, std::int64_t* where) {
                std::copy_n(starts.begin() + first, count, where);
              });
  }
};

}  // namespace

constinit const Judge kCompress = movement<Compress>();
constinit const Judge kGatherNd = movement<GatherNd>();
constinit const Judge kTrilu = movement<Trilu>();

}  // namespace commensal::kernels::ref
