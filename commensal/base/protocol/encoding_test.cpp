// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/job.hpp>

namespace commensal::protocol {
namespace {

std::string refusal(const core::Result<void>& result) {
  return result ? "accepted" : result.error().message;
}

TEST(Encoding, IsBigEndianWithLengthsBeforeBytesTextsAndLists) {
  Writer writer;
  writer.u8(1);
  writer.u16(0x0203);
  writer.u32(0x04050607);
  writer.u64(0x08090a0b0c0d0e0f);
  writer.field("", Amount::from_words(0x1011121314151617, 0x18191a1b1c1d1e1f));
  writer.text("ab");
  writer.field("", std::vector<std::uint16_t>{0xffff, 0});
  EXPECT_EQ(core::to_hex(writer.written()),
            "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
            "000000026162"
            "00000002ffff0000");
}

TEST(Encoding, ReaderSticksToItsFirstRefusal) {
  const Bytes bytes = {1, 2, 3};
  Reader reader(bytes, "thing");
  std::uint8_t first = 0;
  std::uint32_t second = 7;
  reader.field("first", first);
  reader.field("second", second);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0u);
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(refusal(reader.finish()), "thing.second: truncated: 2 bytes left, expected 4");
}

TEST(Encoding, ReaderRefusesWhatIsTooLongAndWhatIsLeftOver) {
  const Bytes five = {0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e'};
  Reader text(five, "thing");
  EXPECT_EQ(text.text(4), "");
  EXPECT_EQ(refusal(text.status()), "thing: 5 bytes, at most 4 are accepted");
  Reader list(five, "thing");
  EXPECT_EQ(list.count(4), 0u);
  EXPECT_EQ(refusal(list.status()), "thing: 5 items, at most 4 are accepted");
  Reader rest(five, "thing");
  EXPECT_EQ(rest.count(), 5u);
  EXPECT_EQ(refusal(rest.finish()), "thing: 5 bytes left over");
}

TEST(Encoding, HugeCountsCostNoMemory) {
  Bytes bytes = encode(Job{});
  bytes.erase(bytes.end() - 44, bytes.end());  // how many auditors, and the end
  bytes.insert(bytes.end(), {0, 1, 0, 0});
  EXPECT_EQ(decode<Job>(bytes).error().message,
            "job.auditor_list: truncated: 0 bytes left, expected 20");
  bytes[bytes.size() - 4] = 0xff;
  EXPECT_EQ(decode<Job>(bytes).error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_EQ(decode<Job>(Bytes(limits::kNounBytesMax + 1)).error().code,
            core::ErrorCode::kResourceExhausted);
}

TEST(Encoding, KindAndVersionComeFirst) {
  Bytes bytes = encode(Job{});
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[1], 4);
  bytes[0] = 4;
  EXPECT_EQ(decode<Job>(bytes).error().message, "job: this is a receipt, expected a job");
  bytes[0] = 1;
  bytes[1] = 1;
  EXPECT_EQ(decode<Job>(bytes).error().message, "job: version 1, expected 4");
}

TEST(Encoding, TextIsUtf8) {
  for (std::string_view good : {"", "plain", "\xc3\xa9", "\xe2\x89\xa0", "\xf0\x9f\x90\x8b",
                                "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << core::to_hex(core::as_bytes(good));
  }
  for (std::string_view bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                               "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xe2\x89"}) {
    EXPECT_FALSE(is_utf8(bad)) << core::to_hex(core::as_bytes(bad));
  }
  const Bytes bytes = {0, 0, 0, 1, 0x80};
  Reader reader(bytes, "thing");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(refusal(reader.finish()), "thing: not UTF-8");
}

TEST(Encoding, MakesOneBoundedLine) {
  EXPECT_EQ(one_line("a\nb\x1b[0m"), "a b [0m");
  EXPECT_EQ(one_line("\xff\xfe."), "??.");
  std::string umlauts;
  for (int i = 0; i < 400; ++i) umlauts += "ü";
  EXPECT_EQ(one_line(fmt::format(".{}", umlauts)), fmt::format(".{}", umlauts.substr(0, 510)));
  EXPECT_TRUE(is_line(umlauts));
  EXPECT_FALSE(is_line("a\tb"));
  EXPECT_FALSE(is_line("\xff"));
}

TEST(Encoding, WritesErrorsAndWhatMayBeAbsent) {
  Writer writer;
  writer.field("", core::Error{core::ErrorCode::kNotFound, "no\nmodel"});
  writer.field("", std::optional<std::uint16_t>(0x0102));
  writer.field("", std::optional<std::uint16_t>());
  EXPECT_EQ(core::to_hex(writer.written()), "01000000086e6f206d6f64656c01010200");
  Reader reader(writer.written(), "thing");
  core::Error error;
  std::optional<std::uint16_t> present, absent = 7;
  reader.field("error", error);
  reader.field("present", present);
  reader.field("absent", absent);
  EXPECT_TRUE(reader.finish());
  EXPECT_EQ(error.code, core::ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "no model");
  EXPECT_EQ(present, 0x0102);
  EXPECT_EQ(absent, std::nullopt);
}

TEST(Amount, ReadsWhatItWrites) {
  for (std::string_view text : {"0", "1", "18446744073709551615", "18446744073709551616",
                                "340282366920938463463374607431768211455"}) {
    ASSERT_TRUE(amount_from_text(text)) << text;
    EXPECT_EQ(to_text(*amount_from_text(text)), text);
  }
  for (std::string_view text :
       {"", "01", "-1", "+1", " 1", "1 ", "0x1", "1.5", "340282366920938463463374607431768211456",
        "9999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(amount_from_text(text)) << text;
  }
}

TEST(Amount, NeverWrapsAround) {
  const Amount most = Amount::from_words(~0ull, ~0ull);
  EXPECT_EQ(Amount(2).plus(Amount(3)), Amount(5));
  EXPECT_EQ(Amount(3).minus(Amount(3)), Amount(0));
  EXPECT_EQ(Amount(1ull << 63).times(Amount(2)), Amount::from_words(1, 0));
  EXPECT_EQ(most.plus(Amount(1)).error().message,
            "amount: 340282366920938463463374607431768211455 + 1 exceeds 2^128 - 1");
  EXPECT_EQ(Amount(1).minus(Amount(2)).error().message, "amount: 1 - 2 is below zero");
  EXPECT_FALSE(Amount::from_words(1, 0).times(Amount::from_words(1, 0)));
  EXPECT_LT(Amount(~0ull), Amount::from_words(1, 0));
}

}  // namespace
}  // namespace commensal::protocol
