// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/interleaved.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/interleaved.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <class E>
inline constexpr std::int64_t kOfVector = HWY_MAX_BYTES / sizeof(E);

template <class E, int kParts>
void take_apart_in(const Interleaved& m) {
  const hn::ScalableTag<E> d;
  const E* from = reinterpret_cast<const E*>(m.from);
  E* const to = reinterpret_cast<E*>(m.to);
  std::int64_t i = 0;
  for (; i + kOfVector<E> <= m.count; i += kOfVector<E>, from += kParts * kOfVector<E>) {
    hn::Vec<hn::ScalableTag<E>> v0, v1, v2, v3;
    if constexpr (kParts == 2) hn::LoadInterleaved2(d, from, v0, v1);
    if constexpr (kParts == 3) hn::LoadInterleaved3(d, from, v0, v1, v2);
    if constexpr (kParts == 4) hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + m.step + i);
    if constexpr (kParts > 2) hn::StoreU(v2, d, to + 2 * m.step + i);
    if constexpr (kParts > 3) hn::StoreU(v3, d, to + 3 * m.step + i);
  }
  for (; i < m.count; ++i) {
    for (int p = 0; p < kParts; ++p) to[p * m.step + i] = *from++;
  }
}

template <class E, int kParts>
void put_together_in(const Interleaved& m) {
  const hn::ScalableTag<E> d;
  const E* const from = reinterpret_cast<const E*>(m.from);
  E* to = reinterpret_cast<E*>(m.to);
  std::int64_t i = 0;
  for (; i + kOfVector<E> <= m.count; i += kOfVector<E>, to += kParts * kOfVector<E>) {
    const auto row = [&](int p) { return hn::LoadU(d, from + p * m.step + i); };
    if constexpr (kParts == 2) hn::StoreInterleaved2(row(0), row(1), d, to);
    if constexpr (kParts == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    if constexpr (kParts == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
  }
  for (; i < m.count; ++i) {
    for (int p = 0; p < kParts; ++p) *to++ = from[p * m.step + i];
  }
}

template <class E>
const InterleavedKernels& interleaved_kernels_of() {
  static constexpr InterleavedKernels kKernels = {[](const Interleaved& m) {
                                                    return m.parts == 2   ? take_apart_in<E, 2>(m)
                                                           : m.parts == 3 ? take_apart_in<E, 3>(m)
                                                                          : take_apart_in<E, 4>(m);
                                                  },
                                                  [](const Interleaved& m) {
                                                    return m.parts == 2 ? put_together_in<E, 2>(m)
                                                           : m.parts == 3
                                                               ? put_together_in<E, 3>(m)
                                                               : put_together_in<E, 4>(m);
                                                  }};
  return kKernels;
}

const InterleavedKernels& interleaved_kernels(std::int64_t size) {
  return size == 1 ? interleaved_kernels_of<std::uint8_t>()
                   : interleaved_kernels_of<std::uint16_t>();
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::InterleavedKernels& cpu::interleaved_kernels_for(Isa isa, std::int64_t size) {
  return COMMENSAL_OF_ISA(isa, interleaved_kernels(size));
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
