// SPDX-License-Identifier: Apache-2.0
// Money through the programs, as their users see it.
#include <gmock/gmock.h>

#include <tests/e2e/counted_host.hpp>
#include <tests/e2e/paid_system.hpp>

namespace commensal::e2e {
namespace {

using testing::HasSubstr;

constexpr int kRequests = 40;

class MoneySystem : public PaidSystem {
 protected:
  void start_paid_gateway() {
    start_gateway({"--price", "52000", "--face-value", "100000", "--win-probability", "0.5",
                   "--stake-min", "1000000", "--round-ms", "50", "--hash-chain-depth", "14",
                   "--auditor-fee", "1000", "--audit-probability", "0"});
  }
  /// What it says on standard error where it fails.
  std::string complaint(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--gateway", url(), "--token-file", token_file_});
    return complaint_of(arguments);
  }
  /// Without a gateway.
  std::string complaint_of(const std::vector<std::string>& arguments) const {
    const std::string log = folder_.at("complaint");
    std::filesystem::remove(log);
    Process process(arguments, log);
    int status = 0;
    process.read_all(status);
    EXPECT_EQ(status, 1);
    return std::string(core::as_text(*core::read_file(log)));
  }
  void fund() {
    ask({"account", "deposit", "@gateway", "20000000", "--reference", "own"});
    ask({"account", "lock", "escrow", "20000000"});
    fund_penalties();
    ask({"account", "deposit", "operator", "10000000", "--reference", "transfer 1"});
  }
  /// Without which no provider works.
  void fund_penalties() {
    ask({"account", "deposit", "@gateway", "40000000", "--reference", "penalties"});
    ask({"account", "lock", "penalty_escrow", "40000000"});
  }
};

TEST_F(MoneySystem, PricesTicketsAndStakesMoveAndNothingIsLost) {
  start_paid_gateway();
  auto client = connect();
  push(client);
  fund();
  const auto provider = start_provider(
      "one", {"--stake", "1000000", "--pay-min", "50000", "--hash-chain-depth", "14"});
  ask({"account", "deposit", address_, "1500000", "--yes"});
  wait_for([&] { return balance(address_, "stake") == "1000000"; });
  for (std::uint64_t i = 0; i < kRequests; ++i) insist(client, i);
  EXPECT_EQ(balance("operator", "available"), std::to_string(10'000'000 - kRequests * 52'000));
  Json tickets;
  wait_for([&] {
    tickets = ask({"tickets"});
    const Json& ever = tickets.at("ever");
    return ever.at("paid").get<int>() + ever.at("lost").get<int>() == kRequests;
  });
  EXPECT_EQ(tickets.at("ever").at("issued"), kRequests);
  EXPECT_EQ(tickets.at("claims_pending"), 0);
  const int paid = tickets.at("ever").at("paid");
  EXPECT_GT(paid, 0);
  EXPECT_EQ(balance(address_, "available"), std::to_string(500'000 + paid * 100'000));
  EXPECT_EQ(balance("@auditor", "available"), std::to_string(paid * 1'000));
  // How often the gateway audits it, from what the gateway knows.
  const Json risk = ask({"risk", address_});
  EXPECT_EQ(risk.at("gateway_audit_probability"), risk.at("figures").back().at("value"));
  EXPECT_GT(risk.at("gateway_audit_probability").get<double>(), 0);
  // The provider's own book agrees.
  wait_for([&] {
    const Json own = ask({"tickets", "--data-dir", folder_.at("one")});
    return own.at("ever").at("value_paid") == tickets.at("ever").at("value_paid");
  });
  EXPECT_EQ(ask({"tickets", "--provider", address_}).at("tickets"), tickets.at("tickets"));

  const Json left = ask({"stake", "announce", "400000", "--data-dir", folder_.at("one")});
  EXPECT_EQ(left.at("balances").at("withdrawing"), "400000");
  const std::string number = left.at("announcements")[0].at("number").dump();
  EXPECT_NE(complaint({"stake", "complete", number, "--data-dir", folder_.at("one")})
                .find("announcement: released at"),
            std::string::npos);

  gateway_->kill();
  int status = -1;
  const Json checked =
      Json::parse(run({"ledger", "verify", "--data-dir", folder_.at("gateway"), "--json"}, status));
  EXPECT_EQ(status, 0);
  EXPECT_GT(checked.at("entries"), kRequests);
}

// Beside a host that earns more than its guest could, the guest stands still once both are known;
// beside one that earns next to nothing it goes on.
using SlowMoneySystem = MoneySystem;

TEST_F(SlowMoneySystem, AGuestRunsWhereItEarnsMoreThanItsHostLoses) {
  start_paid_gateway();
  {
    auto client = connect();
    push(client);
  }
  fund();
  ask({"account", "deposit", "operator", "1000000000", "--reference", "transfer 2"});
  ask({"account", "deposit", "@gateway", "1000000000", "--reference", "own 2"});
  ask({"account", "lock", "escrow", "1000000000"});
  for (const bool is_rich : {true, false}) {
    const OwnMachine machine;
    const CountedHost host(folder_.at("work"));
    const std::string name = is_rich ? "rich" : "poor";
    const auto provider =
        start_provider(name, {"--stake", "1000000", "--pay-min", "50000", "--hash-chain-depth",
                              "14", "--host", "counter:" + folder_.at("work"), "--host-kept-min",
                              "50%", "--host-income-per-hour", is_rich ? "1e14" : "1e9"});
    ask({"account", "deposit", address_, "1000000", "--yes"});
    std::jthread consumer([&](const std::stop_token& stop) {
      auto client = connect(1'000);  // it may stand still when this ends
      for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
        (void)client.infer("operator/digits", 0, picture(i));
        pause_ms(50);
      }
    });
    const auto status = [] {
      int code = -1;
      const Json made = Json::parse(run({"provider", "status", "--json"}, code), nullptr, false);
      return code == 0 ? made : Json();
    };
    Json now;
    bool is_known = false, stands = false;
    for (int i = 0; i < 1200 && !(is_known && stands == is_rich); ++i, pause_ms(50)) {
      now = status();
      if (!now.is_object()) continue;
      const Json& income = now["income"];
      is_known = income["guests_at_full_speed_per_hour"].is_number() &&
                 income["host_loses_per_hour"].is_number() && now["guests"][0]["served"] > 20;
      stands = now["governor"]["why"] == "guests earn less than the host would lose";
    }
    ASSERT_TRUE(is_known) << now.dump();
    EXPECT_EQ(stands, is_rich) << now.dump();
    EXPECT_EQ(now["income"]["guests_at_full_speed_per_hour"].get<double>() <
                  now["income"]["host_loses_per_hour"].get<double>(),
              is_rich)
        << now.dump();
  }
}

/// A gateway that has lost the file of its model cannot audit; provider and consumer go on.
class ClaimsForSale : public MoneySystem {
 protected:
  void start() {
    start_gateway({"--price", "110000", "--face-value", "100000", "--win-probability", "1",
                   "--stake-min", "1000000", "--round-ms", "50", "--hash-chain-depth", "14",
                   "--auditor-fee", "1000", "--audit-probability", "0"});
  }
  /// The only file of a model; it goes to `hidden`, or comes back.
  void move_model(bool away) {
    const core::Path models = core::Path(folder_.at("gateway")) / "models";
    const core::Path hidden = folder_.at("hidden.onnx");
    if (!away) return std::filesystem::rename(hidden, model_);
    for (const auto& file : std::filesystem::directory_iterator(models)) {
      if (file.path().extension() == ".onnx") model_ = file.path();
    }
    std::filesystem::rename(model_, hidden);
  }
  Json for_sale() { return ask({"claim", "list"}).at("claims"); }
  Json sold_by(const std::string& name) { return ask({"tickets", "--data-dir", folder_.at(name)}); }
  /// A key of somebody who has so much.
  std::string make_buyer(const std::string& amount) {
    EXPECT_TRUE(
        core::write_file_atomically(folder_.at("password"), core::as_bytes("horse\n"), 0600));
    int status = -1;
    const std::string said = run({"key", "new", folder_.at("buyer.json"), "--password-file",
                                  folder_.at("password"), "--json"},
                                 status);
    EXPECT_EQ(status, 0);
    const std::string address = Json::parse(said).at("address");
    ask({"account", "deposit", address, amount, "--yes"});
    return address;
  }
  std::vector<std::string> as_buyer(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--key", folder_.at("buyer.json"), "--password-file",
                                       folder_.at("password")});
    return arguments;
  }

 private:
  core::Path model_;
};

TEST_F(ClaimsForSale, AWinnerIsPricedSoldAndPaidToWhoBoughtIt) {
  start();
  auto client = connect();
  push(client);
  fund();
  const auto provider = start_provider(
      "one", {"--stake", "1000000", "--hash-chain-depth", "14", "--sell-winners", "0.9"});
  ask({"account", "deposit", address_, "1000000", "--yes"});
  insist(client, 0);  // the provider has the model now
  wait_for([&] { return balance(address_, "available") == "100000"; });
  gateway_->kill();
  start();
  move_model(true);
  const core::Digest receipt = insist(client, 1).receipt;
  wait_for([&] { return for_sale().size() == 1; });
  const Json claim = for_sale().at(0);
  EXPECT_EQ(claim.at("receipt"), core::to_hex(receipt));
  EXPECT_EQ(claim.at("model"), "operator/digits");
  EXPECT_EQ(claim.at("holder"), address_);
  EXPECT_EQ(claim.at("face_value"), "100000");
  EXPECT_EQ(claim.at("asked"), "90000");
  const Json quote = ask({"claim", "quote", core::to_hex(receipt)});
  EXPECT_EQ(quote.at("ticket"), claim.at("ticket"));
  EXPECT_NEAR(quote.at("right").at("value").get<double>(),
              claim.at("quote").at("right").get<double>(), 1e-6);  // trust fades
  EXPECT_GT(quote.at("claim_price").at("value").get<double>(), 90'000);
  EXPECT_LT(quote.at("claim_price").at("value").get<double>(), 100'000);

  const std::string buyer = make_buyer("100000");
  const std::string ticket = claim.at("ticket");
  EXPECT_THAT(complaint(as_buyer({"claim", "buy", ticket, "--price", "80000"})),
              HasSubstr("price: 80000, expected the 90000 that are asked"));
  EXPECT_THAT(complaint(as_buyer({"claim", "sell", ticket, "--price", "1"})),
              HasSubstr("expected the holder"));
  const Json after = ask(as_buyer({"claim", "buy", ticket, "--price", "90000"}));
  EXPECT_EQ(after.at("balances").at("available"), "10000");
  EXPECT_EQ(balance(address_, "available"), "190000");
  wait_for([&] { return sold_by("one").at("tickets").at("sold") == 1; });
  EXPECT_EQ(sold_by("one").at("ever").at("value_paid"), "190000");
  EXPECT_TRUE(for_sale().empty());
  ask(as_buyer({"claim", "sell", ticket, "--price", "99000"}));
  EXPECT_EQ(for_sale().at(0).at("holder"), buyer);
  ask(as_buyer({"claim", "sell", ticket, "--price", "0"}));
  EXPECT_TRUE(for_sale().empty());

  gateway_->kill();
  move_model(false);
  start();  // and audit what is open
  wait_for([&] { return balance(buyer, "available") == "110000"; });
  EXPECT_EQ(balance(address_, "available"), "190000");
  EXPECT_EQ(balance(address_, "stake"), "1000000");
  wait_for([&] { return sold_by("one").at("tickets").at("paid") == 2; });
  EXPECT_EQ(sold_by("one").at("ever").at("value_paid"), "190000");
  gateway_->kill();
  int status = -1;
  run({"ledger", "verify", "--data-dir", folder_.at("gateway"), "--json"}, status);
  EXPECT_EQ(status, 0);
}

// Under such settings a wrong answer would pay.
TEST_F(MoneySystem, AGatewayWhoseStakesDeterNobodyDoesNotStart) {
  const auto said_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"gateway",
                                          "--data-dir",
                                          folder_.at("cheap"),
                                          "--http",
                                          "127.0.0.1:0",
                                          "--providers",
                                          "127.0.0.1:0",
                                          "--price",
                                          "12000",
                                          "--face-value",
                                          "100000",
                                          "--win-probability",
                                          "0.1",
                                          "--hash-chain-depth",
                                          "10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return complaint_of(arguments);
  };
  EXPECT_THAT(
      said_with({"--stake-min", "0"}),
      HasSubstr("a stake of 0 (--stake-min) deters nobody: a wrong answer saves up to 10000"));
  EXPECT_THAT(said_with({"--stake-min", "23157"}), HasSubstr("give --stake-min 23158 or more"));
  EXPECT_THAT(said_with({"--stake-min", "23158", "--no-audit-by-risk"}),
              HasSubstr("which 19 % are at most"));
}

TEST_F(MoneySystem, WhereTheGatewayLacksMoneyTheNextOrderIsNamed) {
  start_paid_gateway();
  EXPECT_THAT(complaint({"account", "grant", "operator", "70"}),
              HasSubstr("; `account lock credit_pool 70` puts it there"));
  EXPECT_THAT(complaint({"account", "lock", "credit_pool", "70"}),
              HasSubstr("; `account deposit @gateway 70` puts it there"));
  ask({"account", "deposit", "@gateway", "70"});
  ask({"account", "lock", "credit_pool", "70"});
  ask({"account", "grant", "operator", "70"});
  EXPECT_EQ(balance("operator", "credit"), "70");
}

TEST_F(MoneySystem, WhatCannotBeIsRefusedInOneLine) {
  start_paid_gateway();
  auto client = connect();
  push(client);
  fund();
  EXPECT_NE(complaint({"account", "deposit", "nobody", "5"}).find("unknown account 'nobody'"),
            std::string::npos);
  EXPECT_NE(complaint({"account", "deposit", "operator", "1.5"}).find("amount: '1.5', expected"),
            std::string::npos);
  EXPECT_NE(
      complaint({"account", "deposit", "operator", "1", "--reference", "own"}).find("already"),
      std::string::npos);
  EXPECT_NE(complaint({"account", "withdraw", "operator", "99999999999"}).find("overdraft"),
            std::string::npos);
  // A provider that asks for more than a ticket is worth gets no work.
  const auto dear = start_provider(
      "dear", {"--stake", "1000000", "--pay-min", "50001", "--hash-chain-depth", "14"});
  ask({"account", "deposit", address_, "1000000", "--yes"});
  wait_for([&] { return balance(address_, "stake") == "1000000"; });
  const auto refused = client.infer("operator/digits", 0, picture(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its ticket is worth 50000, expected at least 50001"),
            std::string::npos)
      << refused.error().message;
  int status = -1;
  run({"gateway", "--no-money", "--price", "5"}, status);
  EXPECT_NE(status, 0);
  run({"gateway", "--face-value", "-5"}, status);
  EXPECT_NE(status, 0);
}

// What was refused of a private model was told to everybody.
TEST_F(MoneySystem, WhoRefusesEverythingIsShownSoOnPublicModelsAlone) {
  start_gateway({"--price", "2", "--face-value", "10", "--win-probability", "0.01", "--stake-min",
                 "1", "--hash-chain-depth", "10", "--escrow", "1000000"});
  ask({"account", "deposit", "operator", "1000"});
  const auto provider =
      start_provider("dear", {"--hash-chain-depth", "10", "--pay-min", "1000000", "--stake", "1"});
  ask({"account", "deposit", address_, "1", "--yes"});
  wait_for([&] { return ask({"providers"}).dump().find("serving") != std::string::npos; });
  const auto state_after = [&](const std::vector<std::string>& push) {
    ask(push);
    complaint(
        {"infer", "digits", "--input", std::string(COMMENSAL_SOURCE_DIR) + "/examples/three.pgm"});
    return ask({"providers"}).dump();
  };
  const std::string after_private = state_after({"push", kModel, "--private", "--allow", address_});
  EXPECT_EQ(after_private.find("refused"), std::string::npos) << after_private;
  const std::string after_public = state_after({"push", kModel});
  EXPECT_NE(after_public.find("refused its last 1 job(s): its ticket"), std::string::npos)
      << after_public;
}

}  // namespace
}  // namespace commensal::e2e
