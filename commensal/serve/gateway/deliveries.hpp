// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/till.hpp>

namespace commensal::gateway {

/// Steps that were delivered become receipts: each is drawn for its audit or not, paid for and
/// written with all that opens it; what is ready together shares one write. Each ends with
/// event::StepKept. Thread-safety: the loop's thread.
class Deliveries {
 public:
  /// All of them outlive this object.
  Deliveries(const core::Clock& clock, core::Rng& rng, Till& till, const AuditPolicy& audit_policy,
             EventQueue& events)
      : clock_(clock), rng_(rng), till_(till), audit_policy_(audit_policy), events_(events) {}

  void on_made(event::StepMade& made);
  /// Writes what is ready; call when no event is left.
  void flush();
  std::size_t pending() const { return ready_.size(); }

 private:
  /// Error: it is more than can be kept.
  core::Result<ReceiptRecord> record_of(const event::StepMade& made);

  const core::Clock& clock_;
  core::Rng& rng_;
  Till& till_;
  const AuditPolicy& audit_policy_;
  EventQueue& events_;
  // Of the same steps:
  std::vector<ReceiptRecord> records_;
  std::vector<event::StepMade> ready_;
};

}  // namespace commensal::gateway
