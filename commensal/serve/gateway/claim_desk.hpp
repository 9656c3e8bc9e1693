// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <optional>

namespace commensal::gateway {

/// What the desk says of an answer and of what its ticket may still pay, by the gateway's facts.
struct Quote {
  risk::Assessment made;
  double audit_probability = 0;  // of its provider's next answer, as this gateway audits
};

/// An open claim, for who might buy it.
struct OpenClaim {
  core::Digest ticket{};
  ledger::ClaimRow row;
  std::optional<protocol::Amount> asked;     // nothing: it is not for sale
  std::uint32_t accusations = 0;             // that are pending: nobody buys it meanwhile
  std::string model;                         // "owner/model"; "" where it is private, or gone
  AuditState audit = AuditState::kNotDrawn;  // of its answer
  Quote quote;
};

/// Prices claims by what the gateway knows. Thread-safety: one thread, the store's.
class ClaimDesk {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    const core::Clock& clock;
    const Bank& bank;
    const ticket::TicketBook& tickets;
    ReceiptBook& book;
    ModelHub& hub;
    const AuditPolicy& audits;
  };
  explicit ClaimDesk(const Dependencies& deps) : deps_(deps) {}

  /// The tickets behind `after` of open claims, or of those for sale, in their order; at most
  /// `count`.
  std::vector<core::Digest> tickets(bool for_sale, const core::Digest& after,
                                    std::size_t count) const;
  /// Errors: kNotFound where it is not open, or its answer is no longer known; the desk's.
  core::Result<OpenClaim> claim(const core::Digest& ticket);
  /// Errors: the desk's.
  core::Result<Quote> quote(const ReceiptRecord& record);

 private:
  struct Known {
    std::int64_t asked_ms = 0;
    RiskFacts facts;
    risk::Record record;
  };
  core::Result<const Known*> known(const crypto::Address& provider);
  risk::ClaimOffer offer_of(const ReceiptRecord& record, std::uint64_t now_ms) const;

  Dependencies deps_;
  std::map<crypto::Address, Known> known_;  // of the last AuditPolicy::kRefreshMs
};

}  // namespace commensal::gateway
