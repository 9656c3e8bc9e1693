// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/conv_cases.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;

TEST(EqualityConv, Direct) { check_convs(direct_convs(), expect_equal_to_ref); }
TEST(EqualityConv, FourDimensions) { check_convs(high_convs(), expect_equal_to_ref); }
TEST(EqualityConv, Depthwise) { check_convs(depthwise_convs(), expect_equal_to_ref); }
TEST(EqualityConv, FewPlaces) { check_convs(few_places_convs(), expect_equal_to_ref); }
TEST(EqualityConv, Winograd) { check_convs(winograd_convs(), expect_equal_to_ref); }
TEST(EqualityConv, BatchesOfOneToEight) { check_batched_convs(expect_equal_to_ref); }
TEST(EqualityConv, RandomShapes) { check_random_convs(150, expect_equal_to_ref); }

}  // namespace
}  // namespace commensal::kernels::cpu
