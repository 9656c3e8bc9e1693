// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/lab/attack/models.hpp>
#include <optional>
#include <span>
#include <string_view>

/// The laboratory: adversaries that attack protocol, ledger and verification on a simulated clock
/// (what of them is real in a row, its `place` says), each beside the same work done honestly, and
/// beside the same attack with the defence off (docs/verification.md, "Laboratory").
namespace commensal::attack {

using core::Result;

enum class Arm : std::uint8_t {
  kHonest,    // the same work without the attack
  kDefended,  // the attack, on the protocol as it is
  kOpen,      // the attack, with the one defence off: the control
};
inline constexpr std::size_t kArms = 3;

/// What came of one trial of one arm. Money is in units of the ledger.
struct Trial {
  bool caught = false;  // what the attack's `caught` says
  double profit = 0;    // of the adversary, all its keys together: money, less what its work cost
  double bad = 0;       // bad answers that were delivered to an honest party
  double bad_paid = 0;  // of these, the ones that were paid for
  double others = 0;    // of the honest parties: money, and the worth of the right answers they got
  std::uint64_t accused = 0;  // honest parties found guilty of something
};

/// What a defence is part of today.
enum class Place : std::uint8_t {
  kDaemons,  // the code of their parties, the gateway played by hand
  kLedger,   // the rules of the ledger
  kRooms,    // code of a room, played without the daemons
  kDesign,   // nothing but the laboratory: the daemons lack it, or its money is counted by hand
};

/// A row of the table.
struct Attack {
  std::string_view name;
  std::string_view what;     // the adversary does
  std::string_view defence;  // what is against it
  std::string_view control;  // how it is turned off
  std::string_view caught;   // what counts as caught
  Place place;
  std::string_view formula;         // of the rate at which it is caught; empty: there is none
  std::optional<double> rate = {};  // its value
  /// One trial. Equal seeds, equal trials; the three arms of a trial share theirs.
  /// Errors: something failed that is no part of any attack.
  Result<Trial> (*play)(Models& models, Arm arm, std::uint64_t seed);
};

/// All families.
std::span<const Attack> attack_table();

}  // namespace commensal::attack
