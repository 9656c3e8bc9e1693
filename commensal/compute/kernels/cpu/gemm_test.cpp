// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/gemm_cases.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;

TEST(EqualityGemm, AllForms) { check_gemm_forms(expect_equal_to_ref); }
TEST(EqualityGemm, EveryTail) { check_gemm_tails(expect_equal_to_ref); }
TEST(EqualityGemm, FewColumns) { check_narrow_gemms(expect_equal_to_ref); }
TEST(EqualityGemm, SignedZeros) { check_gemm_zeros(expect_equal_to_ref); }
TEST(EqualityMatMul, Shapes) { check_matmuls(expect_equal_to_ref); }

}  // namespace
}  // namespace commensal::kernels::cpu
