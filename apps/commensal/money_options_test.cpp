// SPDX-License-Identifier: Apache-2.0
// What a gateway's terms are, by its flags and by what its folder was run with before.
#include <gmock/gmock.h>

#include <apps/commensal/money_options.hpp>
#include <commensal/base/core/temporary_folder.hpp>

namespace commensal::apps {
namespace {

using protocol::Amount;
using testing::HasSubstr;

struct Settled {
  gateway::MoneyConfig money;
  core::Result<std::string> note;
};

class Terms : public ::testing::Test {
 protected:
  /// A start with these flags, which leaves its terms in the folder.
  Settled start(const std::string& flags, bool is_local = true) {
    Settled settled;
    CLI::App app;
    declare_money(app, settled.money);
    app.parse(flags);
    settled.note = settle_terms(app, folder_.path(), is_local, settled.money);
    EXPECT_TRUE(!settled.note || remember_terms(folder_.path(), settled.money));
    return settled;
  }
  /// As programs left it before 2026-11-27.
  void leave_old(const std::string& face) {
    const std::string terms = R"({"face_value": ")" + face +
                              R"(", "price": "5", "stake_min": "70", "win_probability": 0.5,
                                  "round_ms": 1000})";
    ASSERT_TRUE(core::write_file_atomically(folder_.path() / "terms.json", core::as_bytes(terms)));
  }
  static bool is_on(const Settled& settled) { return settled.money.face_value != Amount(); }
  static bool grants(const Settled& settled) { return settled.money.test.is_granted; }

  core::TemporaryFolder folder_ = *core::TemporaryFolder::make("terms");
};

TEST_F(Terms, MoneyIsOnByDefaultAndAWrongAnswerALoss) {
  const Settled now = start("");
  EXPECT_EQ(*now.note, "");
  const gateway::MoneyConfig& money = now.money;
  EXPECT_EQ(money.price, Amount(12'000));
  EXPECT_EQ(money.face_value, Amount(100'000));
  EXPECT_EQ(money.win_probability, 0.1);
  EXPECT_EQ(money.stake_min, Amount(1'000'000));
  EXPECT_EQ(money.escrow, Amount(200'000'000));
  EXPECT_EQ(money.penalty_escrow, Amount(400'000'000));
  EXPECT_THAT(doubts_about(money, money.escrow, money.penalty_escrow), testing::IsEmpty());
  EXPECT_EQ(start("--escrow 5", true).money.penalty_escrow, Amount(400'000'000)) << "as before";
}

TEST_F(Terms, ThePenaltyEscrowIsTwiceTheOther) {
  EXPECT_EQ(start("--escrow 30").money.penalty_escrow, Amount(60));
}

TEST_F(Terms, TestMoneyIsForLoopbackAlone) {
  const Settled local = start("");
  EXPECT_TRUE(grants(local));
  EXPECT_EQ(local.money.test.credit, Amount(120'000'000));
  EXPECT_GE(local.money.rules.credit_cap, *local.money.test.credit.times(Amount(1'000)));
  EXPECT_THAT(words_about(local.money, 0.1), HasSubstr("test money"));
  EXPECT_TRUE(grants(start(""))) << "again";
  // What is there stays test money, wherever the gateway listens.
  const Settled known = start("", false);
  EXPECT_FALSE(grants(known));
  EXPECT_TRUE(known.money.test.is_so);
  EXPECT_THAT(words_about(known.money, 0.1), HasSubstr("name another --data-dir"));
}

TEST_F(Terms, BeyondLoopbackNothingIsGrantedUnlessToldSo) {
  const Settled open = start("", false);
  EXPECT_TRUE(is_on(open));
  EXPECT_FALSE(open.money.test.is_so);
  EXPECT_EQ(open.money.rules.credit_cap, ledger::Config().credit_cap);
  EXPECT_EQ(words_about(open.money, 0.1), "");
  // Behind a proxy it listens on loopback, and what is in its ledger is people's money.
  EXPECT_FALSE(grants(start("", true)));
  const Settled told = start("--test-money", true);
  ASSERT_FALSE(told.note);
  EXPECT_THAT(told.note.error().message, HasSubstr("no test money; name another --data-dir"));
}

TEST_F(Terms, WhoAsksForTestMoneyGetsItElsewhereToo) {
  EXPECT_TRUE(grants(start("--test-money", false)));
}

TEST_F(Terms, WhoDeclinesTestMoneyIsGivenNone) {
  const Settled now = start("--no-test-money");
  EXPECT_TRUE(is_on(now));
  EXPECT_FALSE(now.money.test.is_so);
}

TEST_F(Terms, NoMoneyIsSaidAndRemembered) {
  for (const char* flags : {"--no-money", "", "--face-value 0", ""}) {
    const Settled now = start(flags);
    EXPECT_FALSE(is_on(now)) << flags;
    EXPECT_EQ(now.money.price, Amount());
    EXPECT_EQ(now.money.escrow, Amount());
    EXPECT_FALSE(grants(now));
    EXPECT_EQ(*now.note, *flags == '\0' ? "as at the last start: --no-money" : "");
    EXPECT_THAT(words_about(now.money, 0.1), HasSubstr("loses nothing but its key"));
  }
  EXPECT_THAT(start("--price 5").note.error().message, HasSubstr("--price needs --face-value"));
  EXPECT_THAT(start("--escrow 5").note.error().message, HasSubstr("--escrow needs --face-value"));
  const Settled on = start("--face-value 100000");
  EXPECT_EQ(on.money.price, Amount(12'000));
  EXPECT_FALSE(grants(on)) << "it may have had other money before";
}

TEST_F(Terms, AFolderOfBeforeThatWasFreeStaysSo) {
  leave_old("0");
  const Settled now = start("");
  EXPECT_FALSE(is_on(now));
  EXPECT_EQ(*now.note, "as at the last start: --no-money");
}

TEST_F(Terms, AFolderOfBeforeThatWasPaidKeepsItsTerms) {
  leave_old("300");
  const Settled now = start("");
  EXPECT_EQ(*now.note,
            "as at the last start: --face-value 300, --price 5, --stake-min 70, "
            "--win-probability 0.5");
  EXPECT_EQ(now.money.stake_min, Amount(70));
  EXPECT_EQ(now.money.escrow, Amount()) << "nothing is booked that nobody asked for";
  EXPECT_FALSE(now.money.test.is_so);
  const Settled more = start("--escrow 900 --penalty-escrow 1800");
  EXPECT_EQ(more.money.escrow, Amount(900));
  EXPECT_EQ(start("").money.penalty_escrow, Amount(1'800));
}

}  // namespace
}  // namespace commensal::apps
