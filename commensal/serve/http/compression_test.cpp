// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/http/compression.hpp>

namespace commensal::http {
namespace {

using core::MemoryBudget;

constexpr std::int64_t kMost = 1 << 20;

core::GrowingBytes grown(std::string_view text) {
  core::GrowingBytes bytes;
  std::ranges::copy(text, bytes.prepare(text.size(), text.size()).begin());
  bytes.commit(text.size());
  return bytes;
}

std::string encoded(Coding coding, std::string_view text) {
  MemoryBudget::Lease nobodys;
  return compress(coding, text, nobodys).value_or("not shorter");
}

/// What comes out, or what is said instead.
std::string decoded(Coding coding, std::string_view text, std::int64_t most = kMost) {
  MemoryBudget::Lease nobodys;
  core::GrowingBytes body = grown(text);
  const auto made = decompress(coding, body, most, nobodys, {});
  if (made && *made) return std::string(core::as_text(body));
  EXPECT_EQ(core::as_text(body), text) << "a body that is refused is as it was";
  return made ? "too long" : made.error().message;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i % 1000) + ",";
  return text;
}

/// RFC 1951 alone.
std::string raw_deflate(std::string_view text) {
  const std::string zlib = encoded(Coding::kDeflate, text);
  return zlib.substr(2, zlib.size() - 6);
}

TEST(Compression, ComesBackWhole) {
  const std::string text = long_text();
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    const std::string shorter = encoded(coding, text);
    EXPECT_LT(shorter.size(), text.size() / 10);
    EXPECT_EQ(decoded(coding, shorter), text);
  }
  EXPECT_EQ(decoded(Coding::kDeflate, raw_deflate(text)), text);
  EXPECT_EQ(decoded(Coding::kGzip, encoded(Coding::kGzip, text) + encoded(Coding::kGzip, text)),
            text + text);
  EXPECT_EQ(decoded(Coding::kIdentity, text), text);
  EXPECT_EQ(decoded(Coding::kGzip, ""), "");
}

TEST(Compression, SaysWhatIsNoneOrNotWhole) {
  const std::string text = long_text();
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    const std::string no = "the body is no whole \"" + std::string(name_of(coding)) + "\"";
    std::string shorter = encoded(coding, text);
    EXPECT_EQ(decoded(coding, "{\"inputs\":[]}"), no);
    EXPECT_EQ(decoded(coding, shorter.substr(0, shorter.size() - 1)), no);
    EXPECT_EQ(decoded(coding, shorter.substr(0, 1)), no);
    shorter.back() ^= 1;  // of the checksum or the length
    EXPECT_EQ(decoded(coding, shorter), no);
  }
  EXPECT_EQ(decoded(Coding::kGzip, encoded(Coding::kGzip, text) + "more"),
            "the body is no whole \"gzip\"");
  EXPECT_EQ(decoded(Coding::kDeflate, encoded(Coding::kDeflate, text) + "more"),
            "the body goes on behind its \"deflate\"");
}

TEST(Compression, EndsWhereABodyIsTooLong) {
  const std::string bomb = encoded(Coding::kGzip, std::string(8 << 20, '0'));
  EXPECT_LT(bomb.size(), 64u << 10);
  EXPECT_EQ(decoded(Coding::kGzip, bomb), "too long");
  const std::string text = long_text();
  const std::string shorter = encoded(Coding::kGzip, text);
  EXPECT_EQ(decoded(Coding::kGzip, shorter, std::ssize(text) - 1), "too long");
  EXPECT_EQ(decoded(Coding::kGzip, shorter, std::ssize(text)), text);
}

TEST(Compression, CountsOnTheAskersMemory) {
  MemoryBudget budget({.bytes_max = 8 << 20, .owner_bytes_max = 2 << 20, .owner_leases_max = 1});
  auto lease = budget.lease("alice");
  ASSERT_TRUE(lease);
  core::GrowingBytes bomb = grown(encoded(Coding::kGzip, std::string(32 << 20, '0')));
  const auto made = decompress(Coding::kGzip, bomb, 64 << 20, *lease, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kOverBudget);
  core::GrowingBytes small = grown(encoded(Coding::kGzip, std::string(1 << 19, '0')));
  ASSERT_TRUE(decompress(Coding::kGzip, small, 64 << 20, *lease, {}));
  EXPECT_EQ(lease->bytes(), 1 << 19);
  EXPECT_FALSE(compress(Coding::kGzip, std::string(2 << 20, '0'), *lease));
  EXPECT_EQ(lease->bytes(), 1 << 19);
}

TEST(Compression, EndsWithItsClient) {
  std::stop_source left;
  left.request_stop();
  MemoryBudget::Lease nobodys;
  core::GrowingBytes body = grown(encoded(Coding::kGzip, long_text()));
  const auto made = decompress(Coding::kGzip, body, kMost, nobodys, left.get_token());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kCancelled);
}

TEST(Compression, LeavesAloneWhatGetsNoShorter) {
  core::CounterRng rng(7);
  std::string noise(1000, '\0');
  for (char& c : noise) c = static_cast<char>(rng.next_u64());
  MemoryBudget::Lease nobodys;
  EXPECT_FALSE(compress(Coding::kGzip, noise, nobodys));
  EXPECT_FALSE(compress(Coding::kIdentity, long_text(), nobodys));
}

TEST(Compression, IsChosenByWeights) {
  struct Row {
    const char* accept;
    Coding coding;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", Coding::kIdentity},
           {"gzip", Coding::kGzip},
           {"GZip ", Coding::kGzip},
           {"x-gzip", Coding::kGzip},
           {"deflate", Coding::kDeflate},
           {"gzip, deflate", Coding::kGzip},
           {"deflate, gzip", Coding::kGzip},
           {"gzip;q=0.5, deflate", Coding::kDeflate},
           {"gzip ; q=0.5 ,deflate; q=0.4", Coding::kGzip},
           {"gzip;q=0", Coding::kIdentity},
           {"gzip;q=0, *", Coding::kDeflate},
           {"*;q=0.1", Coding::kGzip},
           {"*;q=0", Coding::kIdentity},
           {"identity, gzip;q=0.5", Coding::kIdentity},
           {"identity;q=0.5, gzip;q=0.5", Coding::kGzip},
           {"br, zstd", Coding::kIdentity},
           {"br;q=1.0, deflate;q=0.001", Coding::kDeflate},
           {"gzip;q=2", Coding::kIdentity},
           {"gzip;q=x", Coding::kIdentity},
           {"gzip;q=", Coding::kIdentity},
           {",,;;=,", Coding::kIdentity},
       }) {
    EXPECT_EQ(accepted_coding(row.accept), row.coding) << row.accept;
  }
}

TEST(Compression, IsKnownByName) {
  EXPECT_EQ(coding_of("GZIP"), Coding::kGzip);
  EXPECT_EQ(coding_of(" deflate"), Coding::kDeflate);
  EXPECT_EQ(coding_of("identity"), Coding::kIdentity);
  EXPECT_EQ(coding_of(""), Coding::kIdentity);
  EXPECT_FALSE(coding_of("br"));
  EXPECT_FALSE(coding_of("gzip, deflate"));
}

}  // namespace
}  // namespace commensal::http
