// SPDX-License-Identifier: Apache-2.0
// Accusations: what the ledger says of them, to whoever has an account, as the rest of the ledger
// is; and what who plays a side of one needs.
#include <algorithm>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/serve/cases/place.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/json_cursor.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

using arbiter::Side;
using core::ErrorCode;
using core::Result;
using gateway::Gateway;
using ledger::CaseKey;
using ledger::CaseRow;
using ledger::CaseStatus;
using Json = nlohmann::ordered_json;

Json case_json(const CaseKey& key, const CaseRow& row) {
  const bool is_of_answer = row.dispute.accused == row.dispute.receipt.job.provider;
  return {{"subject", core::to_hex(key.subject)},
          {"of", is_of_answer ? "answer" : "report"},
          {"receipt", core::to_hex(protocol::receipt_id(row.dispute.receipt.body()))},
          {"accuser", crypto::to_text(key.accuser)},
          {"accused", crypto::to_text(row.dispute.accused)},
          {"status", protocol::name_of(row.status)},
          {"bond", protocol::to_text(row.bond)},
          {"since_ms", row.since_ms},
          {"moves", row.moves},
          {"reports", row.findings.size()}};
}

/// Who has to do something next (null: that was not judged), and until when; null: nobody loses
/// anything by waiting.
Json turn_json(const ledger::State& state, const ledger::Arbiter* arbiter, const CaseKey& key,
               const CaseRow& row) {
  Json owes = Json::array();
  Json until = nullptr;
  switch (row.status) {
    case CaseStatus::kAccused:
      owes.push_back("accused");
      until = row.contest_ms;
      break;
    case CaseStatus::kContested: {
      until = row.move_ms;
      if (arbiter == nullptr) return {{"owes", nullptr}, {"until_ms", until}};
      const cases::Case at{key, row.dispute, row.status, ledger::moves_of(state, key)};
      if (cases::has_turn(at, Side::kProvider, *arbiter)) owes.push_back("accused");
      if (cases::has_turn(at, Side::kChallenger, *arbiter)) owes.push_back("accuser");
      break;
    }
    case CaseStatus::kUndecided:
      owes.push_back("auditors");
      if (!row.called.empty()) until = row.report_ms;
      break;
    case CaseStatus::kConvicted:
    case CaseStatus::kAcquitted:
      break;
  }
  Json called = Json::array();
  for (const crypto::Address& one : row.called) called.push_back(crypto::to_text(one));
  return {{"owes", owes}, {"until_ms", until}, {"called", called}};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json bits_of(const std::optional<std::uint64_t>& bits) {
  return bits ? Json(fmt::format("{:x}", *bits)) : Json(nullptr);
}

Json side_json(const cases::Place::Said& said) {
  const auto hash = [](const core::Digest& one) {
    return one == core::Digest{} ? Json(nullptr) : Json(core::to_hex(one));
  };
  return {{"outputs", hash(said.outputs)},
          {"hash", hash(said.hash)},
          {"claimed", bits_of(said.claimed)},
          {"wrong", said.is_wrong}};
}

Json place_json(const cases::Place& place) {
  return {{"phase", place.phase},
          {"round", place.round},
          {"node", or_null(place.node)},
          {"operator", place.op.empty() ? Json(nullptr) : Json(place.op)},
          {"output", or_null(place.output)},
          {"element", or_null(place.element)},
          {"operation", or_null(place.operation)},
          {"operations", or_null(place.operations)},
          {"computed", bits_of(place.computed)},
          {"verdict", place.verdict.empty() ? Json(nullptr) : Json(place.verdict)},
          {"accused", side_json(place.accused)},
          {"accuser", side_json(place.accuser)}};
}

/// Moves show some of an answer's data: they are for its account, operators, and auditors where any
/// auditor may see the inputs.
bool may_see_moves(Gateway& gateway, const Call& call, const CaseRow& row) {
  if (is_operator(call)) return true;
  const bool is_public = row.dispute.receipt.job.auditors == protocol::AuditorClass::kPublic;
  if (is_public && call.account.role == gateway::Role::kAuditor) return true;
  const auto record = gateway.receipts().find(protocol::receipt_id(row.dispute.receipt.body()));
  return record && record->account == call.account.name;
}

Json dispute_json(Gateway& gateway, const Call& call, const CaseKey& key, const CaseRow& row) {
  if (!may_see_moves(gateway, call, row)) return nullptr;
  const auto place = gateway.dispute_place(key);
  return place && *place ? place_json(**place) : Json(nullptr);
}

/// ?party=0x...: those in which it accuses or is accused. The newest, pending ones first.
Response list_cases(Gateway& gateway, const Call& call) {
  constexpr std::size_t kListed = 100;
  std::optional<crypto::Address> party;
  if (const auto asked = call.query.find("party"); asked != call.query.end()) {
    const auto given = crypto::address_from_text(asked->second);
    if (!given) return error_response(core::in_context("?party=", given.error()).value());
    party = *given;
  }
  using Row = std::pair<const CaseKey*, const CaseRow*>;
  std::vector<Row> found;
  for (const auto& [key, row] : gateway.ledger().cases.rows()) {
    const bool has_part = !party || key.accuser == *party || row.dispute.accused == *party;
    if (has_part) found.emplace_back(&key, &row);
  }
  const auto rank = [](const Row& one) {
    return std::pair(is_pending(one.second->status), one.second->since_ms);
  };
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(kListed, found.size()));
  std::ranges::partial_sort(found, end, std::ranges::greater{}, rank);
  Json made = Json::array();
  for (auto one = found.begin(); one != end; ++one) {
    made.push_back(case_json(*one->first, *one->second));
  }
  return json_response(Json{{"cases", std::move(made)}}.dump());
}

