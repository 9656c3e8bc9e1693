// SPDX-License-Identifier: Apache-2.0
// Disputes between real processes: a cheat loses its stake by proof, though either side is killed
// after each move; who is framed keeps it.
#include <gmock/gmock.h>

#include <set>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

using testing::HasSubstr;

class DisputeSystem : public Disputes {
 protected:
  /// A cheat with a stake has answered, and the answer is audited.
  std::unique_ptr<Process> caught_cheat(const std::string& number = "") {
    open_court(digits(), "gateway" + number);
    auto cheat = start_cheat("cheat" + number);
    fund_stake();
    auto client = connect();
    answer(client, digits(), 1);
    return cheat;
  }
  void tell(std::size_t kills, std::size_t moves) {
    std::printf("killed after %zu of %zu moves\n", kills, moves);
    RecordProperty("kills", std::to_string(kills));
    EXPECT_GT(kills, moves / 2);
  }
  /// A gateway for each kill.
  void kill_gateways(std::size_t every) {
    std::set<std::size_t> kills;
    std::size_t moves = 1;
    for (std::size_t at = 0; at < moves; at += every) {
      SCOPED_TRACE(at);
      const auto cheat = caught_cheat(std::to_string(at));
      const auto killed = play(std::array{Victim::kGateway}, at, 1000, {});
      kills.insert(killed.begin(), killed.end());
      moves = std::max(moves, journal_->moves());
      expect_convicted();
      verify_ledger();
    }
    tell(kills.size(), moves / every);
  }
};

TEST_F(DisputeSystem, ACheatIsConvictedByProof) {
  const auto cheat = caught_cheat();
  play({}, 0, 0, {});
  expect_convicted();
  const core::Bytes log = *core::read_file(folder_.at("gateway.log"));
  EXPECT_THAT(std::string(core::as_text(log)),
              HasSubstr("provider " + address_ + ", accused by " + gateway_key_ + ": convicted"));
  verify_ledger();
}

// Started again, it makes several before a line of it can be read: a dispute for each.
TEST_F(DisputeSystem, ThoughTheGatewayIsKilledAfterEveryFourthMove) { kill_gateways(4); }

using SlowDisputeSystem = DisputeSystem;

TEST_F(SlowDisputeSystem, ThoughTheGatewayIsKilledAfterAnyMove) { kill_gateways(1); }

TEST_F(DisputeSystem, ThoughTheCheatIsKilledAfterEachMove) {
  auto cheat = caught_cheat();
  const auto kills = play(std::array{Victim::kAccused}, 0, 1, [&] {
    cheat->kill();
    cheat = start_cheat("cheat");
  });
  tell(kills.size(), journal_->moves());
  expect_convicted();
  verify_ledger();
}

TEST_F(DisputeSystem, WhoIsFramedKeepsItsStakeAndServesOn) {
  open_court(digits());
  const auto honest =
      start_provider("honest", {"--stake", kStake, "--pay-min", "0", "--hash-chain-depth", "14"});
  fund_stake();
  auto client = connect();
  const client::Answer given = answer(client, digits(), 1);
  wait_for_match(client, given.receipt);
  const auto liar = *crypto::SecretKey::from_bytes(core::Digest{77});
  const std::string its_address = crypto::to_text(liar.address());
  ask({"account", "deposit", its_address, "100", "--yes"});
  const auto amount = [&](const char* kind) { return std::stoll(balance(address_, kind)); };
  const long long before = amount("available");
  frame(client, liar, digits(), given.receipt);
  // Its ticket may have won meanwhile, which is worth 100,000.
  EXPECT_EQ((amount("available") - before) % 100'000, 50);
  EXPECT_EQ(balance(address_, "stake"), kStake);
  EXPECT_EQ(balance(its_address, "bond"), "0");
  EXPECT_EQ(balance(its_address, "available"), "0");
  wait_for_match(client, answer(client, digits(), 2).receipt);
  verify_ledger();
}

/// A consumer that accuses by the program: `commensal accuse`, where the gateway audits nothing.
class Accusers : public Disputes {
 protected:
  void SetUp() override {
    audits_ = {"--price",           "200", "--win-probability", "0.001", "--audit-probability", "0",
               "--no-audit-by-risk"};
    open_court(digits());
    root_.emplace(connect());
    alices_token_ = folder_.at("alice.token");
    const auto account = root_->create_account("alice", "consumer");
    ASSERT_TRUE(account) << account.error().message;
    ASSERT_TRUE(core::write_file_atomically(alices_token_, core::as_bytes(account->token), 0600));
    alice_.emplace(*client::Client::create({.url = url(), .token = account->token}));
    ask({"account", "deposit", "alice", "100000", "--reference", "alice", "--yes"});
    key_file_ = folder_.at("alice.key");
    const auto key = core::Digest{55};
    ASSERT_TRUE(core::write_file_atomically(key_file_, core::as_bytes(core::to_hex(key)), 0600));
    address_of_key_ = crypto::to_text(crypto::SecretKey::from_bytes(key)->address());
  }
  std::vector<std::string> as_alice(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(),
                     {"--gateway", url(), "--token-file", alices_token_, "--json"});
    return arguments;
  }
  /// A digit that either kind of provider answers, public as all of digits() is.
  std::string receipt() { return core::to_hex(answer(*alice_, digits(), 1).receipt); }
  std::vector<std::string> accuse(const std::string& receipt) const {
    return as_alice({"accuse", receipt, "--key", key_file_});
  }
  std::string refusal(const std::string& receipt) {
    int status = 0;
    const Json said = Json::parse(run(accuse(receipt), status), nullptr, false);
    EXPECT_EQ(status, 1);
    return said.is_object() ? said.at("error").at("message") : Json();
  }
  Json the_case(const std::string& receipt) {
    int status = -1;
    const Json said = Json::parse(run(as_alice({"case", "show", receipt}), status), nullptr, false);
    EXPECT_EQ(status, 0);
    return said.is_object() ? said.at("cases").at(0) : Json();
  }

  std::optional<client::Client> root_, alice_;
  std::string alices_token_, key_file_, address_of_key_;
};

