// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <apps/commensal/privacy_options.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/protocol/verdict.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

TEST(EndOfDay, IsTheNextMidnight) {
  EXPECT_EQ(end_of_day("1970-01-01"), 86'400'000u);
  EXPECT_EQ(end_of_day("2027-01-31"), 1'801'440'000'000u);
  EXPECT_EQ(end_of_day("2028-02-29"), 1'835'481'600'000u);
  for (const char* bad : {"", "2027", "2027-1-31", "2027-02-29", "2027-13-01", "2027-01-31 ",
                          "2027-01-31T00:00", "+027-01-31", "2027-01--1", "1969-12-31"})
    EXPECT_FALSE(end_of_day(bad)) << bad;
}

TEST(LastDay, IsTheOneThatEndsThen) {
  for (const char* day : {"1970-01-01", "2027-01-31", "2028-02-29", "9999-12-31"})
    EXPECT_EQ(last_day(*end_of_day(day)), day);
  EXPECT_EQ(last_day(*end_of_day("2027-01-31") + 1), "2027-02-01");
  EXPECT_EQ(last_day(0), "1970-01-01");
  EXPECT_EQ(last_day(~std::uint64_t{0}), "9999-12-31");
}

TEST(PrivacyStatementOption, SaysWhichHaveEnded) {
  protocol::PrivacyStatement ended, held;
  ended.privacy_class = held.privacy_class = "medical";
  ended.valid_until_ms = *end_of_day("2026-11-28");
  held.valid_until_ms = ended.valid_until_ms + 1;
  const auto now_ms = static_cast<std::int64_t>(ended.valid_until_ms);
  EXPECT_EQ(lines_of_ended({"a", "b"}, {held, ended}, now_ms),
            std::vector<std::string>{"--privacy-statement b of class 'medical' has ended on "
                                     "2026-11-28 and is not shown: expected a newer one"});
  EXPECT_TRUE(lines_of_ended({}, {}, now_ms).empty());
}

TEST(StatementEnd, IsAheadAndNotFarAway) {
  const auto now_ms = static_cast<std::int64_t>(*end_of_day("2026-11-29")) - 1'000;
  for (const char* day : {"2026-11-29", "2027-11-29", "2028-01-03"})
    EXPECT_EQ(statement_end(day, now_ms), *end_of_day(day));
  EXPECT_THAT(statement_end("2026-11-28", now_ms).error().message,
              HasSubstr("'2026-11-28' is over"));
  for (const char* day : {"2028-01-04", "9999-12-31"}) {
    EXPECT_THAT(statement_end(day, now_ms).error().message,
                HasSubstr("is more than 400 days away, and nobody can take a statement back: "
                          "expected one until 2028-01-03"))
        << day;
  }
  EXPECT_FALSE(statement_end("soon", now_ms));
}

TEST(PlaceOfAStatement, IsNoOtherFiles) {
  core::CounterRng rng(2);
  const auto folder = *core::TemporaryFolder::make("vouched");
  const std::string key = folder.path() / "auditor.json", made = folder.path() / "made";
  const std::string other = folder.path() / "other", link = folder.path() / "link";
  ASSERT_TRUE(core::write_file_atomically(key, core::as_bytes("{}")));
  EXPECT_TRUE(check_place(made, key));
  protocol::PrivacyStatement statement;
  statement.privacy_class = "medical";
  statement = protocol::sign_statement(crypto::SecretKey::generate(rng), statement);
  ASSERT_TRUE(core::write_file_atomically(made, protocol::encode(statement)));
  EXPECT_TRUE(check_place(made, key)) << "a newer one takes its place";
  ASSERT_TRUE(core::write_file_atomically(other, core::as_bytes("a letter")));
  std::filesystem::create_symlink("auditor.json", link);
  for (const std::string& taken : {other, folder.path().string()}) {
    const auto refused = check_place(taken, key);
    ASSERT_FALSE(refused) << taken;
    EXPECT_EQ(refused.error().code, core::ErrorCode::kAlreadyExists);
    EXPECT_THAT(refused.error().message, HasSubstr("is there already, and no privacy statement"));
  }
  for (const std::string& own : {key, link})
    EXPECT_THAT(check_place(own, key).error().message, HasSubstr("is the key's own file")) << own;
}

TEST(PrivacyClassOption, HasANameWhereItIsSaid) {
  const auto parsed = [](std::vector<std::string> words) -> std::string {
    std::string name;
    CLI::App app;
    declare_privacy_class(app, name);
    std::ranges::reverse(words);
    try {
      app.parse(words);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return name;
  };
  EXPECT_EQ(parsed({}), "");
  EXPECT_EQ(parsed({"--privacy-class", "medical"}), "medical");
  for (const char* bad : {"", "Medical", "a b"})
    EXPECT_THAT(parsed({"--privacy-class", bad}), HasSubstr("expected 1 to 32")) << bad;
}

TEST(PrivacyAuditorOption, HasAClassAndAnAddress) {
  const auto parsed = [](std::vector<std::string> words) -> std::string {
    gateway::PrivacyAuditors::Believed believed;
    CLI::App app;
    declare_privacy_auditors(app, believed);
    std::ranges::reverse(words);
    try {
      app.parse(words);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    std::string text;
    for (const auto& [name, auditors] : believed)
      text += fmt::format("{} {} ", name, auditors.size());
    return text;
  };
  const std::string one = "0x52908400098527886E0F7030069857D2E4169EE7";
  const std::string two = "0x9201c445a275aC0cd411C3814150831b38327C6F";
  EXPECT_EQ(parsed({"--privacy-auditor", "medical=" + one, "--privacy-auditor", "medical=" + two,
                    "--privacy-auditor", "legal=" + two}),
            "legal 1 medical 2 ");
  for (const std::string& bad :
       std::vector<std::string>{"medical", "medical=0x12", "Medical=" + one, "=" + one})
    EXPECT_THAT(parsed({"--privacy-auditor", bad}), HasSubstr("expected")) << bad;
}

TEST(PrivacyStatementOption, ReadsWhatVouchWrote) {
  core::CounterRng rng(1);
  const auto key = crypto::SecretKey::generate(rng);
  const auto folder = *core::TemporaryFolder::make("statements");
  const std::string file = folder.path() / "one", other = folder.path() / "other";
  protocol::PrivacyStatement statement;
  statement.privacy_class = "medical";
  statement = protocol::sign_statement(key, statement);
  const core::Bytes bytes = protocol::encode(statement);
  ASSERT_TRUE(core::write_file_atomically(file, bytes));
  EXPECT_EQ(read_statements({file, file}), (std::vector{statement, statement}));
  ASSERT_TRUE(core::write_file_atomically(other, core::ByteView(bytes).first(40)));
  EXPECT_THAT(read_statements({other}).error().message,
              HasSubstr("--privacy-statement " + other + ": privacy statement"));
  ASSERT_TRUE(core::write_file_atomically(other, protocol::encode(protocol::AuditReport())));
  EXPECT_THAT(read_statements({other}).error().message,
              HasSubstr("expected a privacy statement, this is an audit report"));
  EXPECT_THAT(read_statements(std::vector<std::string>(17, file)).error().message,
              HasSubstr("at most 16"));
}

}  // namespace
}  // namespace commensal::apps
