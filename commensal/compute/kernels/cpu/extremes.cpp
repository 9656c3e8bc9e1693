// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/extremes.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/extremes-inl.hpp>
#include <commensal/compute/kernels/cpu/extremes.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <class T, bool kMost>
HWY_INLINE VectorOf<T> extreme_of(VectorOf<T> a, VectorOf<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    using O = Order<T, kMost>;
    return O::value(O::better(O::key(a), O::key(b)));
  } else {
    return kMost ? hn::Max(a, b) : hn::Min(a, b);
  }
}

template <class T, bool kMost>
void extremes(const void* from_a, int a_step, const void* from_b, int b_step, void* to,
              std::int64_t count) {
  if (count <= 0) return;
  const LanesOf<T> d;
  const T *const a = static_cast<const T*>(from_a), *const b = static_cast<const T*>(from_b);
  T* const y = static_cast<T*>(to);
  const auto same_a = hn::Set(d, *a), same_b = hn::Set(d, *b);
  std::int64_t i = 0;
  for (; i + kLanesOf<T> <= count; i += kLanesOf<T>) {
    const auto left = a_step == 0 ? same_a : hn::LoadU(d, a + i);
    const auto right = b_step == 0 ? same_b : hn::LoadU(d, b + i);
    hn::StoreU(extreme_of<T, kMost>(left, right), d, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    const auto left = a_step == 0 ? same_a : load_first(rest, a + i);
    const auto right = b_step == 0 ? same_b : load_first(rest, b + i);
    store_first(rest, extreme_of<T, kMost>(left, right), y + i);
  }
}

template <bool kMost>
ExtremeFn extremes_for(tensor::DType dtype) {
  using tensor::DType;
  switch (dtype) {
    case DType::kFloat64:
      return extremes<double, kMost>;
    case DType::kInt8:
      return extremes<std::int8_t, kMost>;
    case DType::kInt16:
      return extremes<std::int16_t, kMost>;
    case DType::kInt32:
      return extremes<std::int32_t, kMost>;
    case DType::kInt64:
      return extremes<std::int64_t, kMost>;
    case DType::kUint8:
      return extremes<std::uint8_t, kMost>;
    case DType::kUint16:
      return extremes<std::uint16_t, kMost>;
    case DType::kUint32:
      return extremes<std::uint32_t, kMost>;
    case DType::kUint64:
      return extremes<std::uint64_t, kMost>;
    default:
      return nullptr;
  }
}

HWY_INLINE auto key_at(const float* x) { return Order<float, true>::key(hn::LoadU(kFloats, x)); }
HWY_INLINE auto key_at(const double* x) {
  return Order<double, true>::key(hn::LoadU(LanesOf<double>(), x));
}
HWY_INLINE auto key_at(const std::int32_t* keys) {
  return hn::LoadU(Order<float, true>::Integers(), keys);
}
HWY_INLINE auto key_at(const std::int64_t* keys) {
  return hn::LoadU(Order<double, true>::Integers(), keys);
}
template <class T>
HWY_INLINE auto first_keys(int count, const T* x) {
  if constexpr (std::is_floating_point_v<T>) {
    return Order<T, true>::key(load_first(count, x));
  } else {
    return key_at(x);
  }
}

template <class T>
void keys_of(const T* x, OrderKey<T>* keys, std::int64_t count) {
  const typename Order<T, true>::Integers d;
  std::int64_t i = 0;
  for (; i + kLanesOf<T> <= count; i += kLanesOf<T>) hn::StoreU(key_at(x + i), d, keys + i);
  if (i < count) hn::StoreU(first_keys(static_cast<int>(count - i), x + i), d, keys + i);
}

/// The largest of each column of a line, over its rows.
template <class T, class From>
HWY_INLINE void largest_of_rows(const WindowLines<T>& w, const From* x, std::int64_t line) {
  using Largest = Order<T, true>;
  const typename Largest::Integers d;
  constexpr std::int64_t kOne = kLanesOf<T>, kBoth = 2 * kOne;
  const std::int64_t *const begin = w.rows + w.ends[line], *const end = w.rows + w.ends[line + 1];
  OrderKey<T>* const keys = w.keys + w.before;
  std::int64_t i = 0;
  for (; i + kBoth <= w.width; i += kBoth) {
    auto left = Largest::start(), right = left;
    for (const std::int64_t* row = begin; row < end; ++row) {
      const From* const from = x + *row * w.row_step + i;
      left = Largest::better(left, key_at(from));
      right = Largest::better(right, key_at(from + kOne));
    }
    hn::StoreU(left, d, keys + i);
    hn::StoreU(right, d, keys + i + kOne);
  }
  for (; i < w.width; i += kOne) {
    const auto rest = static_cast<int>(std::min(w.width - i, kOne));
    auto best = Largest::start();
    for (const std::int64_t* row = begin; row < end; ++row) {
      best = Largest::better(best, first_keys(rest, x + *row * w.row_step + i));
    }
    const auto here = hn::FirstN(d, static_cast<std::size_t>(rest));
    hn::StoreU(hn::IfThenElse(here, best, Largest::start()), d, keys + i);
  }
}

/// The largest of the windows that begin at keys[l * kStride], lane l.
template <class T, int kStride>
HWY_INLINE auto windows(const WindowLines<T>& w, const OrderKey<T>* keys) {
  const typename Order<T, true>::Integers d;
  if constexpr (kStride == 1) {
    auto best = key_at(keys);
    for (std::int64_t t = 1; t < w.taps; ++t) best = hn::Max(best, key_at(keys + t * w.dilation));
    return best;
  } else {
    constexpr int kHalf = kStride / 2;
    const auto low = windows<T, kHalf>(w, keys);
    const auto high = windows<T, kHalf>(w, keys + kHalf * kLanesOf<T>);
    return hn::ConcatEven(d, high, low);
  }
}
/// The same for any stride, of `count` lanes.
template <class T>
HWY_INLINE auto windows_apart(const WindowLines<T>& w, const OrderKey<T>* keys, int count) {
  const typename Order<T, true>::Integers d;
  HWY_ALIGN OrderKey<T> places[kLanesOf<T>];
  for (int l = 0; l < kLanesOf<T>; ++l) {
    places[l] = static_cast<OrderKey<T>>(std::min(l, count - 1) * w.stride);
  }
  const auto where = hn::Load(d, places);
  auto best = Order<T, true>::start();
  for (std::int64_t t = 0; t < w.taps; ++t) {
    best = hn::Max(best, hn::GatherIndex(d, keys + t * w.dilation, where));
  }
  return best;
}

template <class T, int kStride>
HWY_INLINE void largest_of_columns(const WindowLines<T>& w, T* y) {
  const auto put = [&](std::int64_t i, int count) HWY_ATTR {
    const OrderKey<T>* const keys = w.keys + i * w.stride;
    if constexpr (kStride == 0) {
      store_first(count, Order<T, true>::value(windows_apart(w, keys, count)), y + i);
    } else {
      store_first(count, Order<T, true>::value(windows<T, kStride>(w, keys)), y + i);
    }
  };
  constexpr int kOne = kLanesOf<T>;
  std::int64_t i = 0;
  for (; i + kOne <= w.columns; i += kOne) put(i, kOne);
  if (i == w.columns) return;
  if (w.columns >= kOne) return put(w.columns - kOne, kOne);  // some are made twice
  put(i, static_cast<int>(w.columns - i));
}

/// Calls f with the stride as a constant: 0 is any other.
template <class T, class F>
HWY_INLINE void with_stride(const WindowLines<T>& w, const F& f) {
  if (w.stride == 1) return f(std::integral_constant<int, 1>());
  if (w.stride == 2) return f(std::integral_constant<int, 2>());
  if (w.stride == 4) return f(std::integral_constant<int, 4>());
  f(std::integral_constant<int, 0>());
}
template <class T, class From, int kStride>
void maxima_of_lines(const WindowLines<T>& given, const From* x) {
  const WindowLines<T> w = given;  // the copy is known not to change
  const auto start = Order<T, true>::start();
  const typename Order<T, true>::Integers d;
  for (std::int64_t i = 0; i < w.reach; i += kLanesOf<T>) hn::StoreU(start, d, w.keys + i);
  for (std::int64_t line = 0; line < w.lines; ++line) {
    largest_of_rows(w, x, line);
    largest_of_columns<T, kStride>(w, w.y + line * w.y_step);
  }
}
template <class T>
void maxima(const WindowLines<T>& w) {
  with_stride(w, [&](auto stride) HWY_ATTR {
    if (w.keyed != nullptr) return maxima_of_lines<T, OrderKey<T>, stride()>(w, w.keyed);
    maxima_of_lines<T, T, stride()>(w, w.x);
  });
}
template <class T>
void rows_of_line(const WindowLines<T>& w) {
  if (w.keyed != nullptr) return largest_of_rows(w, w.keyed, 0);
  largest_of_rows(w, w.x, 0);
}
template <class T>
void columns_of_line(const WindowLines<T>& w) {
  with_stride(w, [&](auto stride) HWY_ATTR { largest_of_columns<T, stride()>(w, w.y); });
}

template <class T>
inline constexpr WindowKernels<T> kWindowKernels = {keys_of<T>, maxima<T>, rows_of_line<T>,
                                                    columns_of_line<T>};

void placed_windows(const PlacedWindows& w) {
  using Largest = Order<double, true>;
  const Largest::Integers d;
  constexpr int kOne = kLanesOf<double>;
  HWY_ALIGN std::int64_t apart[kOne];
  for (int l = 0; l < kOne; ++l) apart[l] = static_cast<std::int64_t>(w.step) * l;
  const auto lanes = hn::Load(d, apart), modulus = hn::Set(d, std::int64_t{0xffffffff});
  const auto base = hn::Set(d, w.base);
  for (std::int64_t i = 0; i < w.count; i += kOne) {
    const auto here = static_cast<int>(std::min<std::int64_t>(w.count - i, kOne));
    const std::int64_t start = w.start + i * w.step;
    auto best = hn::Set(d, PlacedWindows::kNoKey), where = hn::Set(d, std::int64_t{-1});
    for (int t = 0; t < w.taps; ++t) {
      const auto key = key_at(w.keys + w.offsets[t] + i);
      const auto better = hn::Gt(key, best);
      best = hn::IfThenElse(better, key, best);
      const auto place = hn::And(hn::Add(lanes, hn::Set(d, start + w.positions[t])), modulus);
      where = hn::IfThenElse(better, hn::Add(place, base), where);
    }
    store_first(here, Largest::value(hn::Max(best, Largest::start())), w.y + i);
    store_first(here, where, w.places + i);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

cpu::ExtremeFn cpu::larger_for(Isa isa, tensor::DType dtype) {
  return COMMENSAL_OF_ISA(isa, extremes_for<true>(dtype));
}
cpu::ExtremeFn cpu::smaller_for(Isa isa, tensor::DType dtype) {
  return COMMENSAL_OF_ISA(isa, extremes_for<false>(dtype));
}
template <>
const cpu::WindowKernels<float>& cpu::window_kernels_for<float>(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kWindowKernels<float>);
}
template <>
const cpu::WindowKernels<double>& cpu::window_kernels_for<double>(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kWindowKernels<double>);
}

void cpu::placed_maxima(Isa isa, const PlacedWindows& row) {
  COMMENSAL_OF_ISA(isa, placed_windows(row));
}

bool cpu::clip_between(const Call& call, Tensor& output, Workspace& ws) {
  const Tensor& x = call.in(0);
  const ExtremeFn larger = larger_for(ws.isa, x.dtype());
  const ExtremeFn smaller = smaller_for(ws.isa, x.dtype());
  const std::array<bool, 2> has = {call.has(1), call.has(2)};
  if (larger == nullptr || call.opset < 11 || !(has[0] || has[1])) return false;
  const std::int64_t size = tensor::traits(x.dtype()).size, count = output.elements();
  constexpr std::int64_t kTask = 16384, kPart = 1024;  // parts stay in the first cache
  std::array<std::uint64_t, 2> bounds{};  // copies: the output may be in the place of one
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (has[at])
      std::memcpy(&bounds[at], call.in(i + 1).bytes().data(), call.in(i + 1).bytes().size());
  }
  const std::uint8_t* const from = x.bytes().data();
  std::uint8_t* const to = output.mutable_bytes().data();
  ws.threads.run(ceil_div(count, kTask), [&](std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kTask);
    for (std::int64_t i = task * kTask; i < end; i += kPart) {
      const std::int64_t length = std::min(kPart, end - i);
      const std::uint8_t* const a = from + i * size;
      std::uint8_t* const y = to + i * size;
      if (has[0]) larger(a, 1, &bounds[0], 0, y, length);
      if (has[1]) smaller(has[0] ? y : a, 1, &bounds[1], 0, y, length);
    }
  });
  return true;
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