TEST_F(Accusers, WhoIsWrongIsConvictedThoughTheyAreKilledOnTheWay) {
  const auto cheat = start_cheat("cheat");
  fund_stake();
  const std::string id = receipt();
  EXPECT_THAT(refusal(id),
              HasSubstr("an accusation needs a bond of 100, and " + address_of_key_ + " has 0: "));
  ask({"account", "deposit", address_of_key_, "100", "--yes"});
  {
    Process killed(accuse(id), folder_.at("accuse.log"));
    wait_for([&] {
      journal_->read();
      return journal_->accuser.moves > 0;
    });
  }
  const Json open = the_case(id);
  EXPECT_EQ(open.at("subject"), id);
  EXPECT_EQ(open.at("accused"), address_);
  int status = -1;
  const Json ended = Json::parse(run(accuse(id), status), nullptr, false);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(ended.is_object());
  EXPECT_EQ(ended.at("status"), "convicted");
  EXPECT_EQ(ended.at("owes"), Json::array());
  const Json& place = ended.at("dispute");
  ASSERT_TRUE(place.is_object()) << ended;
  EXPECT_THAT(place.at("verdict").get<std::string>(), HasSubstr("the provider was wrong: node "));
  EXPECT_TRUE(place.at("accused").at("wrong"));
  EXPECT_TRUE(place.at("element").is_number());
  EXPECT_TRUE(place.at("operation").is_number());
  journal_->read();
  expect_convicted();
  EXPECT_GE(std::stoll(balance(address_of_key_, "available")), 100);
  const Json all = Json::parse(run(as_alice({"case", "list", "--party", address_}), status));
  EXPECT_EQ(all.at("cases").size(), 1);
  // Once more it only says how it ended.
  EXPECT_EQ(Json::parse(run(accuse(id), status)).at("status"), "convicted");
  verify_ledger();
}

// The fault: of an answer whose opening lies in a file no accuser was given its turn.
TEST_F(Accusers, WhoIsWrongInALargeAnswerIsConvictedToo) {
  const auto cheat = start_cheat("cheat");
  fund_stake();
  ask({"account", "deposit", address_of_key_, "100", "--yes"});
  const Network many = {"digits", kModel, [](std::uint64_t) {
                          const std::vector<float> pixels(10'000 * 64, 3);
                          return tensor::NamedTensors{
                              {"image", tensor::Tensor::of<float>({10'000, 1, 8, 8}, pixels)}};
                        }};
  const std::string id = core::to_hex(answer(*alice_, many, 1).receipt);
  int status = -1;
  const Json ended = Json::parse(run(accuse(id), status), nullptr, false);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(ended.is_object());
  EXPECT_EQ(ended.at("status"), "convicted");
  journal_->read();
  expect_convicted();
}

TEST_F(Accusers, WhatIsRightIsNotAccused) {
  const auto honest =
      start_provider("honest", {"--stake", kStake, "--pay-min", "0", "--hash-chain-depth", "14"});
  fund_stake();
  ask({"account", "deposit", address_of_key_, "100", "--yes"});
  EXPECT_THAT(refusal(receipt()), HasSubstr("the answer is right, to the last bit"));
  EXPECT_EQ(balance(address_of_key_, "available"), "100");
  journal_->read();
  EXPECT_EQ(journal_->accusations, 0);
}

}  // namespace
}  // namespace commensal::e2e
