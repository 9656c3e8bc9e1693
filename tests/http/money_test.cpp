// SPDX-License-Identifier: Apache-2.0
// Money over HTTP: who may order what, what is refused and in which words.
#include <gtest/gtest.h>

#include <commensal/trade/pay/ledger/transaction.hpp>
#include <nlohmann/json.hpp>

#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using Json = nlohmann::json;

class MoneyApi : public ::testing::Test {
 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);
  client::Client root_ = world_.client(world_.root);
  client::Client anyone_ = world_.client("");

  static Json post(client::Client& client, const std::string& target, const Json& body) {
    const std::string text = body.dump();
    const auto answer = client.post(target, "application/json", core::as_bytes(text));
    return answer ? Json::parse(*answer)
                  : Json{{"refused", answer.error().message}, {"code", answer.error().code}};
  }
  std::string refusal(client::Client& client, const std::string& target, const Json& body) {
    return post(client, target, body).value("refused", "accepted");
  }
  Json deposit(const std::string& owner, const std::string& amount, const std::string& reference) {
    return post(root_, "/v1/deposits",
                {{"owner", owner}, {"amount", amount}, {"reference", reference}});
  }
  Json balances(client::Client& client, const std::string& query = "") {
    const auto got = client.get_json("/v1/balances" + query);
    return got ? Json::parse(*got) : Json{{"refused", got.error().message}};
  }
};

TEST_F(MoneyApi, TheOperatorBooksWhatComesInAndWhatIsPaidOut) {
  EXPECT_EQ(deposit("alice", "1000", "transfer 1")["balances"], Json({{"available", "1000"}}));
  EXPECT_EQ(balances(alice_)["balances"], Json({{"available", "1000"}}));
  EXPECT_EQ(balances(alice_)["name"], "alice");
  EXPECT_NE(deposit("alice", "1000", "transfer 1")["refused"].get<std::string>().find("already"),
            std::string::npos);
  EXPECT_EQ(post(root_, "/v1/withdrawals", {{"account", "alice"}, {"amount", "300"}})["balances"],
            Json({{"available", "700"}}));
  deposit("@gateway", "5000", "transfer 2");
  EXPECT_EQ(post(root_, "/v1/locks", {{"into", "escrow"}, {"amount", "4000"}})["balances"],
            Json({{"available", "1000"}, {"escrow", "4000"}}));
  post(root_, "/v1/locks", {{"into", "credit_pool"}, {"amount", "50"}});
  EXPECT_EQ(post(root_, "/v1/credits", {{"owner", "bob"}, {"amount", "20"}})["balances"],
            Json({{"credit", "20"}}));
  const Json ledger = Json::parse(*alice_.get_json("/v1/ledger"));
  EXPECT_EQ(ledger["totals"], Json({{"available", "1650"},
                                    {"credit", "20"},
                                    {"credit_pool", "30"},
                                    {"escrow", "4000"},
                                    {"outside", "5700"}}));
  const Json tickets = Json::parse(*alice_.get_json("/v1/tickets"));
  EXPECT_EQ(tickets["tickets"]["won"], 0);
  EXPECT_EQ(tickets["seconds_to_payment"], nullptr);
  EXPECT_EQ(tickets["ever"]["issued"], 0);
}

TEST_F(MoneyApi, BadOrdersAreRefusedInOneLine) {
  const Json good = {{"owner", "alice"}, {"amount", "5"}, {"reference", "r"}};
  EXPECT_EQ(refusal(alice_, "/v1/deposits", good),
            "this is for operators only: use the token whose file the gateway names at its start");
  EXPECT_NE(refusal(anyone_, "/v1/deposits", good).find("a token is needed"), std::string::npos);
  const auto with = [&](const char* name, const Json& value) {
    Json bad = good;
    bad[name] = value;
    return refusal(root_, "/v1/deposits", bad);
  };
  EXPECT_EQ(with("owner", "carol"), "unknown account 'carol': a name, 0x..., @gateway or @auditor");
  for (const char* amount :
       {"", "0", "-1", "1.5", "1e3", "007", " 1", "340282366920938463463374607431768211456"}) {
    EXPECT_EQ(with("amount", amount),
              fmt::format("amount: '{}', expected an integer from 1 to 2^128 - 1, decimal digits "
                          "in quotes",
                          amount));
  }
  EXPECT_NE(with("amount", 5), "accepted");  // a number: readers of JSON round those
  EXPECT_NE(with("reference", ""), "accepted");
  EXPECT_EQ(with("more", "x"), "unknown member 'more': owner, amount, reference");
  EXPECT_EQ(refusal(root_, "/v1/deposits", {{"owner", "alice"}, {"amount", "5"}}),
            "the member 'reference' is missing: owner, amount, reference, all of them texts");
  const std::string overdraft =
      refusal(root_, "/v1/withdrawals", {{"account", "alice"}, {"amount", "1"}});
  EXPECT_NE(overdraft.find("overdraft"), std::string::npos) << overdraft;
  EXPECT_NE(refusal(root_, "/v1/withdrawals",
                    {{"account", crypto::to_text(world_.provider_address())}, {"amount", "1"}})
                .find("has a key of its own"),
            std::string::npos);
  EXPECT_EQ(refusal(root_, "/v1/locks", {{"into", "stake"}, {"amount", "1"}}),
            "into: 'stake', expected escrow, penalty_escrow or credit_pool");
  EXPECT_EQ(balances(alice_, "?owner=bob")["refused"],
            "an account may ask for itself or for an address");
  EXPECT_EQ(balances(anyone_)["refused"], "a token is needed, or ?owner=0x...");
  EXPECT_NE(balances(anyone_, "?owner=0x12")["refused"], nullptr);
  EXPECT_FALSE(alice_.get_json("/v1/tickets?provider=x"));
  EXPECT_EQ(balances(alice_)["balances"], Json::object());
}

