// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

/// For tests: calls of Gemm and MatMul that every fast back end must answer as ref/ does.
namespace commensal::kernels::cpu::testing {

struct GemmCase {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  float alpha, beta;
  tensor::Shape c;
  bool has_c;
};

inline void check_gemm(const GemmCase& g, Values values, const CheckCase& check) {
  SCOPED_TRACE(fmt::format("{}x{}x{} {}{}", g.m, g.n, g.k, g.transpose_a, g.transpose_b));
  Case test{.name = "Gemm", .attributes = {}, .inputs = {}, .constants = {1}};
  test.attributes.set("transA", std::int64_t{g.transpose_a});
  test.attributes.set("transB", std::int64_t{g.transpose_b});
  test.attributes.set("alpha", g.alpha);
  test.attributes.set("beta", g.beta);
  test.inputs = {
      random_tensor(g.transpose_a ? tensor::Shape{g.k, g.m} : tensor::Shape{g.m, g.k}, 1, values),
      random_tensor(g.transpose_b ? tensor::Shape{g.n, g.k} : tensor::Shape{g.k, g.n}, 2, values)};
  if (g.has_c) test.inputs.push_back(random_tensor(g.c, 3, values));
  check(test);
}

inline void check_gemm_forms(const CheckCase& check) {
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check_gemm({13, 61, 37, ta, tb, 1, 1, {61}, true}, values, check);
        check_gemm({9, 48, 20, ta, tb, 0.5f, 1, {}, false}, values, check);
        check_gemm({17, 97, 300, ta, tb, 1, -2.5f, {17, 97}, true}, values, check);
        check_gemm({6, 33, 5, ta, tb, 3, 0.1f, {6, 1}, true}, values, check);
        check_gemm({5, 15, 64, ta, tb, 1, 2, {}, true}, values, check);
        check_gemm({1, 130, 257, ta, tb, 1, 1, {1, 130}, true}, values, check);
      }
    }
  }
}

inline void check_gemm_tails(const CheckCase& check) {
  for (std::int64_t m = 1; m <= 18; ++m) {
    check_gemm({m, 49, 3, false, true, 1, 1, {49}, true}, Values::kPlain, check);
  }
  for (std::int64_t n = 1; n <= 50; ++n) {
    check_gemm({3, n, 2, false, false, 1, 1, {n}, true}, Values::kPlain, check);
  }
}

inline void check_narrow_gemms(const CheckCase& check) {
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 49, 50, 51, 52}) {
      for (const std::int64_t m : {4, 8, 31, 100}) {
        check_gemm({m, n, 250, false, true, 1, 1, {m, 1}, true}, values, check);
        check_gemm({m, n, 9, true, false, 0.3f, 2, {n}, true}, values, check);
      }
    }
  }
}

inline void check_gemm_zeros(const CheckCase& check) {
  // Products that underflow leave the chain at -0; a bias of -0 counts as +0.
  const float tiny = 1e-30f;
  Case test{.name = "Gemm", .attributes = {}, .inputs = {}, .constants = {1}};
  test.inputs = {Tensor::of<float>({1, 1}, std::array{-tiny}),
                 Tensor::of<float>({1, 2}, std::array{tiny, -tiny}),
                 Tensor::of<float>({2}, std::array{-0.0f, -0.0f})};
  check(test);
}

inline void check_matmuls(const CheckCase& check) {
  struct Shapes {
    tensor::Shape a, b;
  };
  const Shapes all[] = {
      {{7, 5}, {5, 11}},
      {{2, 3, 19, 64}, {2, 3, 64, 50}},
      {{3, 19, 8}, {8, 100}},
      {{4, 1, 6, 7}, {3, 7, 9}},
      {{300}, {300, 20}},
      {{20, 300}, {300}},
      {{5}, {5}},
      {{2, 4, 5}, {5}},
      {{8}, {3, 8, 2}},
      {{2, 0, 4}, {4, 3}},
      {{2, 3, 0}, {0, 5}},
      {{1, 600}, {600, 96}},
      {{2, 1, 24, 24}, {1, 5, 24, 24}},
  };
  for (const auto& [a, b] : all) {
    SCOPED_TRACE(a.text() + b.text());
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      check({.name = "MatMul",
             .attributes = {},
             .inputs = {random_tensor(a, 4, values), random_tensor(b, 5, values)},
             .constants = {1}});
    }
  }
}

}  // namespace commensal::kernels::cpu::testing
