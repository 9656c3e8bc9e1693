// SPDX-License-Identifier: Apache-2.0
// Auditors from outside in a market of the daemons' own code: who audits and who reports is drawn,
// who lies there or is silent pays, and honest ones never do.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>
#include <commensal/verify/rollout/replayer.hpp>
#include <deque>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;

constexpr std::uint64_t kSeeds = 20;

/// What an auditor says of a step.
enum class Ways {
  kHonest,
  kLazy,       // some root, without computing
  kColluding,  // what its friend, the cheat, has committed to; of others the truth
  kSilent,     // takes what it is given, and no more
};

struct Outsider {
  Ways ways;
  crypto::SecretKey key;
  rollout::Replayer honest{engines_of_this_process()};
  rollout::Replayer cheating{make_bf16_cheat()};
  std::size_t audits = 0, reports = 0;

  Outsider(Ways ways, crypto::SecretKey key) : ways(ways), key(std::move(key)) {}
  crypto::Address address() const { return key.address(); }
};

class MoneyAuditors : public MoneyTrip {
 protected:
  void SetUp() override {
    audit_probability_ = 1;
    outside_auditors_ = true;
  }
  /// With auditors on the list before anybody works.
  std::unique_ptr<Market> open_audited(std::uint64_t seed, const std::vector<Ways>& ways) {
    auto market = open(seed, 0.5, [](Terms& terms) {
      terms.gateway.rules.contest_delay_ms = 60'000;
      terms.gateway.rules.report_delay_ms = 60'000;
    });
    prepare(*market);
    outsiders_.clear();
    core::CounterRng rng(seed, 9);
    for (const Ways way : ways) {
      Outsider& one = outsiders_.emplace_back(way, crypto::SecretKey::generate(rng));
      const auto name = fmt::format("auditor {}", outsiders_.size());
      EXPECT_TRUE(market->gateway().deposit(one.address(), full(), reference(name)));
      send(*market, one.key, ledger::Fund{AccountKind::kStake, full()});
      send(*market, one.key, ledger::Enlist{});
      EXPECT_TRUE(market->gateway().take_audit(one.address(), false));
    }
    EXPECT_EQ(market->gateway().ledger().bench.rows().size(), ways.size());
    return market;
  }
  const Amount& full() const { return terms_.gateway.rules.auditor_stake; }

  static bool send(Market& market, const crypto::SecretKey& key, ledger::Body body) {
    ledger::Transaction made;
    made.ledger = market.gateway().address();
    made.sender = key.address();
    made.nonce = market.gateway().ledger().nonces.get(made.sender);
    made.body = std::move(body);
    ledger::sign(key, made);
    bool is_booked = false;
    market.gateway().transact(
        made, [&](const core::Result<crypto::Address>& sender) { is_booked = sender.has_value(); });
    market.rest_ms(1);
    return is_booked;
  }
  core::Digest root_of(Outsider& one, const receipt::Assignment& given) {
    const bool is_friends = given.receipt.job.provider == friend_;
    if (one.ways == Ways::kLazy) return reference("some root");
    auto& by = one.ways == Ways::kColluding && is_friends ? one.cheating : one.honest;
    const auto root = by.replay(given.task, kDigits);
    EXPECT_TRUE(root) << root.error().message;
    return root.value_or(core::Digest{});
  }
  /// As `commensal auditor` does.
  void audit(Market& market, Outsider& one) {
    const auto given = market.gateway().take_audit(one.address(), false);
    if (!given || !*given || one.ways == Ways::kSilent) return;
    const core::Digest root = root_of(one, **given);
    if ((*given)->accuser) {
      one.reports +=
          send(market, one.key, ledger::Report{(*given)->subject(), *(*given)->accuser, root}) ? 1
                                                                                               : 0;
      return;
    }
    const core::Digest receipt = protocol::receipt_id((*given)->receipt.body());
    const auto report = protocol::sign_report(one.key, {receipt, root, {}, {}});
    one.audits += market.gateway().answer_audit(report, false) ? 1 : 0;
  }
  /// Time passes, and auditors ask for work.
  void work(Market& market, std::int64_t ms, std::int64_t step_ms = 200) {
    for (; ms > 0; ms -= step_ms) {
      for (Outsider& one : outsiders_) audit(market, one);
      market.rest_ms(step_ms);
    }
  }
  Amount stake_of(Market& market, const crypto::Address& owner) {
    return balance(market, owner, AccountKind::kStake);
  }
  void expect_no_honest_loss(Market& market) {
    for (const Outsider& one : outsiders_) {
      if (one.ways != Ways::kHonest) continue;
      EXPECT_GE(stake_of(market, one.address()), full());
      EXPECT_EQ(balance(market, one.address(), AccountKind::kBond), Amount());
    }
    const auto sound = ledger::check_all(market.gateway().ledger());
    EXPECT_TRUE(sound) << sound.error().message;
  }
  std::size_t count(Market& market, CaseStatus status) {
    std::size_t found = 0;
    for (const auto& [key, row] : market.gateway().ledger().cases.rows()) {
      found += row.status == status ? 1 : 0;
    }
    return found;
  }