TEST_F(MoneyApi, WhoHasAKeyMovesItsOwnMoneyAndNothingElse) {
  core::CounterRng rng(4);
  const crypto::SecretKey key = crypto::SecretKey::generate(rng);
  const std::string owner = crypto::to_text(key.address());
  const auto send = [&](ledger::Body body) -> Json {
    const Json now = balances(anyone_, "?owner=" + owner);
    ledger::Transaction made;
    made.ledger = *crypto::address_from_text(now.at("ledger").get<std::string>());
    made.sender = key.address();
    made.nonce = now.at("nonce");
    made.body = std::move(body);
    ledger::sign(key, made);
    const auto answer =
        anyone_.post("/v1/transactions", "application/octet-stream", protocol::encode(made));
    return answer ? Json::parse(*answer) : Json{{"refused", answer.error().message}};
  };
  using ledger::AccountKind;
  using protocol::Amount;
  EXPECT_EQ(
      send(ledger::Allow{key.address(), Amount(1)})["refused"],
      fmt::format("sender: {0} has nothing in this ledger before its operator books something "
                  "in (account deposit {0} AMOUNT --yes)",
                  owner));
  deposit(owner, "100", "transfer 3");
  EXPECT_EQ(send(ledger::Fund{AccountKind::kStake, Amount(60)})["balances"],
            Json({{"available", "40"}, {"stake", "60"}}));
  const Json left = send(ledger::AnnounceWithdrawal{AccountKind::kStake, Amount(25)});
  EXPECT_EQ(left["balances"], Json({{"available", "40"}, {"stake", "35"}, {"withdrawing", "25"}}));
  ASSERT_EQ(left["announcements"].size(), 1u);
  const std::uint64_t number = left["announcements"][0]["number"];
  EXPECT_NE(send(ledger::CompleteWithdrawal{number})["refused"].get<std::string>().find(
                "announcement: released at"),
            std::string::npos);
  EXPECT_EQ(send(ledger::Withdraw{Amount(40)})["balances"],
            Json({{"stake", "35"}, {"withdrawing", "25"}}));
  EXPECT_EQ(
      send(ledger::Mature{})["refused"],
      "Mature: expected Withdraw, Fund, AnnounceWithdrawal, CompleteWithdrawal, Allow, Sell, Buy, "
      "Enlist, a Reveal that the sender is asked for or what is said of an accusation");
  const auto junk =
      anyone_.post("/v1/transactions", "application/octet-stream", core::as_bytes("junk"));
  ASSERT_FALSE(junk);
  EXPECT_EQ(junk.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(MoneyApi, CasesAreThereForEveryAccount) {
  EXPECT_EQ(Json::parse(*alice_.get_json("/v1/cases")), Json({{"cases", Json::array()}}));
  const std::string party = crypto::to_text(world_.provider_address());
  EXPECT_EQ(Json::parse(*alice_.get_json("/v1/cases?party=" + party)).at("cases").size(), 0);
  const auto refused = [](client::Client& client, const std::string& target) {
    const auto got = client.get_json(target);
    return got ? "accepted" : got.error().message;
  };
  EXPECT_EQ(refused(alice_, "/v1/cases/" + std::string(64, 'a')),
            "nobody has accused " + std::string(64, 'a'));
  EXPECT_EQ(refused(alice_, "/v1/cases/12"), "a case is named by 64 hexadecimal digits");
  EXPECT_NE(refused(alice_, "/v1/cases?party=x").find("?party="), std::string::npos);
  EXPECT_NE(refused(anyone_, "/v1/cases").find("a token is needed"), std::string::npos);
}

}  // namespace
}  // namespace commensal::tests
