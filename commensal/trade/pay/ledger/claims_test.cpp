// SPDX-License-Identifier: Apache-2.0
// Tickets in the ledger, with real keys, receipts and hash chains.
#include <commensal/trade/pay/ledger/punish.hpp>
#include <commensal/trade/pay/ledger/testing/claims_fixture.hpp>

namespace commensal::ledger {
namespace {

using protocol::Outcome;
using ::testing::HasSubstr;
using testing::Person;
using testing::Step;

class MoneyClaims : public testing::ClaimsFixture {};

TEST_F(MoneyClaims, AWinnerIsOpenedJudgedAndPaidOnce) {
  const Step made = ticket(3);
  const Open open{pair_.claim(made), {}};
  accept(provider(), open);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 897u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kClaims), 103u);
  EXPECT_THAT(refusal(provider(), open), HasSubstr("is open already"));
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(provider_address()), 100u);
  EXPECT_EQ(balance(auditor_.address), 3u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kClaims), 0u);
  EXPECT_THAT(refusal(provider(), open), HasSubstr("is paid already"));
  EXPECT_THAT(refusal(auditor_.key, judge(made, Outcome::kMatch, auditor_.key)),
              HasSubstr("is paid already"));
}

TEST_F(MoneyClaims, RefusesClaimsThatDoNotHold) {
  const Step made = ticket(3);
  const auto open = [&](auto&& bend) {
    Open body{pair_.claim(made), {}};
    bend(body.claim);
    return refusal(provider(), body);
  };
  EXPECT_THAT(open([](auto& claim) { claim.gateway_reveal[0] ^= 1; }), HasSubstr("does not hash"));
  EXPECT_THAT(open([](auto& claim) { claim.provider_reveal[0] ^= 1; }), HasSubstr("does not hash"));
  EXPECT_THAT(open([](auto& claim) { claim.output_salt[0] ^= 1; }), HasSubstr("do not open"));
  EXPECT_THAT(open([](auto& claim) { claim.receipt.round = 4; }), HasSubstr("does not hash"));
  EXPECT_THAT(open([](auto& claim) { claim.receipt.job.face_value = Amount(101); }),
              HasSubstr("claim: "));
  EXPECT_THAT(open([](auto& claim) { claim.receipt.job.beacons[0][0] ^= 1; }),
              HasSubstr("is not registered"));
  EXPECT_THAT(open([](auto& claim) { claim.receipt.client.signature.bytes[32] |= 0x80; }),
              HasSubstr("malleable"));
  Step abroad = made;
  pair_.sign({&abroad, 1}, 1);
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(abroad), {}}), HasSubstr("wrong chain"));
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(ticket(3, 100, false)), {}}),
              HasSubstr("has lost"));
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(ticket(3, 1100)), {}}), HasSubstr("escrow of"));
  accept(provider(), Open{pair_.claim(made), {}});
}

TEST_F(MoneyClaims, EscrowOnItsWayOutStillCoversWinners) {
  accept(gateway(), AnnounceWithdrawal{AccountKind::kEscrow, Amount(950)});
  const std::uint64_t number = ledger_.state().scalars.entries - 1;
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 0u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kWithdrawing), 897u);
  now_ms_ += 1000;
  accept(gateway(), CompleteWithdrawal{number});
  EXPECT_EQ(balance(gateway_address()), 897u);
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(provider_address()), 100u);
}

// Nobody's word convicts: not that of an auditor whom the operator has admitted either.
TEST_F(MoneyClaims, OnlyAMatchIsBooked) {
  const Step open = ticket(3), lost = ticket(3, 100, false), undrawn = ticket(9);
  accept(provider(), Open{pair_.claim(open), {}});
  for (const Step* const made : {&open, &lost, &undrawn}) {
    for (const Outcome outcome : {Outcome::kMismatch, Outcome::kUnavailable}) {
      EXPECT_THAT(refusal(auditor_.key, judge(*made, outcome, auditor_.key)),
                  HasSubstr("only a match is booked; a wrong answer is accused (Accuse)"));
    }
  }
  EXPECT_EQ(balance(provider_address(), AccountKind::kStake), 500u);
  for (const Step* const made : {&lost, &undrawn}) {
    EXPECT_THAT(refusal(auditor_.key, judge(*made, Outcome::kMatch, auditor_.key)),
                HasSubstr("is not open"));
  }
}