/// All of one subject, each accuser's.
Response show_cases(Gateway& gateway, const Call& call) {
  const auto subject = core::digest_from_hex(call.params.at("subject"));
  if (!subject) {
    return error_response(
        {ErrorCode::kInvalidArgument, "a case is named by 64 hexadecimal digits"});
  }
  const ledger::State& state = gateway.ledger();
  Json made = Json::array();
  std::size_t left = limits::kCoursesMax;
  const auto& rows = state.cases.rows();
  for (auto row = rows.lower_bound({*subject, {}});
       row != rows.end() && row->first.subject == *subject; ++row) {
    Json one = case_json(row->first, row->second);
    // Each may take a whole dispute to judge: no more than are remembered.
    const ledger::Arbiter* const arbiter = left > 0 ? &gateway.arbiter() : nullptr;
    const bool is_judged = row->second.status != CaseStatus::kContested || left > 0;
    if (row->second.status == CaseStatus::kContested && left > 0) --left;
    one.update(turn_json(state, arbiter, row->first, row->second));
    one["dispute"] = is_judged ? dispute_json(gateway, call, row->first, row->second) : nullptr;
    made.push_back(std::move(one));
  }
  if (!made.empty()) return json_response(Json{{"cases", std::move(made)}}.dump());
  return error_response(
      {ErrorCode::kNotFound, fmt::format("nobody has accused {}", core::to_hex(*subject))});
}

/// Nobody asks whether the caller is the party that it names: but for operators, it hears of its
/// own receipts, and auditors of what any auditor may see.
Result<cases::Wanted> wanted_of(const Call& call) {
  cases::Wanted wanted;
  if (const auto subject = call.query.find("subject"); subject != call.query.end()) {
    COMMENSAL_ASSIGN(wanted.subject, core::digest_from_hex(subject->second));
  }
  if (is_operator(call)) return wanted;
  wanted.or_public = call.account.role == gateway::Role::kAuditor;
  if (!wanted.or_public && !call.query.contains("accuser")) {
    return core::fail(ErrorCode::kPermissionDenied,
                      "this is for auditors: use the token of an account of that role");
  }
  wanted.account = call.account.name;
  return wanted;
}

/// cases::Brief, encoded; an empty body where it is the turn of this side in none.
Response next_case(Gateway& gateway, const Call& call) {
  const auto wanted = wanted_of(call);
  if (!wanted) return error_response(wanted.error());
  const bool accuses = call.query.contains("accuser");
  const auto asked = call.query.find(accuses ? "accuser" : "accused");
  const auto party = crypto::address_from_text(asked == call.query.end() ? "" : asked->second);
  if (!party) {
    const auto why = core::in_context(accuses ? "?accuser=" : "?accused=", party.error());
    return error_response(why.value());
  }
  const auto found =
      gateway.next_case(*party, accuses ? Side::kChallenger : Side::kProvider, *wanted);
  if (!found) return bytes_response(core::Bytes());
  return bytes_response(protocol::encode_stored(*found));
}

Result<core::Digest> read_nonce(const Call& call) {
  std::optional<core::Digest> nonce;
  JsonCursor cursor(core::as_text(call.body));
  COMMENSAL_TRY(cursor.object([&](std::string_view key) -> Result<void> {
    if (key != "nonce") return cursor.value().map([](auto&&) {});
    COMMENSAL_ASSIGN(const std::string text, cursor.string());
    COMMENSAL_ASSIGN(nonce, core::digest_from_hex(text));
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  if (nonce) return *nonce;
  return core::fail(ErrorCode::kInvalidArgument,
                    "expected {{\"nonce\": \"64 hexadecimal digits\"}}");
}

/// By anybody who knows it: it opens what the receipt's job commits to, or is refused.
Response disclose(Gateway& gateway, const Call& call) {
  const auto receipt = core::digest_from_hex(call.params.at("subject"));
  if (!receipt) {
    return error_response({ErrorCode::kInvalidArgument, "a receipt has 64 hexadecimal digits"});
  }
  const auto done = read_nonce(call).and_then(
      [&](const core::Digest& nonce) { return gateway.disclose(*receipt, nonce); });
  return done ? json_response(R"({"taken":true})") : error_response(done.error());
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/cases", Auth::kAccount, Scope::kAudits, kSmall, on_loop<list_cases>},
    {"GET", "/v1/cases/next", Auth::kAccount, Scope::kAudits, kSmall, on_loop<next_case>},
    {"GET", "/v1/cases/{subject}", Auth::kAccount, Scope::kAudits, kSmall, on_loop<show_cases>},
    {"POST", "/v1/cases/{subject}/nonce", Auth::kAccount, Scope::kAudits, kSmall,
     on_loop<disclose>},
};

}  // namespace

std::span<const Route> case_routes() { return kRoutes; }

}  // namespace commensal::http
