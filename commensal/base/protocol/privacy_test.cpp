// SPDX-License-Identifier: Apache-2.0
// Statements of privacy classes, also as tests/vectors/protocol/statement.py makes them.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/privacy.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::protocol {
namespace {

using nlohmann::json;

Bytes hex(const json& text) { return *core::from_hex(text.get<std::string>()); }

TEST(PrivacyStatements, AreWhatTheirVectorsSay) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/protocol/statement.json");
  const json vectors = json::parse(file);
  const auto key = *crypto::SecretKey::from_bytes(hex(vectors["auditor_key"]));
  const auto provider = *crypto::address_from_text("0x" + vectors["provider"].get<std::string>());
  ASSERT_EQ(vectors["statements"].size(), 3u);
  for (const json& vector : vectors["statements"]) {
    PrivacyStatement statement;
    statement.provider = provider;
    statement.privacy_class = vector["class"];
    statement.valid_until_ms = std::stoull(vector["until_ms"].get<std::string>());
    statement = sign_statement(key, statement);
    EXPECT_EQ(core::to_hex(encode(statement)), vector["encoding"]);
    const auto read = decode<PrivacyStatement>(hex(vector["encoding"]));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, statement);
    EXPECT_TRUE(verify_statement(*read));
  }
  ASSERT_EQ(vectors["refused"].size(), 8u);
  for (const json& refused : vectors["refused"])
    EXPECT_FALSE(decode<PrivacyStatement>(hex(refused))) << refused;
}

// It binds all that it says: no bit of an encoding can change and leave it good.
TEST(PrivacyStatements, OneBitMakesAnotherThatNobodySigned) {
  core::CounterRng rng(1);
  PrivacyStatement statement;
  statement.provider = crypto::SecretKey::generate(rng).address();
  statement.privacy_class = "medical-7";
  statement.valid_until_ms = 1'801'440'000'000;
  const Bytes bytes = encode(sign_statement(crypto::SecretKey::generate(rng), statement));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes bent = bytes;
    bent[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    const auto read = decode<PrivacyStatement>(bent);
    EXPECT_TRUE(!read || !verify_statement(*read)) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode<PrivacyStatement>(ByteView(bytes).first(size))) << size;
}

TEST(PrivacyStatements, ClassesHaveShortPlainNames) {
  for (const char* good :
       {"a", "medical", "gdpr-2016", "0", "-", "abcdefghijklmnopqrstuvwxyz-01234"})
    EXPECT_TRUE(is_privacy_class(good)) << good;
  for (const char* bad : {"", "Medical", "a b", "a_b", "\xc3\xa4", "a\n",
                          "medical=", "abcdefghijklmnopqrstuvwxyz-012345"})
    EXPECT_FALSE(is_privacy_class(bad)) << bad;
  EXPECT_EQ(check_privacy_class("a b").error().message,
            "the privacy class 'a b', expected 1 to 32 of a-z, 0-9 and -");
}

}  // namespace
}  // namespace commensal::protocol
