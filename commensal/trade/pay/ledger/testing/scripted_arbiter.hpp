// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/arbiter.hpp>

namespace commensal::ledger::testing {

/// For tests: an arbiter whose disputes go as their moves say. In each round both owe one move;
/// the first byte of a move is what becomes of it.
class ScriptedArbiter final : public Arbiter {
 public:
  static constexpr std::uint8_t kGoOn = 'g', kProviderWrong = 'p', kAccuserWrong = 'a',
                                kBothWrong = 'b', kUndecided = 'u';
  /// First bytes of an input's root that no dispute, and no accusation, can be about.
  static constexpr std::uint8_t kNotPlayed = 0xee, kMalformed = 0xdd;

  core::Result<void> check(const Dispute& dispute, core::ByteView) const override {
    if (dispute.input_root[0] == kNotPlayed) {
      return core::fail(core::ErrorCode::kUnsupported, "an operator without a program");
    }
    if (dispute.input_root[0] != kMalformed) return {};
    return core::fail(core::ErrorCode::kInvalidArgument, "the inputs do not open c_0");
  }
  core::Result<Standing> stand(const Dispute&, std::span<const Said> moves) const override {
    bool provider_moved = false, accuser_moved = false;
    Standing standing;
    for (const Said& said : moves) {
      bool& moved = said.by_accuser ? accuser_moved : provider_moved;
      if (moved) return core::fail(core::ErrorCode::kFailedPrecondition, "move: out of turn");
      moved = true;
      if (provider_moved && accuser_moved) provider_moved = accuser_moved = false;
      COMMENSAL_ASSIGN(standing, after(said));
    }
    if (standing.end != DisputeEnd::kNone) return standing;
    standing.provider_owes = !provider_moved;
    standing.accuser_owes = !accuser_moved;
    return standing;
  }

 private:
  static core::Result<Standing> after(const Said& said) {
    Standing standing;
    const std::uint8_t word = said.move.empty() ? 0 : said.move[0];
    if (word == kGoOn) return standing;
    if (word == kUndecided) {
      standing.end = DisputeEnd::kUndecided;
      return standing;
    }
    standing.end = DisputeEnd::kProved;
    standing.provider_is_wrong = word == kProviderWrong || word == kBothWrong;
    standing.accuser_is_wrong = word == kAccuserWrong || word == kBothWrong;
    if (standing.provider_is_wrong || standing.accuser_is_wrong) return standing;
    return core::fail(core::ErrorCode::kDataLoss, "move: its proof does not hold");
  }
};

inline const ScriptedArbiter kArbiter;

}  // namespace commensal::ledger::testing
