// SPDX-License-Identifier: Apache-2.0
// The pools, all but GlobalLpPool: planes of binary32, what binary32 holds exactly, maxima of
// binary64.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/folds.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/pool_call.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::Pool;
using tensor::DType;
using PoolKind = PoolCall::Kind;

bool is_float32(const Call& call) { return call.in(0).dtype() == DType::kFloat32; }

/// What becomes of one plane after the other. It refers to the call.
class PlanePool {
 public:
  PlanePool(const PoolCall& call, const Workspace& ws)
      : pool_(call.pool),
        kind_(call.kind),
        power_(call.power),
        threads_(ws.threads),
        kernels_(kernels_for(ws.isa)),
        layout_(*call.layout),
        divisors_(call.divisors) {}
  std::int64_t scratch() const { return layout_.plane_floats() + kernels_.lanes; }

  /// A plane of sums; of maxima see run_placed and WindowMaxima.
  void run(const float* x, float* y, float* scratch) const {
    const std::int64_t count = layout_.plane_floats(), outputs = pool_.window.out_elements();
    Pulse pulse(&threads_);
    layout_.fill(pulse, kernels_, x, -0.0f, scratch);
    if (kind_ == PoolKind::kPower) raise(scratch, count);
    TapPlane plane = layout_.plane(scratch, y);
    if (kind_ == PoolKind::kAverage) plane.divisors = divisors_.data();
    fold_taps(pulse, layout_, plane, kernels_.taps.average);
    if (kind_ == PoolKind::kPower) take_root(y, outputs);
  }

  /// Plane `i` of a maximum that knows its places; `keys` has room for a plane of inputs.
  void run_placed(const float* x, float* y, const PoolPlaces& places, std::int64_t i,
                  std::int64_t* indices, float* keys, float* scratch) const {
    const std::int64_t picture = layout_.geometry.out_height * layout_.geometry.out_width;
    Pulse pulse(&threads_);
    const auto bytes = static_cast<std::size_t>(pool_.window.in_elements()) * sizeof(float);
    copy(pulse, reinterpret_cast<std::uint8_t*>(keys), reinterpret_cast<const std::uint8_t*>(x),
         bytes);
    pieces_of(keys, pool_.window.in_elements(), kernels_.taps.keys);
    layout_.fill(pulse, kernels_, keys, kNoKey, scratch);
    for (std::int64_t z = 0; z < layout_.out_slices(); ++z) {
      TapPlane slice = layout_.plane(scratch + layout_.slice(z), y + z * picture);
      PlacedTaps taps;
      taps.positions = places.taps.data();
      taps.row_step = places.row_step, taps.column_step = places.column_step;
      taps.base = i * pool_.window.in_elements();
      const std::uint32_t first = places.slice(z * picture);
      fold_pieces(pulse, slice, [&](const TapPlane& piece, std::int64_t row, std::int64_t column) {
        taps.plane = piece;
        taps.row_start = first + static_cast<std::uint32_t>(row) * taps.row_step +
                         static_cast<std::uint32_t>(column) * taps.column_step;
        taps.places = indices + z * picture + row * slice.width + column;
        kernels_.taps.placed_maximum(taps);
      });
    }
  }

 private:
  /// The terms of LpPool. What is absent becomes +0: it changes no sum of what is never below it.
  void raise(float* x, std::int64_t count) const {
    if (power_ == 2) return zip(Binary::kMul, x, x, 1, count);
    map(Unary::kAbs, x, count);
    if (power_ != 1) zip(Binary::kPow, x, &power_, 0, count);
  }
  void take_root(float* x, std::int64_t count) const {
    const float root = 1 / power_;
    if (power_ == 2) return map(Unary::kSqrt, x, count);
    if (power_ != 1) zip(Binary::kPow, x, &root, 0, count);
  }
  void map(Unary f, float* x, std::int64_t count) const {
    const UnaryFn fn = kernels_.unary[static_cast<std::size_t>(f)];
    pieces_of(x, count, [&](float* piece, std::int64_t size) { fn(piece, piece, size, {}); });
  }
  /// x = f(x, b), where b is x or a number.
  void zip(Binary f, float* x, const float* b, int b_step, std::int64_t count) const {
    const BinaryFn fn = kernels_.binary[static_cast<std::size_t>(f)];
    pieces_of(x, count, [&](float* piece, std::int64_t size) {
      fn(piece, 1, b_step == 0 ? b : piece, b_step, piece, size);
    });
  }

