// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/trade/pay/ledger/testing/claims_fixture.hpp>

namespace commensal::ledger::testing {

/// For tests: the same ledger, with people who accuse and people who report.
class CasesFixture : public ClaimsFixture {
 protected:
  CasesFixture() {
    for (const Person* one : {&accuser_, &friend_}) {
      accept(operator_.key, Deposit{one->address, Amount(100), Digest{++references_}});
    }
    for (const Person& one : auditors_) {
      fund(one.key, {{AccountKind::kStake, 70}}, ++references_);
      accept(one.key, Enlist{});
    }
  }

  static Digest id_of(const Step& made) { return protocol::receipt_id(made.receipt.body()); }
  static Digest ticket_of(const Step& made) { return protocol::ticket_id(made.receipt.body()); }
  static Accuse accuse(const Step& made, std::uint8_t inputs = 1) {
    return {made.receipt, Digest{inputs}, {}, made.output_root, made.output_salt};
  }
  template <class Kind>
  Kind on(const Step& made, const Person& accuser) const {
    Kind body;
    body.subject = id_of(made);
    body.accuser = accuser.address;
    return body;
  }
  template <class Kind>
  Kind on(const Step& made) const {
    return on<Kind>(made, accuser_);
  }
  Argue argue(const Step& made, std::uint8_t word) const {
    Argue body = on<Argue>(made);
    body.move = {word};
    return body;
  }
  Report report(const Step& made, const Digest& root) const {
    Report body = on<Report>(made);
    body.output_root = root;
    return body;
  }
  /// Draws auditors by the round that was not drawn when it was accused.
  void summon(const Step& made) {
    const std::uint64_t round = ledger_.state().draws.get(id_of(made)).round;
    accept(stranger_.key, gateway_reveals(round));
    accept(stranger_.key, provider_reveals(round));
    accept(operator_.key, on<Summon>(made));
  }
  /// Whose turn it is; of the fixture's.
  const Person& called(const Step& made, std::size_t place = 0) const {
    const Address& address = row(made, accuser_).called.at(place);
    return *std::ranges::find(auditors_, address, &Person::address);
  }
  /// By the next who is called.
  const Person& reported(const Step& made, const Digest& root) {
    const Person& one = called(made);
    accept(one.key, report(made, root));
    return one;
  }
  /// Accused by `accuser_`, and contested.
  Step contested() {
    const Step made = ticket(3);
    accept(accuser_.key, accuse(made));
    accept(provider(), on<Contest>(made));
    return made;
  }
  /// Accused where no dispute can be played.
  Step undecided() {
    const Step made = ticket(3);
    accept(accuser_.key, accuse(made, ScriptedArbiter::kNotPlayed));
    return made;
  }
  const CaseRow& row(const Step& made, const Person& accuser) const {
    return *ledger_.state().cases.find({id_of(made), accuser.address});
  }
  CaseStatus status(const Step& made) const { return row(made, accuser_).status; }
  std::uint64_t stake() const { return balance(provider_address(), AccountKind::kStake); }
  std::uint64_t bond(const Person& one) const { return balance(one.address, AccountKind::kBond); }

  const Person accuser_{10}, friend_{11};
  const std::array<Person, 4> auditors_{Person(12), Person(13), Person(14), Person(15)};
  const Digest other_root_{77};

 private:
  std::uint8_t references_ = 40;
};

}  // namespace commensal::ledger::testing
