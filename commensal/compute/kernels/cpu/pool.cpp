// SPDX-License-Identifier: Apache-2.0
// The pools, all but GlobalLpPool: planes of binary32, what binary32 holds exactly, maxima of
// binary64.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/folds.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/cpu/window_maxima.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>
#include <limits>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::Dims;
using shape_inference::Pool;
using tensor::DType;

bool is_float32(const Call& call) { return call.in(0).dtype() == DType::kFloat32; }
bool is_code(const Call& call) {
  return call.in(0).dtype() == DType::kUint8 || call.in(0).dtype() == DType::kInt8;
}

/// Where the places of a plane's elements are, as PlacedTaps has them.
class Places {
 public:
  std::vector<std::uint32_t> taps;
  std::uint32_t row_step = 0, column_step = 0;

  explicit Places(const Pool& pool) : window_(pool.window) {
    std::int64_t next = 1;
    for (std::size_t i = 0; i < rank_; ++i) {
      const std::size_t d = pool.column_major ? i : rank_ - 1 - i;
      step_[d] = next;
      next *= window_.in[d];
    }
    for (std::int64_t tap = 0; tap < window_.taps(); ++tap) {
      const Dims at = window_.split(tap, window_.kernel);
      std::int64_t place = 0;
      for (std::size_t d = 0; d < rank_; ++d)
        place += (at[d] * window_.dilation[d] - window_.pad_begin[d]) * step_[d];
      taps.push_back(static_cast<std::uint32_t>(place));
    }
    if (rank_ > 1)
      row_step = static_cast<std::uint32_t>(window_.stride[rank_ - 2] * step_[rank_ - 2]);
    column_step = static_cast<std::uint32_t>(window_.stride[rank_ - 1] * step_[rank_ - 1]);
  }
  /// Of the slice whose first output is this one.
  std::uint32_t slice(std::int64_t output) const {
    const Dims at = window_.split(output, window_.out);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < rank_; ++d) place += at[d] * window_.stride[d] * step_[d];
    return static_cast<std::uint32_t>(place);
  }

 private:
  const shape_inference::Window& window_;
  const std::size_t rank_ = static_cast<std::size_t>(window_.rank);
  Dims step_{};
};

/// What becomes of one plane after the other.
class PlanePool {
 public:
  enum class Kind { kMaximum, kAverage, kSum, kNorm };  // kSum, kNorm: of LpPool, p being 1 or 2
  PlanePool(const Pool& pool, Kind kind, const Workspace& ws)
      : pool_(pool),
        kind_(kind),
        threads_(ws.threads),
        kernels_(kernels_for(ws.isa)),
        layout_(pool.window) {
    if (kind == Kind::kAverage) divisors_ = pool.divisors();
  }
  std::int64_t scratch() const { return layout_.plane_floats() + kernels_.lanes; }

  /// A plane of sums; of maxima see run_placed and WindowMaxima.
  void run(const float* x, float* y, float* scratch) const {
    const std::int64_t count = layout_.plane_floats(), outputs = pool_.window.out_elements();
    Pulse pulse(&threads_);
    layout_.fill(pulse, kernels_, x, -0.0f, scratch);
    const auto in_place = [&](Unary f, float* of, std::int64_t many) {
      pieces_of(of, many, [&](float* piece, std::int64_t size) {
        kernels_.unary[static_cast<std::size_t>(f)](piece, piece, size, {});
      });
    };
    // Of LpPool what is absent becomes +0: it changes no sum of what is never below it.
    if (kind_ == Kind::kSum) in_place(Unary::kAbs, scratch, count);
    if (kind_ == Kind::kNorm) {
      const auto times = kernels_.binary[static_cast<std::size_t>(Binary::kMul)];
      pieces_of(scratch, count,
                [&](float* piece, std::int64_t size) { times(piece, 1, piece, 1, piece, size); });
    }
    TapPlane plane = layout_.plane(scratch, y);
    if (kind_ == Kind::kAverage) plane.divisors = divisors_.data();
    fold_taps(pulse, layout_, plane, kernels_.taps.average);
    if (kind_ == Kind::kNorm) in_place(Unary::kSqrt, y, outputs);
  }

