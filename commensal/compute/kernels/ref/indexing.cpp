// SPDX-License-Identifier: Apache-2.0
// Movement by places that an input names: OneHot, ReverseSequence.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::AxisView;

// Values [off, on]; on where the index (negative: from the end) is the position along the axis.
struct OneHot {
  static constexpr int kFirstParameter = 1;
  TensorType to;
  AxisView view;
  std::vector<std::int64_t> hot;

  static core::Result<OneHot> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 1));
    const Shape& x = call.in(0).shape();
    if (call.in(1).elements() != 1 || call.in(1).shape().rank() > 1 ||
        call.in(2).shape() != Shape{2}) {
      return fail(ErrorCode::kInvalidArgument, "depth {} must be one number, values {} two",
                  call.in(1).shape().text(), call.in(2).shape().text());
    }
    const std::int64_t depth = visit(Numbers{}, call.in(1).dtype(), [&]<class T>() {
      return convert<std::int64_t>(load(paced<T>(call, 1)[0]));
    });
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank() + 1));
    std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
    dims.insert(dims.begin() + axis, depth);
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    OneHot op;
    op.to = {call.in(2).dtype(), shape};
    op.view = AxisView(shape, axis);
    if (call.unknown.has(0)) return op;
    op.hot.reserve(static_cast<std::size_t>(call.in(0).elements()));
    visit(Numbers{}, call.in(0).dtype(), [&]<class T>() {
      for (const T index : paced<T>(call, 0)) {
        const auto at = convert<std::int64_t>(load(index));
        op.hot.push_back(at < 0 && at >= -depth ? at + depth : at);
      }
    });
    return op;
  }
  std::vector<TensorType> types() const { return {to}; }
  std::int64_t entry(std::int64_t index) const {
    return view.outer(index) * view.inner_size + view.inner(index);
  }
  ElementRef source(int, std::int64_t index) const {
    const bool is_on = hot[static_cast<std::size_t>(entry(index))] == view.along(index);
    return {2, is_on ? 1 : 0};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const auto size = static_cast<std::size_t>(tensor::traits(to.dtype).size);
    const std::uint8_t* const values = call.in(2).bytes().data();
    std::uint64_t off = 0;
    std::memcpy(&off, values, size);
    fill_elements(threads, outputs[0], off);
    std::uint8_t* const y = outputs[0].mutable_bytes().data();
    for (std::size_t i = 0; i < hot.size(); ++i) {
      call.pulse();
      if (hot[i] < 0 || hot[i] >= view.length) continue;
      const auto entry = static_cast<std::int64_t>(i);
      const auto at = view.position(entry / view.inner_size, hot[i], entry % view.inner_size);
      std::memcpy(y + static_cast<std::size_t>(at) * size, values + size, size);
    }
  }
};

struct OneHotPlan : MovementPlan<OneHot> {
  static constexpr bool kHoldsElements = true;  // what is hot

  static core::Result<OneHotPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, OneHot::make(call));
    return OneHotPlan{{std::move(op)}};
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    MovementPlan::reads(call, output, index, out);
    out.push_back({0, op.entry(index)});
  }
};

// The first `length` entries along the time axis reversed, a length for each batch entry.
struct ReverseSequence {
  static constexpr int kFirstParameter = 1;
  TensorType type;
  int time = 0, batch = 1;
  std::vector<std::int64_t> lengths;

  static core::Result<ReverseSequence> make(const Call& call) {
    ReverseSequence op;
    op.type = call.in(0).type();
    const Shape& x = op.type.shape;
    COMMENSAL_ASSIGN(const std::int64_t time, call.attributes->integer("time_axis", 0));
    COMMENSAL_ASSIGN(const std::int64_t batch, call.attributes->integer("batch_axis", 1));
    COMMENSAL_TRY(shape_inference::axes_of({time, batch}, x.rank()));
    op.time = *tensor::normalise_axis(time, x.rank());
    op.batch = *tensor::normalise_axis(batch, x.rank());
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 1));
    if (call.in(1).shape() != Shape{x[op.batch]}) {
      return fail(ErrorCode::kInvalidArgument, "lengths {} do not fit input {}",
                  call.in(1).shape().text(), x.text());
    }
    for (const std::int64_t length : paced<std::int64_t>(call, 1)) {
      if (length < 0 || length > x[op.time]) {
        return fail(ErrorCode::kInvalidArgument, "a length of {} in a dimension of {}", length,
                    x[op.time]);
      }
      op.lengths.push_back(length);
    }
    return op;
  }
  std::vector<TensorType> types() const { return {type}; }
  ElementRef source(int, std::int64_t index) const {
    shape_inference::Dims at = shape_inference::split(type.shape, index);
    std::int64_t& t = at[static_cast<std::size_t>(time)];
    const auto entry = static_cast<std::size_t>(at[static_cast<std::size_t>(batch)]);
    if (t < lengths[entry]) t = lengths[entry] - 1 - t;
    return {0, shape_inference::join(type.shape, at)};
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const Shape& x = type.shape;
    const int behind = std::max(time, batch) + 1;
    const auto dims = x.dims().first(static_cast<std::size_t>(behind));
    const shape_inference::Dims strides = strides_without(x, time);
    const std::int64_t stride = x.elements(time + 1, x.rank());
    copy_runs(threads, x.elements(0, behind), x.elements(behind, x.rank()),
              tensor::traits(type.dtype).size, call.in(0).bytes().data(),
              outputs[0].mutable_bytes().data(),
              [&](std::int64_t first, std::int64_t count, std::int64_t* where) {
                Odometer place(dims, strides, first);
                for (std::int64_t i = 0; i < count; ++i, place.step()) {
                  const std::int64_t length = lengths[static_cast<std::size_t>(place.at(batch))];
                  const std::int64_t t = place.at(time);
                  where[i] = place.offset() + (t < length ? length - 1 - t : t) * stride;
                }
              });
  }
};

}  // namespace

constinit const Judge kOneHot = judge_of<OneHotPlan>();
constinit const Judge kReverseSequence = movement<ReverseSequence>();

}  // namespace commensal::kernels::ref
