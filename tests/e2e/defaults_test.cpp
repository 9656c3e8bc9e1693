// SPDX-License-Identifier: Apache-2.0
// What holds where nobody says anything about money: a gateway on loopback, providers beside it.
#include <gmock/gmock.h>

#include <tests/e2e/paid_system.hpp>

namespace commensal::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class Defaults : public PaidSystem {
 protected:
  Defaults() { money_ = Money::kByDefault; }

  std::string log_of(const std::string& name) const {
    return std::string(core::as_text(*core::read_file(folder_.at(name + ".log"))));
  }
  std::unique_ptr<Process> start_cheat() {
    auto cheat = std::make_unique<Process>(
        std::vector<std::string>{"cheat", "--gateway", "127.0.0.1:" + provider_port_, "--data-dir",
                                 folder_.at("cheat"), "--json"},
        folder_.at("cheat.log"), COMMENSAL_LAB_PROGRAM);
    address_ = Json::parse(cheat->read_line()).at("address");
    return cheat;
  }
  /// The program's words, asked by an account.
  std::string said(std::vector<std::string> words, const std::string& token) {
    words.insert(words.end(), {"--gateway", url(), "--token-file", token});
    int status = -1;
    std::string text = e2e::run(words, status);
    EXPECT_EQ(status, 0) << words[0];
    return text;
  }
  Json said_json(std::vector<std::string> words, const std::string& token) {
    words.emplace_back("--json");
    return Json::parse(said(words, token), nullptr, false);
  }
  void wait_for_stake(const std::string& address) {
    for (int i = 0; i < 1200 && balance(address, "stake") != "1000000"; ++i) pause_ms(50);
    EXPECT_EQ(balance(address, "stake"), "1000000");
  }
};

// A cheat that nobody has told anything about money either loses all of it, beside one who does
// not.
TEST_F(Defaults, HonestWorkEarnsATicketAndACheatLosesItsStake) {
  start_gateway();
  EXPECT_THAT(log_of("gateway"), HasSubstr("note: test money, which nobody has paid for: a new "
                                           "account gets 120000000 of credit (10000 requests)"));
  EXPECT_EQ(balance("@gateway", "escrow"), "200000000");
  EXPECT_EQ(balance("@gateway", "penalty_escrow"), "400000000");
  const auto one = start_provider("one");
  const std::string honest = address_;
  const std::string alice = folder_.at("alice.token");
  EXPECT_EQ(said_json({"account", "create", "alice", "--save", alice}, token_file_)
                .value("test_credit", ""),
            "120000000");
  said({"push", kModel}, alice);
  wait_for_stake(honest);
  const Json answer = said_json(
      {"infer", "digits", "--input", std::string(COMMENSAL_SOURCE_DIR) + "/examples/three.pgm"},
      alice);
  EXPECT_EQ(answer.at("provider"), honest);
  EXPECT_EQ(said_json({"audit", answer.at("receipt")}, alice).at("outcome"), "match");
  EXPECT_EQ(ask({"tickets"}).at("ever").at("issued"), 1);
  EXPECT_EQ(balance("alice", "credit"), std::to_string(120'000'000 - 12'000));
  EXPECT_THAT(said({"account", "balance"}, alice), HasSubstr("alice  (test money)"));

  const auto cheat = start_cheat();
  wait_for_stake(address_);
  auto client = connect();
  push(client);
  std::string stake;
  for (std::uint64_t i = 0; i < 400 && stake != "0"; ++i) {
    insist(client, i);
    stake = balance(address_, "stake");
  }
  for (int i = 0; i < 1200 && stake != "0"; ++i, pause_ms(50)) stake = balance(address_, "stake");
  EXPECT_EQ(stake, "0") << log_of("gateway");
  EXPECT_EQ(balance(honest, "stake"), "1000000");
  said({"account", "create", "bob"}, token_file_);
  said({"account", "delete", "bob"}, token_file_);  // what it was given holds nobody back
}

TEST_F(Defaults, WithoutMoneyTheGatewaySaysWhatIsNotProtected) {
  start_gateway({"--no-money"});
  EXPECT_THAT(log_of("gateway"),
              HasSubstr("note: no money: a provider that is caught loses nothing but its key, 10 % "
                        "of the answers are audited, requests cost nothing; --face-value 100000 "
                        "changes that\n"));
  const auto one = start_provider("one");
  auto client = connect();
  push(client);
  insist(client, 1);
  EXPECT_EQ(ask({"account", "balance", address_}).at("balances").size(), 0u);
}

TEST_F(Defaults, BeyondLoopbackNobodyIsGivenAnything) {
  http_host_ = "0.0.0.0";
  scheme_ = "https://";
  start_gateway({"--hash-chain-depth", "10"});
  EXPECT_THAT(log_of("gateway"), Not(HasSubstr("test money")));
  scheme_ = "http://";  // of the providers, who are on loopback
  const auto one = start_provider("one", {"--hash-chain-depth", "10"});
  scheme_ = "https://";
  auto client = connect();
  push(client);
  const auto state = [&] {
    const auto known = client.get_json("/v1/providers");
    const Json all = Json::parse(known.value_or("{}")).value("providers", Json::array());
    return all.empty() ? std::string() : all[0].at("state").get<std::string>();
  };
  wait_for([&] { return state() != ""; });
  EXPECT_EQ(state(), "has a stake of 0, 1000000 are wanted");
  const auto made = client.create_account("alice", "consumer");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->test_credit, "");
  const auto refused = client.infer("operator/digits", 0, picture(1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("can't pay 12000"));
  const Json ledger = Json::parse(*client.get_json("/v1/ledger"));
  EXPECT_EQ(ledger.at("totals").value("credit", "0"), "0");
  EXPECT_EQ(ledger.at("terms").at("test_money"), false);
}

// Its winners cost more in all than it ever had in escrow.
TEST_F(Defaults, AGatewayThatEarnsWhatItsTicketsCostNeverRunsDry) {
  constexpr int kRequests = 120;
  start_gateway({"--price", "52000", "--win-probability", "0.5", "--auditor-fee", "1000",
                 "--escrow", "2000000", "--round-ms", "50", "--hash-chain-depth", "14"});
  const auto one = start_provider("one", {"--hash-chain-depth", "14"});
  wait_for_stake(address_);
  auto client = connect();
  push(client);
  for (std::uint64_t i = 0; i < kRequests; ++i) insist(client, i);
  Json ever;
  wait_for([&] {
    ever = ask({"tickets"}).at("ever");
    return ever.at("paid").get<int>() + ever.at("lost").get<int>() == kRequests;
  });
  const std::int64_t paid = ever.at("paid");
  EXPECT_GT(paid, 20) << "2 million";
  // How much is left is luck: a ticket in two wins. Not a unit of it is missing, and what there is
  // room for has gone back into escrow.
  const std::int64_t left = 2'000'000 + kRequests * 52'000 - paid * (100'000 + 1'000);
  wait_for([&] {
    const auto escrow = std::stoll(balance("@gateway", "escrow"));
    const auto available = std::stoll(balance("@gateway", "available"));
    return escrow + available == left && (escrow == 2'000'000 || available < 52'000);
  });
}

}  // namespace
}  // namespace commensal::e2e