  /// Plane `i` of a maximum that knows its places; `keys` has room for a plane of inputs.
  void run_placed(const float* x, float* y, const Places& places, std::int64_t i,
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
  /// Others may run in between.
  template <class F>
  void pieces_of(float* x, std::int64_t count, const F& f) const {
    constexpr std::int64_t kPiece = 1 << 18;
    for (std::int64_t at = 0; at < count; at += kPiece) {
      if (count > kPiece) threads_.yield();
      f(x + at, std::min(kPiece, count - at));
    }
  }

  const Pool& pool_;
  Kind kind_;
  const ThreadPool& threads_;
  const CpuKernels& kernels_;
  TapLayout layout_;
  std::vector<float> divisors_;
};

core::Result<void> pool_planes(const Pool& pool, const Call& call, Tensor& output, Workspace& ws,
                               PlanePool::Kind kind) {
  const PlanePool planes(pool, kind, ws);
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t in = pool.window.in_elements(), out = pool.window.out_elements();
  return run_with_scratch(ws, pool.planes, planes.scratch(), [&](std::int64_t i, float* scratch) {
    planes.run(x + i * in, y + i * out, scratch);
  });
}

core::Result<void> pool_with_places(const Pool& pool, const Call& call, std::span<Tensor> outputs,
                                    Workspace& ws) {
  const PlanePool planes(pool, PlanePool::Kind::kMaximum, ws);
  const Places places(pool);
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
core::Result<void> max_pool_of(const Pool& pool, const Call& call, Tensor& output, Workspace& ws) {
  const WindowMaxima<T> maxima(pool.window, ws.isa);
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
core::Result<void> max_pool_of_codes(const Pool& pool, const Call& call, Tensor& output,
                                     Workspace& ws) {
  const CodeKernels& code_kernels = code_kernels_for(ws.isa);
  const WindowMaxima<float> maxima(pool.window, ws.isa);
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

/// Whether each plane has one output, out of all of it.
bool takes_whole_planes(const Pool& pool) {
  const shape_inference::Window& w = pool.window;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    if (w.kernel[d] != w.in[d] || w.dilation[d] != 1 || w.out[d] != 1) return false;
    if (w.pad_begin[d] != 0 || w.pad_end[d] != 0) return false;
  }
  return true;
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
core::Result<bool> pool_served(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               PlanePool::Kind kind) {
  COMMENSAL_ASSIGN(const Pool pool, shape_inference::pool_of(call));
  if (outputs.size() == 1 && is_float32(call) && takes_whole_planes(pool)) {
    if (kind == PlanePool::Kind::kMaximum) {
      maxima_of_whole_planes(pool, call, outputs[0], ws);
      return true;
    }
    if (kind == PlanePool::Kind::kAverage) {
      average_whole_planes(pool, call, outputs[0], ws);
      return true;
    }
  }
  constexpr std::int64_t kListedMax = 1 << 24;  // divisors
  if (!TapLayout::suits(pool.window) || pool.window.in_elements() == 0) return false;
  if (kind == PlanePool::Kind::kAverage && pool.window.out_elements() > kListedMax) return false;
  if (outputs.size() > 1) {
    const bool counts = pool.window.in_elements() <= std::numeric_limits<std::int32_t>::max();
    if (!is_float32(call) || !counts) return false;
    COMMENSAL_TRY(pool_with_places(pool, call, outputs, ws));
  } else if (kind == PlanePool::Kind::kMaximum && is_float32(call)) {
    COMMENSAL_TRY(max_pool_of<float>(pool, call, outputs[0], ws));
  } else if (is_float32(call)) {
    COMMENSAL_TRY(pool_planes(pool, call, outputs[0], ws, kind));
  } else if (kind == PlanePool::Kind::kMaximum && is_code(call)) {
    COMMENSAL_TRY(max_pool_of_codes(pool, call, outputs[0], ws));
  } else if (kind == PlanePool::Kind::kMaximum && pool.dtype == DType::kFloat64) {
    COMMENSAL_TRY(max_pool_of<double>(pool, call, outputs[0], ws));
  } else {
    return false;
  }
  return true;
}

core::Result<void> pool_any(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                            PlanePool::Kind kind, const Judge& judge) {
  if (outputs[0].elements() == 0) return {};
  return serve(call, outputs, ws, judge,
               [kind](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return pool_served(own, made, space, kind);
               });
}

core::Result<bool> global_average(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const Pool pool, shape_inference::global_pool_of(call));
  if (!is_float32(call)) return false;
  average_whole_planes(pool, call, outputs[0], ws);
  return true;
}

core::Result<bool> global_maximum(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const Pool pool, shape_inference::global_pool_of(call));
  if (!is_float32(call)) return false;
  maxima_of_whole_planes(pool, call, outputs[0], ws);
  return true;
}

}  // namespace

core::Result<void> max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return pool_any(call, outputs, ws, PlanePool::Kind::kMaximum, ref::kMaxPool);
}

core::Result<void> average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return pool_any(call, outputs, ws, PlanePool::Kind::kAverage, ref::kAveragePool);
}

core::Result<void> lp_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  float p = 0;
  if (call.opset < 2) {
    COMMENSAL_ASSIGN(p, call.attributes->real("p", 2));
  } else {
    COMMENSAL_ASSIGN(const std::int64_t whole, call.attributes->integer("p", 2));
    p = static_cast<float>(whole);
  }
  if (p != 1 && p != 2) return ref::kLpPool.best()(call, outputs, ws);
  return pool_any(call, outputs, ws, p == 1 ? PlanePool::Kind::kSum : PlanePool::Kind::kNorm,
                  ref::kLpPool);
}

core::Result<void> global_average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kGlobalAveragePool, global_average);
}

core::Result<void> global_max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kGlobalMaxPool, global_maximum);
}

}  // namespace commensal::kernels::cpu
