// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: what planes.cpp and pool.cpp do to a block of channels.
#if defined(COMMENSAL_CPU_BLOCKED_PLANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_BLOCKED_PLANES_INL
#undef COMMENSAL_CPU_BLOCKED_PLANES_INL
#else
#define COMMENSAL_CPU_BLOCKED_PLANES_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <commensal/compute/kernels/cpu/special-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <class Op>
void plane_binary(const float* a, const float* b, float* y, std::int64_t pixels) {
  for (int first = 0; first < 16; first += kLanes) {
    const V right = hn::LoadU(kFloats, b + first);
    for (std::int64_t i = first; i < pixels * 16; i += 16) {
      hn::StoreU(canonical(Op::of(hn::LoadU(kFloats, a + i), right)), kFloats, y + i);
    }
  }
}

inline void plane_normalise(const float* x, const PlaneNormalise& how, float* y,
                            std::int64_t pixels) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const V low = hn::Set(kFloats, how.clamps ? how.low : -kInfinity);
  const V high = hn::Set(kFloats, how.clamps ? how.high : kInfinity);
  for (int first = 0; first < 16; first += kLanes) {
    const V mean = hn::LoadU(kFloats, how.mean + first);
    const V scale = hn::LoadU(kFloats, how.scale + first);
    const V bias = hn::LoadU(kFloats, how.bias + first);
    for (std::int64_t i = first; i < pixels * 16; i += 16) {
      V v = hn::MulAdd(hn::Sub(hn::LoadU(kFloats, x + i), mean), scale, bias);
      if (how.clamps) v = hn::Min(high, hn::Max(low, hn::Add(v, hn::Zero(kFloats))));
      hn::StoreU(canonical(v), kFloats, y + i);
    }
  }
}

/// The mean over pixels: position i in lane i mod 32, then the tree (docs/numerics.md). An absent
/// lane is -0.
inline void plane_mean(const float* x, std::int64_t pixels, float* y) {
  for (int first = 0; first < 16; first += kLanes) {
    V lanes[kSumLanes];
    const auto used = static_cast<int>(std::min<std::int64_t>(pixels, kSumLanes));
    for (int i = 0; i < used; ++i) lanes[i] = hn::LoadU(kFloats, x + i * 16 + first);
    for (int i = used; i < kSumLanes; ++i) lanes[i] = hn::Set(kFloats, -0.0f);
    for (std::int64_t i = kSumLanes; i < pixels; ++i) {
      V& lane = lanes[i % kSumLanes];
      lane = hn::Add(lane, hn::LoadU(kFloats, x + i * 16 + first));
    }
    const V sum = hn::Add(tree_of<kSumLanes>(lanes), hn::Zero(kFloats));
    hn::StoreU(canonical(hn::Div(sum, hn::Set(kFloats, static_cast<float>(pixels)))), kFloats,
               y + first);
  }
}

inline void gate_sigmoid(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const V v = hn::LoadU(kFloats, x + i);
    hn::StoreU(canonical(hn::Mul(v, sigmoid_of<HighwayLanes>(v))), kFloats, x + i);
  }
}

inline void gate_hard_sigmoid(float* x, std::int64_t count, float alpha, float beta) {
  const V a = hn::Set(kFloats, alpha), b = hn::Set(kFloats, beta);
  const V one = hn::Set(kFloats, 1.0f), zero = hn::Zero(kFloats);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const V v = hn::LoadU(kFloats, x + i);
    // Of a NaN the second operand comes out; of zeros it does not matter whether one is -0: +0 is
    // added before the product is taken.
    const V h = hn::Max(zero, hn::Min(one, hn::MulAdd(a, v, b)));
    hn::StoreU(canonical(hn::Mul(v, hn::Add(h, zero))), kFloats, x + i);
  }
}

inline void gather_channels(const ChannelPiece* pieces, const float* const* from, int count,
                            float* to, std::int64_t pixels) {
  const hn::RebindToSigned<Floats> integers;
  for (int p = 0; p < count; ++p) {
    const auto lanes = hn::IndicesFromVec(kFloats, hn::LoadU(integers, pieces[p].lane));
    const V taken = hn::BitCast(kFloats, hn::LoadU(integers, pieces[p].taken));
    for (std::int64_t i = 0; i < pixels * 16; i += 16) {
      const V some = hn::And(hn::TableLookupLanes(hn::LoadU(kFloats, from[p] + i), lanes), taken);
      hn::StoreU(p == 0 ? some : hn::Or(some, hn::LoadU(kFloats, to + i)), kFloats, to + i);
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
