// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/core/recently_used.hpp>
#include <commensal/serve/cases/place.hpp>
#include <commensal/trade/pay/ledger/arbiter.hpp>
#include <commensal/verify/arbiter/course.hpp>
#include <memory>
#include <mutex>

/// Accusations, as the parties and the ledger see them: the ledger knows nothing of models and the
/// arbiter nothing of money; here they meet.
namespace commensal::cases {

/// What the referee is told. Its deadlines are not used: the ledger has its own.
arbiter::Setup setup_of(const ledger::Dispute& dispute);
std::vector<arbiter::Said> said_by_sides(std::span<const ledger::Arbiter::Said> moves);

/// The rules of disputes for a ledger: those of arbiter::Referee; of a rollout's step after what
/// shows its input root (receipt::Origin). The disputes that were asked
/// about last are kept, so that each of their moves is judged once; whatever is not kept, after a
/// start or where a move was taken back, is made of the moves that are given. Thread-safety: any
/// thread.
class LedgerArbiter final : public ledger::Arbiter {
 public:
  core::Result<void> check(const ledger::Dispute& dispute, core::ByteView origin) const override;
  core::Result<ledger::Standing> stand(const ledger::Dispute& dispute,
                                       std::span<const Said> moves) const override;
  /// Where it is then. Errors: stand()'s.
  core::Result<Place> place(const ledger::Dispute& dispute, std::span<const Said> moves) const;

 private:
  /// What `tell` says of the referee after these moves.
  template <class Tell>
  auto after(const ledger::Dispute& dispute, std::span<const Said> moves, Tell tell) const
      -> core::Result<decltype(tell(std::declval<const arbiter::Referee&>()))>;

  const core::ManualClock clock_{};  // stands still
  mutable std::mutex mutex_;
  mutable core::RecentlyUsed<core::Digest, std::unique_ptr<arbiter::Course>> courses_{
      limits::kCoursesMax};  // by dispute; guarded by mutex_
};

}  // namespace commensal::cases
