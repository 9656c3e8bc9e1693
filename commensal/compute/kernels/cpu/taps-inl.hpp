// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: PlaneSplit and TapRows, the copies that come before sums.
#if defined(COMMENSAL_CPU_TAPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_TAPS_INL
#undef COMMENSAL_CPU_TAPS_INL
#else
#define COMMENSAL_CPU_TAPS_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// The elements of a vector whose positions are in [begin, end).
HWY_INLINE Wanted between(std::int64_t begin, std::int64_t end) {
  const auto from = std::clamp<std::int64_t>(begin, 0, kLanes);
  const auto to = std::clamp<std::int64_t>(end, from, kLanes);
  const auto skipped = static_cast<int>(from), kept = static_cast<int>(to);
  return {skipped, kept, hn::AndNot(first(skipped), first(kept))};
}

/// kParts vectors side by side, taken apart: parts[p] gets elements p, p + kParts, ...
template <int kParts>
HWY_INLINE void take_apart(const V* x, V* parts) {
  if constexpr (kParts == 1) {
    parts[0] = x[0];
  } else if constexpr (kParts == 2) {
    parts[0] = hn::ConcatEven(kFloats, x[1], x[0]);
    parts[1] = hn::ConcatOdd(kFloats, x[1], x[0]);
  } else {
    static_assert(kParts == 4);
    V low[2], high[2];
    take_apart<2>(x, low);
    take_apart<2>(x + 2, high);
    parts[0] = hn::ConcatEven(kFloats, high[0], low[0]);
    parts[1] = hn::ConcatEven(kFloats, high[1], low[1]);
    parts[2] = hn::ConcatOdd(kFloats, high[0], low[0]);
    parts[3] = hn::ConcatOdd(kFloats, high[1], low[1]);
  }
}

/// Columns [x, x + count) of all parts, for all rows.
template <int kParts>
HWY_INLINE void split_columns(const PlaneSplit& s, std::int64_t x, int count) {
  const V around = hn::Set(kFloats, s.around);
  Wanted inside[kParts];
  for (int q = 0; q < kParts; ++q) {
    const std::int64_t column = x * kParts + q * kLanes - s.left;  // of the picture
    inside[q] = between(-column, s.in_width - column);
  }
  for (std::int64_t r = 0; r < s.rows; ++r) {
    V from[kParts], parts[kParts];
    const std::int64_t y = r - s.top;
    const bool empty = y < 0 || y >= s.in_height;
    COMMENSAL_UNROLL
    for (int q = 0; q < kParts; ++q) {
      from[q] = around;
      if (empty) continue;
      const float* const at = s.plane + (y * s.in_width + x * kParts + q * kLanes - s.left);
      from[q] = hn::IfThenElse(inside[q].mask, load_wanted(inside[q], at), around);
    }
    take_apart<kParts>(from, parts);
    float* const to = s.to + r * s.width + x;
    COMMENSAL_UNROLL
    for (int p = 0; p < kParts; ++p) {
      store_first(count, parts[p], to + p * s.rows * s.width);
    }
  }
}

template <int kParts>
inline void split_in(const PlaneSplit& s) {
  for (std::int64_t x = 0; x < s.width; x += kLanes) {
    split_columns<kParts>(s, x, static_cast<int>(std::min<std::int64_t>(kLanes, s.width - x)));
  }
}

inline void split_in_any(const PlaneSplit& s) {
  for (std::int64_t part = 0; part < s.parts; ++part) {
    for (std::int64_t r = 0; r < s.rows; ++r) {
      float* const to = s.to + (part * s.rows + r) * s.width;
      const std::int64_t y = r - s.top;
      for (std::int64_t x = 0; x < s.width; ++x) {
        const std::int64_t column = x * s.parts + part - s.left;
        const bool inside = y >= 0 && y < s.in_height && column >= 0 && column < s.in_width;
        to[x] = inside ? s.plane[y * s.in_width + column] : s.around;
      }
    }
  }
}

inline void split_plane(const PlaneSplit& s) {
  switch (s.parts) {
    case 1:
      return split_in<1>(s);
    case 2:
      return split_in<2>(s);
    case 4:
      return split_in<4>(s);
    default:
      return split_in_any(s);
  }
}

/// What a run writes too much is overwritten by the next one or is beyond the last column.
inline void gather_taps(const TapRows& t) {
  const float* plane = t.planes;
  float* row = t.panel;
  for (std::int64_t c = 0; c < t.channels; ++c, plane += t.plane_step, row += t.panel_step) {
    for (int i = 0; i < t.run_count; ++i) {
      const float* const from = plane + t.runs[i].from;
      float* const to = row + t.runs[i].to;
      for (int x = 0; x < t.runs[i].count; x += kLanes) {
        hn::StoreU(hn::LoadU(kFloats, from + x), kFloats, to + x);
      }
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
