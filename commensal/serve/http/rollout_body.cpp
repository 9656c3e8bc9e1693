// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/serve/http/json_cursor.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/rollout_body.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <span>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::RolloutRequest;

/// What is read before the inputs.
struct Draft {
  RolloutRequest request;
  std::string_view inputs;  // JSON
};

Result<std::uint64_t> read_count(JsonCursor& cursor, std::int64_t max) {
  COMMENSAL_ASSIGN(const std::int64_t value, cursor.integer());
  if (value >= 0 && value <= max) return static_cast<std::uint64_t>(value);
  return fail(ErrorCode::kInvalidArgument, "{}, expected 0 to {}", value, max);
}

Result<void> read_feed(JsonCursor& cursor, RolloutRequest& request) {
  const auto refused = [] {
    return fail(ErrorCode::kInvalidArgument, "expected at most {} pairs of an output and an input",
                limits::kInferTensorsMax);
  };
  std::vector<std::string> names;
  COMMENSAL_TRY(cursor.array([&]() -> Result<void> {
    if (names.size() == 2) return refused();
    COMMENSAL_ASSIGN(names.emplace_back(), cursor.string());
    return {};
  }));
  if (names.size() != 2 || request.feeds.size() >= limits::kInferTensorsMax) return refused();
  request.feeds.emplace_back(names[0], names[1]);
  return {};
}

Result<protocol::StateRule> read_states(JsonCursor& cursor) {
  COMMENSAL_ASSIGN(const std::string name, cursor.string());
  const auto names = protocol::enum_names(protocol::StateRule{});
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<protocol::StateRule>(found - names.begin());
  return fail(ErrorCode::kInvalidArgument, "expected any, finite or movable");
}

/// null: none.
Result<std::optional<int>> read_noise(JsonCursor& cursor) {
  const std::string_view text = cursor.token();
  if (text == "null") return std::nullopt;
  int value = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= 0) return value;
  return fail(ErrorCode::kInvalidArgument, "expected an exponent, or null for none");
}

Result<double> read_probability(JsonCursor& cursor) {
  const std::string_view text = cursor.token();
  double value = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= 0 && value <= 1) {
    return value;
  }
  return fail(ErrorCode::kInvalidArgument, "expected a number from 0 to 1");
}

struct Member {
  std::string_view name;
  Result<void> (*read)(JsonCursor& cursor, Draft& draft);
};
constexpr Member kMembers[] = {
    {"model",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.model, cursor.string());
       return {};
     }},
    {"version",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(const std::uint64_t version, read_count(cursor, 0xffffffff));
       draft.request.version = static_cast<std::uint32_t>(version);
       return {};
     }},
    {"key",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.key, cursor.string());
       return {};
     }},
    {"steps",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.steps, read_count(cursor, limits::kRolloutStepsMax));
       return {};
     }},
    {"feeds",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       return cursor.array([&] { return read_feed(cursor, draft.request); });
     }},
    {"noise",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.noise_exponent, read_noise(cursor));
       return {};
     }},
    {"states",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.states, read_states(cursor));
       return {};
     }},
    {"audit_probability",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.request.audit_probability, read_probability(cursor));
       return {};
     }},
    {oip::kPrivacyClass,
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(const std::string name, cursor.string());
       COMMENSAL_ASSIGN(draft.request.privacy_class, oip::read_privacy_class(name));
       return {};
     }},
    {"inputs",
     [](JsonCursor& cursor, Draft& draft) -> Result<void> {
       COMMENSAL_ASSIGN(draft.inputs, cursor.unchecked_value());
       return {};
     }},
};

std::string member_names() {
  std::string names;
  for (const Member& member : kMembers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", member.name);
  }
  return names;
}

