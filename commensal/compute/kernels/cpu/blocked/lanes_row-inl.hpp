// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: LanesRow.
#if defined(COMMENSAL_CPU_LANES_ROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_LANES_ROW_INL
#undef COMMENSAL_CPU_LANES_ROW_INL
#else
#define COMMENSAL_CPU_LANES_ROW_INL
#endif

#include <array>
#include <commensal/compute/kernels/cpu/blocked/finish-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// How the lanes of an output vector find channel c of their group in the block.
struct OwnChannel {  // groups of one: where they are
  explicit OwnChannel(const LanesRow&, int) {}
  HWY_INLINE V operator()(const float*, V own, int) const { return own; }
};
struct SameChannel {  // groups of a vector or more: one for all lanes
  std::int64_t begin;
  SameChannel(const LanesRow& r, int first) : begin(first / r.group * r.group - first) {}
  HWY_INLINE V operator()(const float* at, V, int c) const {
    return hn::Set(kFloats, at[begin + c]);
  }
};
struct GroupChannel {  // several groups in a vector
  hn::RebindToSigned<Floats> integers;
  hn::Vec<hn::RebindToSigned<Floats>> begins;
  GroupChannel(const LanesRow& r, int) {
    HWY_ALIGN std::int32_t lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = i / r.group * r.group;
    begins = hn::Load(integers, lanes);
  }
  HWY_INLINE V operator()(const float*, V own, int c) const {
    const auto indices = hn::IndicesFromVec(kFloats, hn::Add(begins, hn::Set(integers, c)));
    return hn::TableLookupLanes(own, indices);
  }
};

/// One tap more for kPixels pixels that begin at `at`: all channels of the group.
template <class Channel, int kPixels>
HWY_INLINE void lanes_tap(const LanesRow& r, const Channel& channel, const float* at,
                          const float* weights, V* acc) {
  if constexpr (std::is_same_v<Channel, OwnChannel>) {
    const V weight = hn::LoadU(kFloats, weights);
    COMMENSAL_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      acc[i] = hn::MulAdd(weight, hn::LoadU(kFloats, at + i * r.step), acc[i]);
    }
  } else {
    V own[kPixels];
    COMMENSAL_UNROLL
    for (int i = 0; i < kPixels; ++i) own[i] = hn::LoadU(kFloats, at + i * r.step);
    for (int c = 0; c < r.group; ++c, weights += 16) {
      const V weight = hn::LoadU(kFloats, weights);
      COMMENSAL_UNROLL
      for (int i = 0; i < kPixels; ++i) {
        acc[i] = hn::MulAdd(weight, channel(at + i * r.step, own[i], c), acc[i]);
      }
    }
  }
}

/// kPixels pixels from `pixel` on, the vector of channels from `first` on. kWidth: the kernel's
/// width, 0 for any.
template <class Channel, int kWidth, int kPixels>
HWY_NOINLINE void lanes_tile(const LanesRow& r, const Channel& channel, int pixel, int first,
                             const Finish& finish) {
  const std::int64_t from = pixel * r.step + first, weights_step = r.group * 16;
  const int width = kWidth == 0 ? r.kernel_width : kWidth;
  V acc[kPixels];
  COMMENSAL_UNROLL
  for (int i = 0; i < kPixels; ++i) acc[i] = hn::Zero(kFloats);
  const float* weights = r.weights + first;
  for (int ky = 0; ky < r.kernel_height; ++ky, weights += width * weights_step) {
    if (r.rows[ky] == nullptr) continue;
    const float* const at = r.rows[ky] + from;
    COMMENSAL_UNROLL
    for (int kx = 0; kx < width; ++kx) {
      lanes_tap<Channel, kPixels>(r, channel, at + kx * r.tap_step, weights + kx * weights_step,
                                  acc);
    }
  }
  float* const out = r.out + pixel * 16 + first;
  const float* const residual =
      r.how.residual == nullptr ? nullptr : r.how.residual + pixel * 16 + first;
  COMMENSAL_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    hn::StoreU(finish(acc[i], residual == nullptr ? nullptr : residual + i * 16), kFloats,
               out + i * 16);
  }
}

/// Most pixels of a tile: their sums, a weight and, for groups, the pixels fit the registers.
template <class Channel>
inline constexpr int kLanesPixelsMax = !std::is_same_v<Channel, OwnChannel> ? 7
                                       : kLanes == 8                        ? 10
                                                                            : 14;

template <class Channel>
using LanesTileFn = void (*)(const LanesRow&, const Channel&, int, int, const Finish&);
template <class Channel, int kWidth, int... pixels_less_1>
constexpr auto lanes_tiles_of(std::integer_sequence<int, pixels_less_1...>) {
  return std::array<LanesTileFn<Channel>, sizeof...(pixels_less_1)>{
      lanes_tile<Channel, kWidth, pixels_less_1 + 1>...};
}
template <class Channel, int kWidth>
inline constexpr auto kLanesTiles =
    lanes_tiles_of<Channel, kWidth>(std::make_integer_sequence<int, kLanesPixelsMax<Channel>>());

/// In tiles of nearly the same width: a sum that is alone in its tile waits for every product.
template <class Channel, int kWidth>
void lanes_pixels(const LanesRow& r) {
  constexpr int kMax = kLanesPixelsMax<Channel>;
  const int tiles = (r.count + kMax - 1) / kMax;
  for (int first = 0; first < 16; first += kLanes) {
    const Channel channel(r, first);
    const Finish finish(r.how, first);
    for (int i = 0, pixel = 0; i < tiles; ++i) {
      const int pixels = r.count / tiles + (i < r.count % tiles ? 1 : 0);
      kLanesTiles<Channel, kWidth>[static_cast<std::size_t>(pixels - 1)](r, channel, pixel, first,
                                                                         finish);
      pixel += pixels;
    }
  }
}

inline void lanes_row(const LanesRow& r) {
  if (r.group == 1) {
    if (r.kernel_width == 3) return lanes_pixels<OwnChannel, 3>(r);
    if (r.kernel_width == 5) return lanes_pixels<OwnChannel, 5>(r);
    return lanes_pixels<OwnChannel, 0>(r);
  }
  if (r.group >= kLanes) return lanes_pixels<SameChannel, 0>(r);
  lanes_pixels<GroupChannel, 0>(r);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
