// SPDX-License-Identifier: Apache-2.0
// Rollouts, and audits by auditors elsewhere.
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/rollout_body.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::Result;
using gateway::Gateway;
using gateway::RolloutStatus;

Result<core::Digest> rollout_id(const Call& call) {
  const auto id = core::digest_from_hex(call.params.at("rollout"));
  if (id) return *id;
  return core::fail(ErrorCode::kInvalidArgument, "a rollout's id has 64 hexadecimal digits");
}

Result<std::uint64_t> number(std::string_view name, const std::string& text, std::uint64_t max) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value <= max) return value;
  return core::fail(ErrorCode::kInvalidArgument, "{} is a number up to {}", name, max);
}

/// A number of the query; 0 where it has none.
Result<std::uint64_t> query_number(const Call& call, const std::string& name, std::uint64_t max) {
  const auto found = call.query.find(name);
  if (found == call.query.end()) return 0;
  return number(name, found->second, max);
}

/// Somebody else's rollout is unknown, as a missing one is.
Result<RolloutStatus> find_rollout(Gateway& gateway, const Call& call) {
  COMMENSAL_ASSIGN(const core::Digest id, rollout_id(call));
  auto status = gateway.rollouts().status(id);
  if (status && !is_operator(call) && status->entry.account != call.account.name) {
    return core::fail(ErrorCode::kNotFound, "unknown rollout {}", core::to_hex(id));
  }
  return status;
}

Response status_response(const Result<RolloutStatus>& status, int code = 200) {
  if (!status) return error_response(status.error());
  Response response = json_response(rollout_json(*status));
  response.status = code;
  return response;
}

void create_rollout(const Services& services, CallPtr call, Reply reply) {
  for (const auto& [name, value] : call->query) {
    if (const auto unread = oip::check_unread(name); !unread)
      return reply(error_response(unread.error()));
  }
  auto request = read_rollout_body(call->body, call->json_bytes);
  if (!request) return reply(error_response(request.error()));
  call->body.clear();
  request->account = call->account;
  services.turns->post(
      call->line, [&services, request = *std::move(request), reply = std::move(reply)]() mutable {
        reply(status_response(services.gateway.rollouts().create(std::move(request)), 201));
      });
}

/// ?key=PREFIX: of the account's own alone, an operator's too, whose keys begin so.
Response list_rollouts(Gateway& gateway, const Call& call) {
  constexpr std::size_t kListed = 100;
  const auto key = call.query.find("key");
  const bool is_by_key = key != call.query.end();
  const std::string account = is_operator(call) && !is_by_key ? "" : call.account.name;
  return json_response(rollouts_json(
      gateway.rollouts().list(account, kListed, is_by_key ? key->second : std::string())));
}

/// ?after=STEPS&wait_ms=MS: answers when there is news, or the time is up.
void show_rollout(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(
      line, [&gateway = services.gateway, call = std::move(call), reply = std::move(reply)] {
        const auto status = find_rollout(gateway, *call);
        const auto after = query_number(*call, "after", limits::kRolloutStepsMax);
        const auto wait_ms = query_number(*call, "wait_ms", limits::kRolloutWaitMsMax);
        if (!status) return reply(error_response(status.error()));
        if (!after) return reply(error_response(after.error()));
        if (!wait_ms) return reply(error_response(wait_ms.error()));
        const bool is_over =
            status->entry.state != gateway::RolloutState::kRunning && status->audits.open.empty();
        if (*wait_ms == 0 || is_over || status->entry.steps_done > *after)
          return reply_durably(gateway, status_response(status), reply);
        const auto waits = gateway.rollouts().wait(
            status->entry.id, static_cast<std::int64_t>(*wait_ms), [&gateway, call, reply] {
              reply_durably(gateway, status_response(find_rollout(gateway, *call)), reply);
            });
        if (!waits) reply(error_response(waits.error()));
      });
}

Response cancel_rollout(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "rollout.cancel";
  act.on = call.params.at("rollout");
  const auto status = find_rollout(gateway, call);
  if (!status) return error_response(status.error());
  return status_response(gateway.rollouts().cancel(status->entry.id));
}

/// rollout::JobRecord, encoded: the job, and what opens c_0.
Response show_record(Gateway& gateway, const Call& call) {
  const auto status = find_rollout(gateway, call);
  if (!status) return error_response(status.error());
  const auto record = gateway.rollouts().record(status->entry.id);
  if (!record) return error_response(record.error());
  return bytes_response(protocol::encode_stored(*record));
}

/// rollout::StepRecord, encoded: what was signed and delivered.
Response show_step(Gateway& gateway, const Call& call) {
  const auto status = find_rollout(gateway, call);
  if (!status) return error_response(status.error());
  const auto step = number("step", call.params.at("step"), limits::kRolloutStepsMax);
  if (!step) return error_response(step.error());
  const auto record = gateway.rollouts().step(status->entry.id, *step);
  if (!record) return error_response(record.error());
  return bytes_response(protocol::encode_stored(*record));
}

/// receipt::Assignment, encoded; an empty body where nothing waits.
Response take_audit(Gateway& gateway, const Call& call) {
  const auto asked = call.query.find("auditor");
  const auto auditor = crypto::address_from_text(asked == call.query.end() ? "" : asked->second);
  if (!auditor) return error_response(core::in_context("?auditor=", auditor.error()).value());
  const auto taken = gateway.take_audit(*auditor, is_operator(call));
  if (!taken) return error_response(taken.error());
  return bytes_response(*taken ? protocol::encode_stored(**taken) : core::Bytes());
}

Response answer_audit(Gateway& gateway, const Call& call) {
  const auto receipt = core::digest_from_hex(call.params.at("receipt"));
  if (!receipt) {
    return error_response({ErrorCode::kInvalidArgument, "a receipt has 64 hexadecimal digits"});
  }
  auto report = read_report_body(call.body);
  if (!report) return error_response(report.error());
  report->receipt_id = *receipt;
  const auto taken = gateway.answer_audit(*report, is_operator(call));
  if (!taken) return error_response(taken.error());
  return json_response(R"({"taken":true})");
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kLarge = limits::kHttpBodyBytesMax;

// A rollout is kept for its account, inputs and all: not for everybody who may ask by it.
constexpr Route kRoutes[] = {
    {"POST", "/v1/rollouts", Auth::kToken, Scope::kInfer, kLarge, create_rollout, true},
    {"GET", "/v1/rollouts", Auth::kToken, Scope::kInfer, kSmall, on_loop<list_rollouts>},
    {"GET", "/v1/rollouts/{rollout}", Auth::kToken, Scope::kInfer, kSmall, show_rollout},
    {"DELETE", "/v1/rollouts/{rollout}", Auth::kToken, Scope::kInfer, kSmall,
     changes<cancel_rollout>},
    {"GET", "/v1/rollouts/{rollout}/record", Auth::kToken, Scope::kInfer, kSmall,
     on_loop<show_record>},
    {"GET", "/v1/rollouts/{rollout}/steps/{step}", Auth::kToken, Scope::kInfer, kSmall,
     on_loop<show_step>},
    {"POST", "/v1/audits", Auth::kAuditor, Scope::kAudits, kSmall, on_loop<take_audit>},
    {"POST", "/v1/audits/{receipt}", Auth::kAuditor, Scope::kAudits, kSmall, on_loop<answer_audit>},
};

}  // namespace

std::span<const Route> rollout_routes() { return kRoutes; }

}  // namespace commensal::http
