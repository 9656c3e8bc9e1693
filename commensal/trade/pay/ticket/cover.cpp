// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ticket/cover.hpp>

namespace commensal::ticket {

core::Result<void> check_cover(const Cover& cover, std::uint64_t tickets, double probability,
                               const Amount& face, const Amount& fee, bool wants_penalty) {
  COMMENSAL_ASSIGN(const Amount needed, winners_cover(tickets, probability, face, fee));
  COMMENSAL_ASSIGN(const Amount twice, needed.plus(needed));
  const auto lacks = [&](std::string_view which, const Amount& there, const Amount& wanted,
                         std::string_view what) {
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "the gateway's {} of {} does not cover {}, {} {} ticket(s) may win", which,
                      to_text(there), to_text(wanted), what, tickets);
  };
  if (cover.escrow < needed) return lacks("escrow", cover.escrow, needed, "what");
  if (!wants_penalty || cover.penalty_escrow >= twice) return {};
  return lacks("penalty escrow", cover.penalty_escrow, twice, "twice what");
}

}  // namespace commensal::ticket
