// SPDX-License-Identifier: Apache-2.0
// Money over HTTP: the operator's orders, what one has, how tickets stand.
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/json_cursor.hpp>
#include <commensal/serve/http/money_json.hpp>
#include <map>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::Gateway;
using ledger::AccountKind;
using protocol::Amount;

struct Owner {
  crypto::Address address;
  std::string name;  // of an account of the gateway, or ""
};

/// "0x...", "@gateway", "@auditor" or the name of an account.
Result<Owner> owner_from(Gateway& gateway, const std::string& text) {
  if (text == "@gateway") return Owner{gateway.address(), ""};
  if (text == "@auditor") return Owner{gateway.auditor_address(), ""};
  if (text.starts_with("0x")) {
    COMMENSAL_ASSIGN(const crypto::Address address, crypto::address_from_text(text));
    return Owner{address, ""};
  }
  COMMENSAL_ASSIGN(const auto account, gateway.accounts().find(text));
  if (account) return Owner{gateway.account_address(text), text};
  return fail(ErrorCode::kNotFound, "unknown account '{}': a name, 0x..., @gateway or @auditor",
              text.substr(0, limits::kNameBytesMax));
}

using Members = std::map<std::string, std::string, std::less<>>;

/// A flat object of texts with just these members, each there.
Result<Members> read_members(const Call& call, std::initializer_list<std::string_view> names) {
  Members read;
  const std::string expected = fmt::format("{}", fmt::join(names, ", "));
  JsonCursor cursor(core::as_text(call.body));
  COMMENSAL_TRY(cursor.object([&](std::string_view key) -> Result<void> {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      return fail(ErrorCode::kInvalidArgument, "unknown member '{}': {}",
                  key.substr(0, limits::kNameBytesMax), expected);
    }
    COMMENSAL_ASSIGN(std::string value, cursor.string());
    read.insert_or_assign(std::string(key), std::move(value));
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  for (const std::string_view name : names) {
    if (read.contains(name)) continue;
    return fail(ErrorCode::kInvalidArgument, "the member '{}' is missing: {}, all of them texts",
                name, expected);
  }
  return read;
}

Result<Amount> amount_in(const Members& members) {
  const std::string& text = members.find("amount")->second;
  auto amount = protocol::amount_from_text(text);
  if (amount && *amount != Amount()) return amount;
  return fail(ErrorCode::kInvalidArgument,
              "amount: '{}', expected an integer from 1 to 2^128 - 1, decimal digits in quotes",
              text.substr(0, limits::kNameBytesMax));
}

Result<AccountKind> kind_in(const Members& members) {
  static constexpr AccountKind kInto[] = {AccountKind::kEscrow, AccountKind::kPenaltyEscrow,
                                          AccountKind::kCreditPool};
  const std::string& text = members.find("into")->second;
  for (const AccountKind kind : kInto) {
    if (protocol::name_of(kind) == text) return kind;
  }
  return fail(ErrorCode::kInvalidArgument,
              "into: '{}', expected escrow, penalty_escrow or credit_pool",
              text.substr(0, limits::kNameBytesMax));
}

Response balances_response(Gateway& gateway, const Result<Owner>& owner, int status) {
  if (!owner) return error_response(owner.error());
  Response response = json_response(
      balances_json(gateway.ledger(), owner->address, owner->name, gateway.money().test.is_so));
  response.status = status;
  return response;
}

/// An order of the operator that ends in what somebody has now.
template <Result<Owner> (*kOrder)(Gateway&, const Call&, gateway::Act&)>
Response order(Gateway& gateway, const Call& call, gateway::Act& act) {
  return balances_response(gateway, kOrder(gateway, call, act), 201);
}

/// What the log of acts says of one.
void describe(gateway::Act& act, const Members& asked, const std::string& subject,
              std::string_view more = "") {
  act.on = fmt::format("{}: {}{}{}", asked.at(subject), asked.at("amount"),
                       more.empty() ? "" : ", ", more);
}

Result<Owner> deposit(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "money.deposit";
  COMMENSAL_ASSIGN(const Members asked, read_members(call, {"owner", "amount", "reference"}));
  describe(act, asked, "owner", asked.at("reference"));
  COMMENSAL_ASSIGN(const Amount amount, amount_in(asked));
  COMMENSAL_ASSIGN(Owner owner, owner_from(gateway, asked.at("owner")));
  const std::string& reference = asked.at("reference");
  if (reference.empty() || reference.size() > limits::kTextBytesMax) {
    return fail(ErrorCode::kInvalidArgument,
                "reference: expected 1 to {} bytes that name the payment, each counts once",
                limits::kTextBytesMax);
  }
  COMMENSAL_TRY(
      gateway.deposit(owner.address, amount,
                      crypto::tagged_hash("commensal/deposit/v1", core::as_bytes(reference))));
  return owner;
}

Result<Owner> withdraw(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "money.withdraw";
  COMMENSAL_ASSIGN(const Members asked, read_members(call, {"account", "amount"}));
  describe(act, asked, "account");
  COMMENSAL_ASSIGN(const Amount amount, amount_in(asked));
  COMMENSAL_ASSIGN(Owner owner, owner_from(gateway, asked.at("account")));
  if (owner.name.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "account: '{}' has a key of its own, which must sign (POST /v1/transactions)",
                asked.at("account").substr(0, limits::kNameBytesMax));
  }
  COMMENSAL_TRY(gateway.withdraw(owner.name, amount));
  return owner;
}

Result<Owner> lock(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "money.lock";
  COMMENSAL_ASSIGN(const Members asked, read_members(call, {"into", "amount"}));
  describe(act, asked, "into");
  COMMENSAL_ASSIGN(const Amount amount, amount_in(asked));
  COMMENSAL_ASSIGN(const AccountKind into, kind_in(asked));
  COMMENSAL_TRY(gateway.fund(into, amount));
  return Owner{gateway.address(), ""};
}

Result<Owner> grant(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "money.grant";
  COMMENSAL_ASSIGN(const Members asked, read_members(call, {"owner", "amount"}));
  describe(act, asked, "owner");
  COMMENSAL_ASSIGN(const Amount amount, amount_in(asked));
  COMMENSAL_ASSIGN(Owner owner, owner_from(gateway, asked.at("owner")));
  COMMENSAL_TRY(gateway.grant(owner.address, amount));
  return owner;
}

Result<ledger::Transaction> signed_transaction(core::ByteView bytes) {
  COMMENSAL_ASSIGN(auto sent, protocol::decode<ledger::Transaction>(bytes));
  COMMENSAL_TRY(sent.validity());
  COMMENSAL_ASSIGN(
      const crypto::Address signer,
      ledger::Signatures().signer(ledger::signing_digest(sent), sent.signatures.front()));
  if (signer == sent.sender) return sent;
  return fail(ErrorCode::kUnauthenticated, "signature: recovers to {}, expected the sender {}",
              crypto::to_text(signer), crypto::to_text(sent.sender));
}

/// From anybody: what nobody has signed never reaches the loop.
void transact(const Services& services, CallPtr call, Reply reply) {
  services.codec([&services, call = std::move(call), reply = std::move(reply)] {
    auto sent = signed_transaction(call->body);
    if (!sent) return reply(error_response(sent.error()));
    services.turns->post(
        "", [&gateway = services.gateway, sent = *std::move(sent), reply]() mutable {
          gateway.transact(std::move(sent), [&gateway, reply](Result<crypto::Address> sender) {
            if (!sender) return reply(error_response(sender.error()));
            reply(balances_response(gateway, Owner{*sender, ""}, 201));
          });
        });
  });
}

/// Addresses are pseudonyms, which anybody may ask for; names are for their account and operators.
Result<Owner> asked_owner(Gateway& gateway, const Call& call) {
  const auto asked = call.query.find("owner");
  const bool by_address = asked != call.query.end() && asked->second.starts_with("0x");
  if (by_address) return owner_from(gateway, asked->second);
  if (!call.has_account) {
    return fail(ErrorCode::kUnauthenticated, "a token is needed, or ?owner=0x...");
  }
  const std::string& name = asked == call.query.end() ? call.account.name : asked->second;
  if (name != call.account.name && call.account.role != gateway::Role::kOperator) {
    return fail(ErrorCode::kPermissionDenied, "an account may ask for itself or for an address");
  }
  return owner_from(gateway, name);
}

Response show_balances(Gateway& gateway, const Call& call) {
  return balances_response(gateway, asked_owner(gateway, call), 200);
}

Response show_ledger(Gateway& gateway, const Call&) {
  return json_response(ledger_json(gateway.ledger(), gateway.money()));
}

Response show_tickets(Gateway& gateway, const Call& call) {
  const auto asked = call.query.find("provider");
  if (asked == call.query.end()) {
    return json_response(
        tickets_json(gateway.ticket_summary(std::nullopt), &gateway.tickets().totals()));
  }
  const auto provider = crypto::address_from_text(asked->second);
  if (!provider) return error_response(provider.error());
  return json_response(tickets_json(gateway.ticket_summary(*provider), nullptr));
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr std::int64_t kTransaction =
    kSmall + static_cast<std::int64_t>(limits::kDisputeMoveBytesMax);

constexpr Route kRoutes[] = {
    {"GET", "/v1/ledger", Auth::kAccount, Scope::kMoney, kSmall, on_loop<show_ledger>},
    {"GET", "/v1/balances", Auth::kOptional, Scope::kMoney, kSmall, on_loop<show_balances>},
    {"GET", "/v1/tickets", Auth::kAccount, Scope::kMoney, kSmall, on_loop<show_tickets>},
    {"POST", "/v1/deposits", Auth::kOperator, Scope::kMoney, kSmall, changes<order<deposit>>},
    {"POST", "/v1/withdrawals", Auth::kOperator, Scope::kMoney, kSmall, changes<order<withdraw>>},
    {"POST", "/v1/locks", Auth::kOperator, Scope::kMoney, kSmall, changes<order<lock>>},
    {"POST", "/v1/credits", Auth::kOperator, Scope::kMoney, kSmall, changes<order<grant>>},
    {"POST", "/v1/transactions", Auth::kNone, Scope::kAny, kTransaction, transact},
};

}  // namespace

std::span<const Route> money_routes() { return kRoutes; }

}  // namespace commensal::http
