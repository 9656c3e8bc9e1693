// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::kernels::ref {

/// Calls body(): all that it calls and that is inline is compiled a second time for machines with
/// AVX2 and FMA, where loops take eight elements a step and std::fma is no library call. The bits
/// are the same: compilers may not fuse what is not written as std::fma (-ffp-contract=off).
#if defined(__x86_64__)
template <class F>
__attribute__((target("avx2,fma"), flatten)) decltype(auto) with_avx2(const F& body) {
  return body();
}
template <class F>
decltype(auto) wide(const F& body) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2(body);
  return body();
}
#else
template <class F>
decltype(auto) wide(const F& body) {
  return body();
}
#endif

}  // namespace commensal::kernels::ref