Result<Draft> read_draft(std::string_view json) {
  Draft draft;
  JsonCursor cursor(json);
  COMMENSAL_TRY(cursor.object([&](std::string_view name) -> Result<void> {
    const auto member = std::ranges::find(kMembers, name, &Member::name);
    if (member == std::end(kMembers)) {
      return fail(ErrorCode::kInvalidArgument, "unknown member; there are {}", member_names());
    }
    const auto read = member->read(cursor, draft);
    if (!read) return core::in_context(fmt::format("\"{}\"", name), read.error());
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  if (draft.request.model.empty() || draft.request.steps == 0 || draft.inputs.empty()) {
    return fail(ErrorCode::kInvalidArgument, "\"model\", \"steps\" and \"inputs\" are needed");
  }
  return draft;
}

std::string list_of(const std::set<std::uint64_t>& steps) {
  std::string text;
  std::size_t count = 0;
  for (const std::uint64_t step : steps) {
    if (++count > limits::kStepMismatchesListedMax) break;
    text += fmt::format("{}{}", text.empty() ? "" : ",", step);
  }
  return text;
}

}  // namespace

Result<RolloutRequest> read_rollout_body(core::ByteView body,
                                         const std::optional<std::string>& json_bytes) {
  COMMENSAL_ASSIGN(const SplitBody parts, split_body(body, json_bytes));
  COMMENSAL_ASSIGN(Draft draft, read_draft(parts.json));
  // The same inputs as a request for an answer has them.
  const std::string head = fmt::format("{{\"inputs\":{}}}", draft.inputs);
  core::Bytes whole(head.begin(), head.end());
  whole.insert(whole.end(), parts.binary.begin(), parts.binary.end());
  COMMENSAL_ASSIGN(InferBody read, read_infer_body(whole, std::to_string(head.size())));
  draft.request.inputs = std::move(read.inputs);
  receipt::take_roots(draft.request.inputs);
  return std::move(draft.request);
}

Result<protocol::AuditReport> read_report_body(core::ByteView body) {
  std::string root, auditor, signature;
  JsonCursor cursor(core::as_text(body));
  COMMENSAL_TRY(cursor.object([&](std::string_view name) -> Result<void> {
    std::string* const member = name == "root"        ? &root
                                : name == "auditor"   ? &auditor
                                : name == "signature" ? &signature
                                                      : nullptr;
    if (member == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "expected root, auditor, signature");
    }
    COMMENSAL_ASSIGN(*member, cursor.string());
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  protocol::AuditReport report;
  const auto digest = core::digest_from_hex(root);
  if (!digest) return fail(ErrorCode::kInvalidArgument, "root: expected 64 hexadecimal digits");
  report.output_root = *digest;
  COMMENSAL_ASSIGN(report.auditor, crypto::address_from_text(auditor));
  const auto bytes = core::from_hex(signature);
  if (!bytes || bytes->size() != report.signature.bytes.size()) {
    return fail(ErrorCode::kInvalidArgument, "signature: expected {} hexadecimal digits",
                2 * report.signature.bytes.size());
  }
  std::copy(bytes->begin(), bytes->end(), report.signature.bytes.begin());
  return report;
}

std::string rollout_json(const gateway::RolloutStatus& status) {
  const gateway::RolloutEntry& entry = status.entry;
  std::string code;
  if (!entry.reason_code.empty())
    code = fmt::format(R"("reason_code":{},)", json_quote(entry.reason_code));
  return fmt::format(
      R"({{"rollout":"{}","model":{},"version":{},"account":{},"key":{},"provider":"{}",)"
      R"("state":"{}","reason":{},{}"steps_done":{},"steps":{},)"
      R"("trusted_steps":{},"confirmed_steps":{},"final_state":"{}","created_ms":{},)"
      R"("audit_probability":{},"privacy_class":{},)"
      R"("audits":{{"open":{},"matched":{},"mismatched":{}}},)"
      R"("mismatches":[{}]}})",
      core::to_hex(entry.id), json_quote(entry.model), entry.version, json_quote(entry.account),
      json_quote(entry.key), crypto::to_text(entry.provider), protocol::name_of(entry.state),
      json_quote(entry.reason), code, entry.steps_done, entry.steps, status.trusted_steps,
      status.audits.confirmed, core::to_hex(entry.final_root), entry.created_ms,
      entry.audit_probability, entry.privacy_class ? json_quote(*entry.privacy_class) : "null",
      status.audits.open.size(), status.audits.matched, status.audits.mismatches.size(),
      list_of(status.audits.mismatches));
}

std::string rollouts_json(const std::vector<gateway::RolloutStatus>& list) {
  std::string text;
  for (const gateway::RolloutStatus& status : list) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", rollout_json(status));
  }
  return fmt::format(R"({{"rollouts":[{}]}})", text);
}

}  // namespace commensal::http
