// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <nlohmann/json.hpp>
#include <string>

/// What the commands about money share: questions to a gateway and tables of its answers.
namespace commensal::apps {

using Json = nlohmann::ordered_json;

/// Error: kDataLoss.
core::Result<Json> parse_answer(const std::string& text);
/// A member of an answer as text, numbers too; "" where it is not there.
std::string text_in(const Json& json, const char* name);
/// A number; 0 where it is not there.
double number_in(const Json& json, const char* name);

core::Result<Json> post_json(client::Client& client, const std::string& target, const Json& body);
/// `owner`: an account's name, an address, @gateway or @auditor; "" for oneself.
core::Result<Json> balances_of(client::Client& client, const std::string& owner);

/// Signed here, with the key's next number in this ledger: `now` is balances_of() its address.
/// Returns what the sender has then.
core::Result<Json> send_transaction(client::Client& client, const crypto::SecretKey& key,
                                    const Json& now, ledger::Body body);

/// One line per kind of account, then what is on its way out.
void print_balances(const Json& balances);
void print_ledger(const Json& ledger);
void print_tickets(const Json& tickets);

}  // namespace commensal::apps