  std::deque<Outsider> outsiders_;
  crypto::Address friend_;  // the colluding ones' provider
};

// A cheat that says nothing is convicted by who was drawn; its friend, where it was, pays.
TEST_F(MoneyAuditors, ASilentCheatAndItsFriendAmongTheAuditorsAreConvicted) {
  std::size_t colluders = 0, lazy = 0, reports = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    receipts_.opening_row_max = seed % 2 == 0 ? limits::kOpeningRowBytesMax : 0;  // rows, files
    auto market = open_audited(500 + seed, {Ways::kColluding, Ways::kHonest, Ways::kHonest,
                                            Ways::kHonest, Ways::kHonest, Ways::kLazy});
    const std::size_t honest = add(*market, "honest");
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    friend_ = market->address_of(cheat);
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
    market->kill_provider(cheat);
    work(*market, 60'000);
    market->rest_ms(60'000);
    work(*market, 200'000);
    market->rest_ms(60'000);
    work(*market, 200'000);
    EXPECT_EQ(stake_of(*market, friend_), Amount()) << "the cheat";
    EXPECT_EQ(stake_of(*market, market->address_of(honest)), terms_.provider.stake);
    expect_no_honest_loss(*market);
    // Reported for its friend, or was not called.
    const bool has_lied = outsiders_[0].reports > 0;
    EXPECT_EQ(stake_of(*market, outsiders_[0].address()), has_lied ? Amount() : full());
    colluders += has_lied ? 1 : 0;
    lazy += outsiders_[5].reports;
    for (const Outsider& one : outsiders_) reports += one.reports;
    EXPECT_EQ(count(*market, CaseStatus::kAcquitted), 0u);
  }
  fmt::print(
      "{} seeds: the friend was called, and lost all, in {}; the lazy one in {}; {} reports\n",
      kSeeds, colluders, lazy, reports);
  EXPECT_GT(colluders, kSeeds / 10);
  EXPECT_GT(lazy, kSeeds / 10);
  EXPECT_GE(reports, 2 * kSeeds);
}

// Where the gateway cannot show the inputs it audits itself, and calls nobody who would pay for
// silence.
TEST_F(MoneyAuditors, OfWhatIsTooLargeToBeShownNobodyElsewhereIsAsked) {
  receipts_.opening_shown_max = 0;
  auto market = open_audited(499, {Ways::kHonest, Ways::kHonest, Ways::kHonest});
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->kill_provider(cheat);
  work(*market, 60'000);
  market->rest_ms(60'000);
  work(*market, 200'000);
  EXPECT_EQ(count(*market, CaseStatus::kAccused), 1u);
  for (const Outsider& one : outsiders_) {
    EXPECT_EQ(one.audits + one.reports, 0u);
    EXPECT_EQ(stake_of(*market, one.address()), full());
  }
}

TEST_F(MoneyAuditors, ADrawGoesOnThoughTheGatewayDiesAtAnyWrite) {
  std::size_t crashed = 0;
  for (std::uint64_t write = 0; write < 12; ++write) {
    SCOPED_TRACE(write);
    auto market = open_audited(800 + write, {Ways::kHonest, Ways::kHonest, Ways::kHonest});
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    ASSERT_TRUE(market->infer("digits", picture(write)));
    market->kill_provider(cheat);
    market->rest_ms(50'000);
    ASSERT_EQ(count(*market, CaseStatus::kAccused), 1u);
    market->kill_gateway();
    market->break_gateway_at(write, store::testing::Fault::kCrashAfter);
    ASSERT_TRUE(market->start_gateway());
    work(*market, 130'000, 1'000);
    crashed += market->gateway_crashed() ? 1 : 0;
    market->kill_gateway();
    ASSERT_TRUE(market->start_gateway());
    work(*market, 300'000, 1'000);
    EXPECT_EQ(count(*market, CaseStatus::kConvicted), 1u);
    expect_no_honest_loss(*market);
  }
  EXPECT_GT(crashed, 4u);
}

// What its friend signed for it is accused once the cheat is convicted by proof.
TEST_F(MoneyAuditors, WhoConfirmsItsFriendsWrongAnswersLosesAllToo) {
  std::size_t confirmed = 0;
  recheck_probability_ = 0.5;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_audited(
        700 + seed, {Ways::kColluding, Ways::kHonest, Ways::kHonest, Ways::kHonest, Ways::kLazy});
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    friend_ = market->address_of(cheat);
    market->ask("digits", picture(seed), [](auto&&) {});
    work(*market, 5'000, 10);
    EXPECT_EQ(stake_of(*market, friend_), Amount()) << "the cheat";
    // Accused itself, it has nothing to say for it.
    for (int i = 0; i < 4; ++i) {
      market->rest_ms(60'000);
      work(*market, 3'000);
    }
    const bool has_lied = outsiders_[0].audits > 0;
    EXPECT_EQ(stake_of(*market, outsiders_[0].address()), has_lied ? Amount() : full());
    confirmed += has_lied ? 1 : 0;
    expect_no_honest_loss(*market);
  }
  fmt::print("{} seeds: the friend confirmed a wrong answer, and lost all, in {}\n", kSeeds,
             confirmed);
  EXPECT_GT(confirmed, kSeeds / 20);
}

// A gateway that lies accuses who is honest and cut off: who is drawn acquits it.
TEST_F(MoneyAuditors, WhoIsFramedAndCutOffIsAcquittedAndWhoReportsWithoutLookingPays) {
  std::size_t lazy = 0, silent = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open_audited(600 + seed, {Ways::kLazy, Ways::kHonest, Ways::kHonest,
                                            Ways::kHonest, Ways::kSilent, Ways::kHonest});
    market->kill_gateway();
    market->set_gateway_engines(make_bf16_cheat);
    ASSERT_TRUE(market->start_gateway());
    const std::size_t framed = add(*market, "framed");
    ASSERT_TRUE(market->infer("digits", picture(seed)));
    market->kill_provider(framed);
    market->rest_ms(70'000);
    ASSERT_EQ(count(*market, CaseStatus::kAccused), 1u);
    work(*market, 200'000);
    market->rest_ms(60'000);
    work(*market, 200'000);
    EXPECT_EQ(count(*market, CaseStatus::kAcquitted), 1u);
    EXPECT_EQ(stake_of(*market, market->address_of(framed)), terms_.provider.stake);
    expect_no_honest_loss(*market);
    lazy += stake_of(*market, outsiders_[0].address()) == Amount() ? 1 : 0;
    silent += stake_of(*market, outsiders_[4].address()) == *full().minus(Amount(50'000)) ? 1 : 0;
    const Amount left = stake_of(*market, outsiders_[4].address());
    EXPECT_GE(left, *full().minus(Amount(50'000)));
  }
  fmt::print("of {} seeds: the lazy one lost all in {}, the silent one a twentieth in {}\n", kSeeds,
             lazy, silent);
  EXPECT_GT(lazy, kSeeds / 10);
  EXPECT_GT(silent, kSeeds / 10);
}

}  // namespace
}  // namespace commensal::sim