  /// Others may run in between.
  template <class F>
  void pieces_of(float* x, std::int64_t count, const F& f) const {
    constexpr std::int64_t kPiece = 1 << 16;
    for (std::int64_t at = 0; at < count; at += kPiece) {
      if (count > kPiece) threads_.yield();
      f(x + at, std::min(kPiece, count - at));
    }
  }

  const Pool& pool_;
  PoolKind kind_;
  float power_;
  const ThreadPool& threads_;
  const CpuKernels& kernels_;
  const TapLayout& layout_;
  const std::vector<float>& divisors_;
};

core::Result<void> pool_planes(const PoolCall& made, const Call& call, Tensor& output,
                               Workspace& ws) {
  const PlanePool planes(made, ws);
  const Pool& pool = made.pool;
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  return run_with_scratch(ws, pool.planes, planes.scratch(), [&](std::int64_t i, float* scratch) {
    planes.run(x + i * in, y + i * out, scratch);
  });
}

core::Result<void> pool_with_places(const PoolCall& made, const Call& call,
                                    std::span<Tensor> outputs, Workspace& ws) {
  const PlanePool planes(made, ws);
  const Pool& pool = made.pool;
  const PoolPlaces& places = *made.places;
  const float* x = call.in(0).data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  std::int64_t* indices = outputs[1].mutable_data<std::int64_t>().data();
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  return run_with_scratch(ws, pool.planes, planes.scratch() + in,
                          [&](std::int64_t i, float* scratch) {
                            planes.run_placed(x + i * in, y + i * out, places, i, indices + i * out,
                                              scratch + planes.scratch(), scratch);
                          });
}

template <class T>
core::Result<void> max_pool_of(const Pool& pool, const WindowMaxima<T>& maxima, const Call& call,
                               Tensor& output, Workspace& ws) {
  const T* x = call.in(0).data<T>().data();
  T* y = output.mutable_data<T>().data();
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  constexpr std::int64_t kFloats = sizeof(T) / sizeof(float);
  return run_with_scratch(ws, pool.planes, kFloats * maxima.scratch(),
                          [&](std::int64_t i, float* scratch) {
                            Pulse pulse(&ws.threads);
                            auto* const keys = reinterpret_cast<OrderKey<T>*>(scratch);
                            maxima.run(pulse, x + i * in, y + i * out, keys);
                          });
}

/// As numbers, which 8-bit codes are exactly; the maximum of nothing is the lowest code.
core::Result<void> max_pool_of_codes(const Pool& pool, const WindowMaxima<float>& maxima,
                                     const Call& call, Tensor& output, Workspace& ws) {
  const CodeKernels& code_kernels = code_kernels_for(ws.isa);
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  const float one = 1;
  const std::int32_t none = 0;
  const auto row = [&](std::int64_t count) {
    return LinearRow{.count = count, .scales = &one, .zeros = &none, .codes = call.in(0).dtype()};
  };
  return run_with_scratch(
      ws, pool.planes, in + out + maxima.scratch(), [&](std::int64_t i, float* scratch) {
        Pulse pulse(&ws.threads);
        float* const from = scratch + maxima.scratch();
        float* const to = from + in;
        code_kernels.dequantise(row(in), call.in(0).bytes().data() + i * in, from);
        maxima.run(pulse, from, to, reinterpret_cast<std::int32_t*>(scratch));
        code_kernels.quantise(row(out), to, output.mutable_bytes().data() + i * out);
      });
}

/// Calls task(plane) for all planes, some at a time.
template <class Task>
void for_planes(const Pool& pool, Workspace& ws, const Task& task) {
  constexpr std::int64_t kPlanes = 16;
  ws.threads.run(ceil_div(pool.planes, kPlanes), [&](std::int64_t i) {
    const std::int64_t end = std::min(pool.planes, (i + 1) * kPlanes);
    for (std::int64_t plane = i * kPlanes; plane < end; ++plane) task(plane);
  });
}

