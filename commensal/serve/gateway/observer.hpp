// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/serve/gateway/winners.hpp>
#include <string>

namespace commensal::gateway {

/// What an operator, a log or the demo's live view wants to hear. Called on the gateway's loop.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_provider_connected(const crypto::Address&, const std::string& /*name*/) {}
  virtual void on_provider_lost(const crypto::Address&, const std::string& /*why*/) {}
  virtual void on_provider_banned(const crypto::Address&, const std::string& /*why*/) {}
  virtual void on_receipt(const ReceiptRecord&) {}
  virtual void on_verdict(const ReceiptRecord&) {}
  virtual void on_judged(const ReceiptRecord&, const Judgement&) {}
  /// What this entry of the ledger said of it has left it so.
  virtual void on_case(const ledger::CaseKey&, const ledger::CaseRow&, const ledger::Entry&) {}
  virtual void on_replaced(const ReceiptRecord& /*old*/, const ReceiptRecord& /*now*/) {}
  virtual void on_error(const core::Error&) {}
};

}  // namespace commensal::gateway
