// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: LanesRow.
#if defined(COMMENSAL_CPU_LANES_ROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_LANES_ROW_INL
#undef COMMENSAL_CPU_LANES_ROW_INL
#else
#define COMMENSAL_CPU_LANES_ROW_INL
#endif

#include <commensal/compute/kernels/cpu/blocked/finish-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>

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

/// kPixels pixels from `pixel` on, the vector of channels from `first` on.
template <class Channel, int kPixels>
HWY_INLINE void lanes_tile(const LanesRow& r, const Channel& channel, int pixel, int first,
                           const Finish& finish) {
  const std::int64_t from = pixel * r.step + first;
  V acc[kPixels];
  COMMENSAL_UNROLL
  for (int i = 0; i < kPixels; ++i) acc[i] = hn::Zero(kFloats);
  for (int t = 0; t < r.tap_count; ++t) {
    const float* const at = r.taps[t] + from;
    const float* weights = r.weights + r.kept[t] * r.group * 16 + first;
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
  float* const out = r.out + pixel * 16 + first;
  const float* const residual =
      r.how.residual == nullptr ? nullptr : r.how.residual + pixel * 16 + first;
  COMMENSAL_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    hn::StoreU(finish(acc[i], residual == nullptr ? nullptr : residual + i * 16), kFloats,
               out + i * 16);
  }
}

template <class Channel>
void lanes_pixels(const LanesRow& r) {
  for (int first = 0; first < 16; first += kLanes) {
    const Channel channel(r, first);
    const Finish finish(r.how, first);
    int pixel = 0;
    for (; pixel + 8 <= r.count; pixel += 8)
      lanes_tile<Channel, 8>(r, channel, pixel, first, finish);
    const int left = r.count - pixel;
    if (left == 7) {
      lanes_tile<Channel, 7>(r, channel, pixel, first, finish);
      continue;
    }
    if ((left & 4) != 0) lanes_tile<Channel, 4>(r, channel, pixel, first, finish), pixel += 4;
    if ((left & 2) != 0) lanes_tile<Channel, 2>(r, channel, pixel, first, finish), pixel += 2;
    if ((left & 1) != 0) lanes_tile<Channel, 1>(r, channel, pixel, first, finish);
  }
}

inline void lanes_row(const LanesRow& r) {
  if (r.group == 1) return lanes_pixels<OwnChannel>(r);
  if (r.group >= kLanes) return lanes_pixels<SameChannel>(r);
  lanes_pixels<GroupChannel>(r);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
