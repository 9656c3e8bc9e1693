// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/launch.hpp>
#include <cstdint>

/// What math/*_inl.hpp ask for (math/lanes.hpp), in CUDA's words: one thread is one lane. Rounding
/// is in the names, so that no flag of a compiler can fuse, flush or approximate.
namespace commensal::kernels::cuda {

struct CudaLanes {
  using V = float;
  using I = std::int32_t;
  using M = bool;

  static __device__ V set(float x) { return x; }
  static __device__ I set_int(std::int32_t i) { return i; }
  static __device__ V add(V a, V b) { return __fadd_rn(a, b); }
  static __device__ V sub(V a, V b) { return __fsub_rn(a, b); }
  static __device__ V mul(V a, V b) { return __fmul_rn(a, b); }
  static __device__ V div(V a, V b) { return __fdiv_rn(a, b); }
  static __device__ V sqrt(V a) { return __fsqrt_rn(a); }
  static __device__ V mul_add(V a, V b, V c) { return __fmaf_rn(a, b, c); }
  static __device__ V neg(V a) { return from_bits(bits(a) ^ INT32_MIN); }
  static __device__ V abs(V a) { return from_bits(bits(a) & INT32_MAX); }
  static __device__ M less(V a, V b) { return a < b; }
  static __device__ M equal(V a, V b) { return a == b; }
  static __device__ M is_nan(V a) { return a != a; }
  static __device__ M both(M a, M b) { return a && b; }
  static __device__ M either(M a, M b) { return a || b; }
  static __device__ M negate(M a) { return !a; }
  static __device__ V select(M m, V yes, V no) { return m ? yes : no; }
  static __device__ I to_int(V a) { return __float2int_rn(a); }
  static __device__ V to_float(I a) { return __int2float_rn(a); }
  static __device__ I bits(V a) { return __float_as_int(a); }
  static __device__ V from_bits(I a) { return __int_as_float(a); }
  static __device__ I add_int(I a, I b) { return wrap(unsigned_of(a) + unsigned_of(b)); }
  static __device__ I sub_int(I a, I b) { return wrap(unsigned_of(a) - unsigned_of(b)); }
  static __device__ I and_int(I a, I b) { return a & b; }
  template <int n>
  static __device__ I shift_left(I a) {
    return wrap(unsigned_of(a) << n);
  }
  template <int n>
  static __device__ I shift_right(I a) {
    return a >> n;
  }
  static __device__ M less_int(I a, I b) { return a < b; }

 private:
  static __device__ std::uint32_t unsigned_of(I a) { return static_cast<std::uint32_t>(a); }
  static __device__ I wrap(std::uint32_t a) { return static_cast<I>(a); }
};

/// exp<CudaLanes>(x), ...
namespace function {
#include <commensal/compute/kernels/math/all_inl.hpp>
}  // namespace function

}  // namespace commensal::kernels::cuda