TEST_F(MoneyClaims, OnlyAdmittedAuditorsWithoutAShareJudge) {
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  EXPECT_THAT(refusal(stranger_.key, judge(made, Outcome::kMatch, stranger_.key)),
              HasSubstr("is not admitted here"));
  accept(operator_.key, AdmitAuditor{provider_address(), 1});
  EXPECT_THAT(refusal(provider(), judge(made, Outcome::kMatch, provider())),
              HasSubstr("is paid by the ticket"));
  Judge forged = judge(made, Outcome::kMatch, stranger_.key);
  forged.verdict.auditor = auditor_.address;
  EXPECT_THAT(refusal(provider(), forged), HasSubstr("verdict: recovers to"));
  Judge other = judge(made, Outcome::kMatch, auditor_.key);
  other.receipt.job.auditors = protocol::AuditorClass::kNobody;
  EXPECT_THAT(refusal(provider(), other), HasSubstr("is not open"));
  EXPECT_THAT(refusal(provider(), judge(ticket(3), Outcome::kMatch, auditor_.key)),
              HasSubstr("is not open"));
}

TEST_F(MoneyClaims, WhatNobodyJudgesIsPaidInTime) {
  const Step made = ticket(3);
  const Digest id = protocol::ticket_id(made.receipt.body());
  accept(provider(), Open{pair_.claim(made), {}});
  now_ms_ += 499;
  EXPECT_THAT(refusal(provider(), Mature{id}), HasSubstr("a verdict has time until 510 ms"));
  ++now_ms_;
  accept(stranger_.key, Mature{id});
  EXPECT_EQ(balance(provider_address()), 100u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 900u);
  EXPECT_THAT(refusal(provider(), Mature{id}), HasSubstr("is paid already"));
}

TEST_F(MoneyClaims, AClaimIsPassedOn) {
  const Step made = ticket(3);
  const Digest id = protocol::ticket_id(made.receipt.body());
  const auto link = [&](const crypto::SecretKey& from, std::uint64_t index, const Address& to) {
    return protocol::sign_endorsement(from, {id, index, {}, to, {}});
  };
  const Person first(20), second(21);
  accept(stranger_.key, Open{pair_.claim(made), {link(provider(), 0, first.address)}});
  EXPECT_THAT(refusal(provider(), Endorse{link(provider(), 1, second.address)}),
              HasSubstr("expected index 1 from the holder"));
  EXPECT_THAT(refusal(provider(), Endorse{link(first.key, 0, second.address)}),
              HasSubstr("expected index 1"));
  accept(stranger_.key, Endorse{link(first.key, 1, second.address)});
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(second.address), 100u);
  EXPECT_EQ(balance(provider_address()) + balance(first.address), 0u);
}

protocol::JointSettlement both_sign(const crypto::SecretKey& client,
                                    const crypto::SecretKey& holder,
                                    protocol::JointSettlement settlement) {
  settlement.client = client.address();
  settlement.holder = holder.address();
  settlement.by_client = protocol::sign_settlement(client, settlement);
  settlement.by_holder = protocol::sign_settlement(holder, settlement);
  return settlement;
}

