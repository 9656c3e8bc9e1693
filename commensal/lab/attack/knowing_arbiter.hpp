// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/arbiter.hpp>
#include <map>

namespace commensal::attack {

/// Disputes for a laboratory that knows the truth: each side says which outputs it has computed, by
/// their root, and who did not say the right one was wrong. The daemons' arbiter knows nothing and
/// asks for proofs; framing plays it, and its own tests (verify/arbiter, verify/dispute,
/// tests/e2e).
class KnowingArbiter final : public ledger::Arbiter {
 public:
  /// What the model makes of these inputs.
  void learn(const core::Digest& input_root, const core::Digest& output_root) {
    right_.insert_or_assign(input_root, output_root);
  }
  core::Result<void> check(const ledger::Dispute& dispute, core::ByteView origin) const override;
  core::Result<ledger::Standing> stand(const ledger::Dispute& dispute,
                                       std::span<const Said> moves) const override;

 private:
  std::map<core::Digest, core::Digest> right_;
};

/// The control: takes the accuser's word.
class CredulousArbiter final : public ledger::Arbiter {
 public:
  core::Result<void> check(const ledger::Dispute&, core::ByteView) const override { return {}; }
  core::Result<ledger::Standing> stand(const ledger::Dispute& dispute,
                                       std::span<const Said> moves) const override;
};

}  // namespace commensal::attack
