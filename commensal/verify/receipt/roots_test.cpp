// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/crypto/merkle.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::receipt {
namespace {

// Receipts and roots of models that are kept have it so, whatever strings look like on their way.
TEST(ElementsRoot, OfStringsIsOfTheProtocolsTexts) {
  const auto strings = tensor::Tensor::of_strings({2}, {"ab", ""});
  const core::Bytes bytes = {0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0};
  EXPECT_EQ(elements_root(strings), crypto::merkle_root_of_bytes(bytes));
}

}  // namespace
}  // namespace commensal::receipt