TEST_F(MoneyClaims, AJointOutcomeReplacesWhatWasPending) {
  const Step drawn = ticket(3), undrawn = ticket(9);
  const auto settle = [&](const Step& made, std::uint64_t to_holder, std::uint64_t to_client) {
    const Digest id = protocol::ticket_id(made.receipt.body());
    return Settle{made.receipt,
                  {},
                  both_sign(gateway(), provider(),
                            {id, {}, {}, Amount(to_holder), Amount(to_client), {}, {}})};
  };
  accept(provider(), Open{pair_.claim(drawn), {}});
  accept(provider(), settle(drawn, 60, 7));
  EXPECT_EQ(balance(provider_address()), 53u);
  EXPECT_EQ(balance(gateway_address()), 7u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kClaims), 0u);
  EXPECT_EQ(balance(provider_address(), AccountKind::kStake), 500u);
  accept(gateway(), settle(undrawn, 5, 0));
  EXPECT_EQ(balance(provider_address()), 58u);
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(undrawn), {}}), HasSubstr("is settled already"));
  EXPECT_THAT(refusal(provider(), settle(undrawn, 5, 0)), HasSubstr("is settled already"));
  EXPECT_THAT(refusal(provider(), settle(ticket(10), 2000, 0)), HasSubstr("escrow of"));
  // A stake has no such way out: its owner could sign for both, before it is slashed.
  EXPECT_THAT(refusal(provider(), settle(ticket(10), 0, 500)), HasSubstr("overdraft: available"));
  // Two strangers cannot settle somebody else's ticket.
  Settle foreign = settle(ticket(10), 0, 0);
  foreign.settlement = both_sign(stranger_.key, auditor_.key, foreign.settlement);
  EXPECT_THAT(refusal(stranger_.key, foreign), HasSubstr("settlement: expected ticket"));
  Settle alone = settle(ticket(10), 100, 0);
  alone.settlement.by_client = protocol::sign_settlement(provider(), alone.settlement);
  EXPECT_THAT(refusal(provider(), alone), HasSubstr("joint settlement: client"));
}

TEST_F(MoneyClaims, AWinnerThatIsNotOpenedIsSlashed) {
  const Step made = ticket(3);
  EXPECT_THAT(refusal(gateway(), Silence{made.receipt}), HasSubstr("silence: "));
  accept(gateway(), gateway_reveals(20));
  accept(gateway(), provider_reveals(8));
  EXPECT_THAT(refusal(gateway(), Silence{made.receipt}), HasSubstr("acknowledged round 8"));
  accept(gateway(), provider_reveals(9));
  EXPECT_THAT(refusal(gateway(), Silence{ticket(3, 100, false).receipt}), HasSubstr("has lost"));
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(made), {}}), HasSubstr("expired"));
  accept(gateway(), Silence{made.receipt});
  EXPECT_EQ(balance(provider_address(), AccountKind::kStake), 400u);
  EXPECT_EQ(burnt(), 50u);
  EXPECT_EQ(balance(gateway_address()), 50u);
  EXPECT_THAT(refusal(gateway(), Silence{made.receipt}), HasSubstr("is silent already"));
}

TEST_F(MoneyClaims, AnOpenedWinnerIsNotSilent) {
  const Step made = ticket(3);
  accept(provider(), Open{pair_.claim(made), {}});
  accept(gateway(), gateway_reveals(20));
  accept(gateway(), provider_reveals(20));
  EXPECT_THAT(refusal(gateway(), Silence{made.receipt}), HasSubstr("is open already"));
}

