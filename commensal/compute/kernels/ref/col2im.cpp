// SPDX-License-Identifier: Apache-2.0
// Col2Im: each element of an image is the sum, in lanes, of what the blocks that cover it say; its
// position is the place within the block, row-major.
#include <commensal/compute/kernels/ref/covering.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::Dims;

struct Col2Im {
  using In = Numbers;
  DType dtype = DType::kUndefined;
  shape_inference::Window window;  // that would cut the image into the blocks
  Shape to;                        // [N, C, image...]

  static core::Result<Col2Im> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 3));
    Col2Im op;
    op.dtype = call.in(0).dtype();
    const Shape& x = call.in(0).shape();
    COMMENSAL_ASSIGN(const auto image, shape_inference::integer_list(call, 1));
    COMMENSAL_ASSIGN(const auto block, shape_inference::integer_list(call, 2));
    COMMENSAL_ASSIGN(const Shape taps, Shape::of(block));
    if (taps.elements() < 1 || x[1] % taps.elements() != 0) {
      return fail(ErrorCode::kInvalidArgument, "{} rows are no whole number of blocks {}", x[1],
                  taps.text());
    }
    std::vector<std::int64_t> dims = {x[0], x[1] / taps.elements()};
    dims.insert(dims.end(), image.begin(), image.end());
    COMMENSAL_ASSIGN(op.to, Shape::of(dims));
    COMMENSAL_ASSIGN(op.window, shape_inference::window_of(call, op.to, block));
    COMMENSAL_TRY(Shape::of({op.window.out.data(), block.size()}));  // bounds the product
    if (op.window.out_elements() != x[2]) {
      return fail(ErrorCode::kInvalidArgument, "{} columns, but the image holds {} blocks", x[2],
                  op.window.out_elements());
    }
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  // Calls f(tap, input index) for every block that covers the element, in the order of the taps.
  template <class F>
  void for_blocks(std::int64_t index, F&& f) const {
    const Dims at = window.split(index % window.in_elements(), window.in);
    const std::int64_t plane = index / window.in_elements();
    Covering(window, window.out, at).for_each([&](std::int64_t tap, std::int64_t block) {
      f(tap, (plane * window.taps() + tap) * window.out_elements() + block);
    });
  }
  template <class T>
  Sum<Compute<T>> sum(const Call& call, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made(steps);
    const auto x = paced<T>(call, 0);
    call.pulse(8);
    for_blocks(index, [&](std::int64_t tap, std::int64_t at) {
      made.add(tap, load(x[static_cast<std::size_t>(at)]));
    });
    return made;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(sum<T>(call, index, kAllSteps).total()));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_blocks(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
  std::int64_t steps(int, std::int64_t index) const {
    std::int64_t count = Sum<float>::kTreeSteps;
    for_blocks(index, [&](auto, auto) { ++count; });
    return count;
  }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made = sum<T>(call, index, steps);
    made.total();
    return scalar_of(store<Compute<T>>(made.last()));
  }
};

}  // namespace

constinit const Judge kCol2im = each<Col2Im>();

}  // namespace commensal::kernels::ref
