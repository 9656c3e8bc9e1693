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
TEST_F(DisputeSystem, ThoughTheGatewayIsKilledAfterAnyMove) {
  std::set<std::size_t> kills;
  std::size_t moves = 1;
  for (std::size_t at = 0; at < moves; ++at) {
    SCOPED_TRACE(at);
    const auto cheat = caught_cheat(std::to_string(at));
    const auto killed = play(std::array{Victim::kGateway}, at, 1000, {});
    kills.insert(killed.begin(), killed.end());
    moves = std::max(moves, journal_->moves());
    expect_convicted();
    verify_ledger();
  }
  tell(kills.size(), moves);
}

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

}  // namespace
}  // namespace commensal::e2e