TEST_F(MoneyClaims, AGatewayThatWithholdsPaysWhatItsTicketsAreWorthAndMore) {
  protocol::Job job = pair_.job(*ticket::threshold_of(0.25), Amount(101));
  Step made = pair_.step(job, 3);
  pair_.sign({&made, 1});
  EXPECT_THAT(refusal(provider(), Default{made.receipt, {}}),
              HasSubstr("nobody has asked for the reveal"));
  EXPECT_THAT(refusal(gateway(), Demand{made.receipt}), HasSubstr("expected the other party"));
  accept(provider(), Demand{made.receipt});
  EXPECT_THAT(refusal(provider(), Demand{made.receipt}), HasSubstr("is asked for already"));
  now_ms_ += 100;
  EXPECT_THAT(refusal(provider(), Default{made.receipt, {}}), HasSubstr("has time until 110 ms"));
  ++now_ms_;
  accept(provider(), Default{made.receipt, {}});
  EXPECT_EQ(balance(gateway_address(), AccountKind::kEscrow), 974u);  // ceil(101 / 4) = 26
  EXPECT_EQ(balance(gateway_address(), AccountKind::kPenaltyEscrow), 39u);
  EXPECT_EQ(balance(provider_address()), 26u + 5u);
  EXPECT_EQ(burnt(), 6u);
  EXPECT_THAT(refusal(provider(), Default{made.receipt, {}}), HasSubstr("is defaulted already"));
  // Too late: neither draw nor default.
  EXPECT_THAT(refusal(provider(), Open{pair_.claim(made), {}}), HasSubstr("is defaulted already"));
  // What it shows in time meets the demand.
  const Step next = ticket(7);
  accept(provider(), Demand{next.receipt});
  accept(gateway(), gateway_reveals(7));
  now_ms_ += 1000;
  EXPECT_THAT(refusal(provider(), Default{next.receipt, {}}), HasSubstr("nobody has asked"));
}

TEST_F(MoneyClaims, AProviderThatWithholdsAfterTheGatewayRevealedIsSlashed) {
  const Step made = ticket(3);
  accept(gateway(), gateway_reveals(3));
  EXPECT_THAT(refusal(provider(), Demand{made.receipt}), HasSubstr("expected the other party"));
  accept(gateway(), Demand{made.receipt});
  now_ms_ += 101;  // a gateway would be late by now; a provider may be switched off
  EXPECT_THAT(refusal(gateway(), Default{made.receipt, {}}), HasSubstr("has time until 160 ms"));
  now_ms_ += 50;
  // Nobody reads a list here, so that it had no bound: an entry of it could not be read back.
  EXPECT_THAT(refusal(gateway(), Default{made.receipt, std::vector<protocol::Endorsement>(7100)}),
              HasSubstr("a provider's names none"));
  accept(gateway(), Default{made.receipt, {}});
  EXPECT_EQ(balance(provider_address(), AccountKind::kStake), 400u);
  EXPECT_EQ(balance(gateway_address()), 50u);
  EXPECT_THAT(refusal(gateway(), Default{ticket(3).receipt, {}}),
              HasSubstr("nobody has asked for the reveal"));
  accept(gateway(), provider_reveals(3));
  EXPECT_THAT(refusal(gateway(), Demand{ticket(3).receipt}), HasSubstr("both have revealed"));
}

TEST_F(MoneyClaims, BeaconsAndReveals) {
  EXPECT_THAT(refusal(provider(), RegisterBeacon{pair_.gateway_head, pair_.provider_head}),
              HasSubstr("is registered already"));
  protocol::HashChainHead forged = pair_.gateway_head;
  forged.anchor[0] ^= 1;
  EXPECT_THAT(refusal(provider(), RegisterBeacon{forged, pair_.provider_head}),
              HasSubstr("hash chain head"));
  EXPECT_THAT(refusal(provider(), Reveal{Digest{1}, 1, {}}), HasSubstr("is not registered"));
  Reveal bent = gateway_reveals(5);
  bent.value[0] ^= 1;
  EXPECT_THAT(refusal(provider(), bent), HasSubstr("does not hash"));
  accept(stranger_.key, gateway_reveals(5));
  accept(stranger_.key, gateway_reveals(2));  // known anyway
}

TEST(MoneyPunish, SharesAreExactAndRoundedDown) {
  EXPECT_EQ(share_of(Amount(1001), 500), Amount(500));
  EXPECT_EQ(share_of(Amount(999), 1), Amount(0));
  const Amount most = Amount::from_words(~0ull, ~0ull);
  EXPECT_EQ(share_of(most, 1000), most);
  EXPECT_EQ(protocol::to_text(share_of(most, 999)), "339942084554017524999911232824336443243");
}

}  // namespace
}  // namespace commensal::ledger
