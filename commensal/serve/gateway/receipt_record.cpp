// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/receipt_record.hpp>

namespace commensal::gateway {

std::span<const std::string_view> enum_names(AuditState) {
  static constexpr std::string_view kNames[] = {"not drawn",  "drawn",    "matched",
                                                "mismatched", "replaced", "failed"};
  return kNames;
}
std::string_view name_of(AuditState state) { return protocol::name_of(state); }

core::Digest ReceiptRecord::id() const { return protocol::receipt_id(receipt.body()); }

}  // namespace commensal::gateway
