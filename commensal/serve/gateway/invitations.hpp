// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/record.hpp>
#include <string>
#include <vector>

namespace commensal::gateway {

/// By whose code consumers make themselves accounts.
struct Invitation {
  static constexpr std::string_view kRecord = "invitation";

  std::string label = {};
  core::Digest code_hash{};     // SHA-256
  std::uint32_t uses_left = 1;  // accounts that may still be made
  std::int64_t made_ms = 0;
  std::int64_t expires_ms = 0;   // 0: never
  protocol::Amount credit = {};  // test money for each of them

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("label", self.label);
    archive.field("code_hash", self.code_hash);
    archive.field("uses_left", self.uses_left);
    archive.field("made_ms", self.made_ms);
    archive.field("expires_ms", self.expires_ms);
    archive.field("credit", self.credit);
  }
};

/// A code is 32 random bytes in hexadecimal; only its SHA-256 is stored.
/// Thread-safety: one thread, the store's.
class Invitations {
 public:
  /// All outlive this object.
  Invitations(core::Store& store, core::Rng& rng, const core::Clock& clock)
      : store_(store), rng_(rng), clock_(clock) {}

  /// Returns the code, which can't be shown again; `terms` say label, uses, expiry and credit.
  /// Those that are used up or have expired make room. Errors: kInvalidArgument, kAlreadyExists
  /// (the label), kResourceExhausted (limits::kInvitationsMax).
  core::Result<std::string> make(const Invitation& terms);
  /// By label.
  core::Result<std::vector<Invitation>> list();
  /// Its code is good for nothing any more. Error: kNotFound.
  core::Result<void> end(const std::string& label);

  struct Use {
    protocol::Amount credit;
    core::Store::Batch writes;  // one use less
  };
  /// Error: kPermissionDenied (unknown, used up, expired).
  core::Result<Use> use(std::string_view code);

 private:
  bool is_over(const Invitation& one) const;
  /// The writes that make room for one more.
  core::Result<core::Store::Batch> room_for(const std::string& label);

  core::Store& store_;
  core::Rng& rng_;
  const core::Clock& clock_;
};

}  // namespace commensal::gateway
