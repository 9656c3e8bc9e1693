// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/base64.hpp>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/rng.hpp>

namespace commensal::core {
namespace {

// RFC 4648, section 10.
TEST(Base64, HasItsSpecificationsExamples) {
  const std::pair<const char*, const char*> kPairs[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, OfAnyBytesThereAndBack) {
  CounterRng rng(1);
  for (std::size_t size = 0; size < 300; ++size) {
    Bytes bytes(size);
    rng.fill(bytes);
    EXPECT_EQ(from_base64(to_base64(as_text(bytes))), as_text(bytes));
  }
}

// The fault: two readers, of which one did without padding and the other took bits behind the end.
TEST(Base64, RefusesWhatNoWriterMakes) {
  for (const char* text : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "=", "Zg==Zg==", "Zm9v\n",
                           "Zm 9v", "Zm9-", "Zm9_", "Zm=v", "\xc3\xa4\xc3\xa4"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace commensal::core
