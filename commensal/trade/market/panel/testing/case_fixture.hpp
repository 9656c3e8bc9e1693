// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/market/panel/case.hpp>
#include <map>

/// For tests: a case, and everybody who may have a say in it, with keys. One thread.
namespace commensal::panel::testing {

class Court {
 public:
  explicit Court(std::uint64_t seed, std::size_t auditors = 12, bool with_arbiter = true)
      : rng(seed) {
    terms.client = client = admit();
    terms.holder = holder = admit();
    arbiter = admit();
    if (with_arbiter) terms.arbiter = arbiter;
    for (std::size_t i = 0; i < auditors; ++i) terms.auditors.push_back(admit());
    std::ranges::sort(terms.auditors);
    terms.ticket = rng.next_digest();
    terms.face = Amount(1000);
    terms.bond = Amount(300);
    terms.fee = Amount(7);
    terms.arbiter_fee = Amount(20);
    terms.deposit = Amount(50);
    for (auto* ms : {&terms.objection_ms, &terms.draw_ms, &terms.commit_ms, &terms.reveal_ms,
                     &terms.appeal_ms, &terms.arbiter_ms}) {
      *ms = 1000;
    }
    staked = terms.bond;
  }
  void open() { made = *Case::open(terms, now_ms, round); }
  Case& at() { return *made; }

  Result<void> submit(const Deed& deed) {
    Event event = event_of(deed);
    event.number = at().events();
    event.at_ms = now_ms;
    event.round = round;
    return submit(event);
  }
  /// Keeps what was accepted, and what it staked.
  Result<void> submit(const Event& event) {
    const auto asked = at().stake_asked();
    const std::size_t before = at().instances().size();
    COMMENSAL_TRY(at().apply(event));
    if (asked && at().instances().size() > before) staked = *staked.plus(*asked);
    journal.push_back(event);
    return {};
  }
  Move move(MoveKind kind, const Address& actor, Ruling ruling = Ruling::kForClient,
            const Digest& word = {}) {
    Move made_move;
    made_move.case_id = at().id();
    made_move.instance = at().instances().size();
    made_move.kind = kind;
    made_move.ruling = ruling;
    made_move.word = word;
    return sign_move(keys.at(actor), made_move, terms.chain_id);
  }
  Move commit(const Address& member, Ruling ruling) {
    return move(MoveKind::kCommit, member, {},
                vote_commitment(at().id(), at().instances().size(), member, ruling, salt(member)));
  }
  Move reveal(const Address& member, Ruling ruling) {
    return move(MoveKind::kReveal, member, ruling, salt(member));
  }
  Draw draw() {
    round = std::max(round, at().instances().back().draw_round);
    return {at().instances().back().draw_round, rng.next_digest()};
  }
  /// The beacon, then the first `for_client` members vote for the client and the next
  /// `for_holder` for the holder; the rest is silent.
  void vote(std::size_t for_client, std::size_t for_holder) {
    core::check(submit(draw()).has_value(), "a draw");
    const std::vector<Ballot> ballots = at().instances().back().ballots;
    const auto each = [&](auto&& act) {
      for (std::size_t i = 0; i < for_client + for_holder; ++i) {
        const Ruling ruling = i < for_client ? Ruling::kForClient : Ruling::kForHolder;
        core::check(submit(act(ballots[i].member, ruling)).has_value(), "a vote");
      }
    };
    each([&](const Address& member, Ruling ruling) { return commit(member, ruling); });
    if (at().stage() == Stage::kCommit) time_out();
    each([&](const Address& member, Ruling ruling) { return reveal(member, ruling); });
  }
  void time_out() {
    now_ms = std::max(now_ms, at().deadline_ms());
    core::check(submit(Timeout()).has_value(), "a timeout");
  }
  protocol::JointSettlement settlement(std::uint64_t to_holder, std::uint64_t to_client) {
    protocol::JointSettlement signed_by_both{terms.ticket,      client, holder, Amount(to_holder),
                                             Amount(to_client), {},     {}};
    signed_by_both.by_client = sign_settlement(keys.at(client), signed_by_both);
    signed_by_both.by_holder = sign_settlement(keys.at(holder), signed_by_both);
    return signed_by_both;
  }
  /// What the outcome pays to one, all together.
  std::uint64_t paid_to(const Address& who) {
    std::uint64_t sum = 0;
    for (const Payout& payout : at().outcome()->payouts) {
      if (payout.to == who) sum += payout.amount.low();
    }
    return sum;
  }
  Amount paid() {
    Amount sum;
    for (const Payout& payout : at().outcome()->payouts) sum = *sum.plus(payout.amount);
    return sum;
  }
  Address admit() {
    crypto::SecretKey key = crypto::SecretKey::generate(rng);
    const Address address = key.address();
    keys.emplace(address, std::move(key));
    return address;
  }

  core::CounterRng rng;
  std::map<Address, crypto::SecretKey> keys;
  Address client, holder, arbiter;
  Terms terms;
  std::uint64_t now_ms = 5000;
  std::uint64_t round = 40;
  Amount staked;               // counted here, independently of the case
  std::vector<Event> journal;  // what was accepted
  std::optional<Case> made;

 private:
  static Digest salt(const Address& member) {
    Digest made_salt{};
    std::ranges::copy(member.bytes, made_salt.begin());
    return made_salt;
  }
};

}  // namespace commensal::panel::testing
