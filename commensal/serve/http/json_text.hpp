// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <string>
#include <string_view>
#include <vector>

/// The gateway's records as JSON. Hashes and keys are hexadecimal, times are milliseconds since
/// 1970 UTC, amounts are decimal texts, a free dimension is -1. Pure functions.
namespace commensal::http {

std::string model_json(const gateway::ModelVersion& model);
/// Of the first of them: as many as fit into limits::kHttpListBytesMax, one at least.
std::string models_json(const std::vector<gateway::ModelPtr>& models);
/// With a token, and credit of test money, where there is any.
std::string account_json(const gateway::Account& account, std::string_view token,
                         const protocol::Amount& test_credit = {},
                         const protocol::Amount& price = {});
std::string accounts_json(const std::vector<gateway::Account>& accounts);
std::string providers_json(const std::vector<gateway::ProviderInfo>& providers);
/// Of an account's models, or of all (""), behind `after`, a "next" of before, in the order of
/// their providers: as many as fit into limits::kHttpListBytesMax, one at least.
std::string holders_json(const gateway::Gateway& gateway, const std::string& owner,
                         const gateway::Holders::Key& after);
/// The events are canonical encodings (risk::Event); "audits" is what the gateway's desk assumes
/// and says.
std::string facts_json(const gateway::ProviderRisk& risk);
/// All fields, and under "receipt" the canonical bytes of the signed receipt.
std::string receipt_json(const gateway::ReceiptRecord& record);
/// Without the canonical bytes.
std::string listed_receipt_json(const gateway::ReceiptRecord& record);

}  // namespace commensal::http