void average_whole_planes(const Pool& pool, const Call& call, Tensor& output, Workspace& ws) {
  const FoldKernel& fold = fold_kernels_for(ws.isa).of(Fold::kSum);
  const auto sum_of = kernels_for(ws.isa).sum;
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t plane = pool.window.in_elements();
  constexpr std::int64_t kPiece = 1 << 20;
  const auto sum_in_pieces = [&](const float* from) {
    std::array<float, FoldKernel::kLanes> lanes;
    for (std::int64_t at = 0; at < plane; at += kPiece) {
      if (at > 0) ws.threads.yield();
      fold.row(from + at, std::min(kPiece, plane - at), nullptr, at == 0, lanes.data());
    }
    return fold.total(lanes.data());
  };
  for_planes(pool, ws, [&](std::int64_t i) {
    const float* const from = x + i * plane;
    const float sum = plane <= kPiece ? sum_of(from, plane) : sum_in_pieces(from);
    const float mean = sum / static_cast<float>(plane);
    y[i] = mean != mean ? std::numeric_limits<float>::quiet_NaN() : mean;
  });
}

void maxima_of_whole_planes(const Pool& pool, const Call& call, Tensor& output, Workspace& ws) {
  const auto largest = kernels_for(ws.isa).taps.largest;
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t plane = pool.window.in_elements();
  constexpr std::int64_t kPiece = 1 << 20;
  for_planes(pool, ws, [&](std::int64_t i) {
    y[i] = largest(x + i * plane, std::min(plane, kPiece));
    for (std::int64_t at = kPiece; at < plane; at += kPiece) {
      ws.threads.yield();
      const std::array both = {y[i], largest(x + i * plane + at, std::min(kPiece, plane - at))};
      y[i] = largest(both.data(), 2);
    }
  });
}

/// Where the layout suits; of maxima also of codes and doubles.
core::Result<bool> pool_served(const PoolCall& made, const Call& call, std::span<Tensor> outputs,
                               Workspace& ws) {
  const Pool& pool = made.pool;
  if (made.is_whole && is_float32(call)) {
    if (made.kind == PoolKind::kMaximum) {
      maxima_of_whole_planes(pool, call, outputs[0], ws);
    } else {
      average_whole_planes(pool, call, outputs[0], ws);
    }
  } else if (made.places.has_value() && pool.dtype == DType::kFloat64) {
    COMMENSAL_TRY(max_pool_doubles_with_places(made, call, outputs, ws));
  } else if (made.places.has_value()) {
    COMMENSAL_TRY(pool_with_places(made, call, outputs, ws));
  } else if (made.maxima.has_value() && is_float32(call)) {
    COMMENSAL_TRY(max_pool_of(pool, *made.maxima, call, outputs[0], ws));
  } else if (made.maxima.has_value()) {
    COMMENSAL_TRY(max_pool_of_codes(pool, *made.maxima, call, outputs[0], ws));
  } else if (made.maxima_of_doubles.has_value()) {
    COMMENSAL_TRY(max_pool_of(pool, *made.maxima_of_doubles, call, outputs[0], ws));
  } else if (made.layout.has_value()) {
    COMMENSAL_TRY(pool_planes(made, call, outputs[0], ws));
  } else {
    return false;
  }
  return true;
}

core::Result<void> pool_any(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                            PoolKind kind, const Judge& judge) {
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] {
    return PoolCall::of(call, kind, outputs.size() > 1, ws.isa);
  }));
  return serve(call, outputs, ws, judge,
               [&made](const Call& own, std::span<Tensor> to, Workspace& space) {
                 return pool_served(*made, own, to, space);
               });
}

/// `whole`: average_whole_planes or maxima_of_whole_planes.
template <class Whole>
core::Result<void> global_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               const Judge& judge, const Whole& whole) {
  COMMENSAL_ASSIGN(const auto pool,
                   call.memo.of([&] { return shape_inference::global_pool_of(call); }));
  return serve(call, outputs, ws, judge,
               [&](const Call& own, std::span<Tensor> to, Workspace& space) -> core::Result<bool> {
                 if (!is_float32(own)) return false;
                 whole(*pool, own, to[0], space);
                 return true;
               });
}

}  // namespace

core::Result<void> max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return pool_any(call, outputs, ws, PoolKind::kMaximum, ref::kMaxPool);
}

core::Result<void> average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return pool_any(call, outputs, ws, PoolKind::kAverage, ref::kAveragePool);
}

core::Result<void> lp_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return pool_any(call, outputs, ws, PoolKind::kPower, ref::kLpPool);
}

core::Result<void> global_average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return global_pool(call, outputs, ws, ref::kGlobalAveragePool, average_whole_planes);
}

core::Result<void> global_max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return global_pool(call, outputs, ws, ref::kGlobalMaxPool, maxima_of_whole_planes);
}

}  // namespace commensal::kernels::cpu
