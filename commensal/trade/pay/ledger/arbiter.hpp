// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/trade/pay/ledger/account.hpp>
#include <span>

namespace commensal::ledger {

/// What a dispute is about, as Accuse says it.
struct Dispute {
  static constexpr std::string_view kRecord = "dispute";

  protocol::Receipt receipt;
  Address accuser;
  Address accused;       // its provider, or an auditor who signed the same outputs
  Digest input_root{};   // of what the step was computed from
  Digest input_salt{};   // opens the job's c_0, where that fixes the inputs; else zero
  Digest output_root{};  // these two open the receipt's commitment
  Digest output_salt{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("accuser", self.accuser);
    archive.field("accused", self.accused);
    archive.field("input_root", self.input_root);
    archive.field("input_salt", self.input_salt);
    archive.field("output_root", self.output_root);
    archive.field("output_salt", self.output_salt);
  }
  bool operator==(const Dispute&) const = default;
};

enum class DisputeEnd : std::uint8_t { kNone, kProved, kUndecided };

/// Where a dispute stands.
struct Standing {
  DisputeEnd end = DisputeEnd::kNone;
  bool provider_is_wrong = false, accuser_is_wrong = false;  // kProved
  bool provider_owes = false, accuser_owes = false;          // kNone: a move
  std::string reason;                                        // one line, where it is over
};

/// The rules of disputes, of which the ledger knows no more. Pure: equal moves, equal standings.
/// Thread-safety: any thread.
class Arbiter {
 public:
  struct Said {
    bool by_accuser = false;
    core::Bytes move;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("by_accuser", self.by_accuser);
      archive.field("move", self.move);
    }
  };

  virtual ~Arbiter() = default;
  /// Why no dispute about this can be played, although the accusation may be right (kUnsupported);
  /// other errors: it is malformed or does not open what was signed, and is refused. `origin`: as
  /// in Accuse.
  virtual core::Result<void> check(const Dispute& dispute, core::ByteView origin) const = 0;
  /// After all these moves, in their order. Error: the last one is refused, naming why.
  virtual core::Result<Standing> stand(const Dispute& dispute,
                                       std::span<const Said> moves) const = 0;
};

}  // namespace commensal::ledger
