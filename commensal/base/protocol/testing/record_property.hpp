// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <commensal/base/protocol/record.hpp>
#include <commensal/base/protocol/testing/random_part.hpp>

namespace commensal::protocol::testing {

/// Of any value of a record: what gets bytes is read back as it was; what would not be read gets
/// none. Both happen.
template <Record R>
void expect_written_is_read(std::uint64_t count = 400) {
  std::uint64_t written = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const auto bytes = encode_stored(random_part<R>(seed));
    if (!bytes) {
      ++refused;
      continue;
    }
    ++written;
    const auto back = decode_stored<R>(*bytes);
    ASSERT_TRUE(back) << R::kRecord << ", seed " << seed << ": " << back.error().message;
    ASSERT_EQ(*encode_stored(*back), *bytes) << R::kRecord << ", seed " << seed;
  }
  EXPECT_GT(written, 0u) << R::kRecord;
  EXPECT_GT(refused, 0u) << R::kRecord;
}

}  // namespace commensal::protocol::testing
