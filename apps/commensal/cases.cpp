// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/commensal/cases.hpp>
#include <apps/common/summary.hpp>
#include <commensal/base/crypto/sha256.hpp>

namespace commensal::apps {

using arbiter::Side;
using core::Result;

Result<Json> cases_of(client::Client& client, const core::Digest& subject) {
  COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/cases/" + core::to_hex(subject)));
  return parse_answer(text);
}

void print_case(const Json& one) {
  const std::string status = text_in(one, "status");
  const bool is_over = status == "convicted" || status == "acquitted";
  for (const char* name :
       {"subject", "of", "receipt", "accuser", "accused", "bond", "moves", "reports", "status"}) {
    if (is_over && std::string_view(name) == "moves") continue;  // the ledger lets go of them
    fmt::print("{:<8} {}\n", name, text_in(one, name));
  }
  fmt::print("since    {}\n", utc_text(one.value("since_ms", std::int64_t{0})));
  const Json place = one.value("dispute", Json());
  if (place.is_object() && place.at("verdict").is_string())
    fmt::print("verdict  {}\n", text_in(place, "verdict"));
  const Json owing = one.value("owes", Json());
  if (!owing.is_array() || owing.empty()) return;
  const auto owes = owing.get<std::vector<std::string>>();
  const auto until = one.find("until_ms");
  const bool is_limited = until != one.end() && until->is_number();
  fmt::print("next     {}{}\n", fmt::join(owes, ", "),
             is_limited ? ", until " + utc_text(until->get<std::int64_t>()) : "");
}

Litigant::Litigant(client::Client& client, core::Path folder, const crypto::SecretKey& key,
                   std::shared_ptr<rollout::EngineFactory> engines)
    : client_(client),
      folder_(std::move(folder)),
      key_(key),
      replayer_(std::move(engines)),
      party_(
          [this](const protocol::Job& job, const core::Path& model, const std::stop_token& cancel) {
            return replayer_.engine(job, model, cancel);
          }) {}

Result<std::optional<cases::Brief>> Litigant::next(const std::optional<core::Digest>& subject) {
  COMMENSAL_ASSIGN(const core::Bytes given, client_.next_case(key_.address(), subject));
  if (given.empty()) return std::nullopt;
  COMMENSAL_ASSIGN(auto brief, protocol::decode<cases::Brief>(given));
  return brief;
}

Result<std::string> Litigant::answer(const cases::Brief& brief, Side side,
                                     const receipt::StepTask& task) {
  COMMENSAL_ASSIGN(const core::Path model, model_file(brief.model, brief.version, brief.content));
  COMMENSAL_ASSIGN(ledger::Body body, party_.next(brief.at(), side, task, model, key_,
                                                  {.ops_max = limits::kReplayOpsMax}));
  std::string name(ledger::name_of(body));
  COMMENSAL_TRY(book(std::move(body)));
  return name;
}

Result<void> Litigant::book(ledger::Body body) {
  COMMENSAL_ASSIGN(const Json now, balances_of(client_, crypto::to_text(key_.address())));
  COMMENSAL_TRY(send_transaction(client_, key_, now, std::move(body)));
  return {};
}

Result<core::Path> Litigant::model_file(const std::string& model, std::uint32_t version,
                                        const core::Digest& content) {
  const core::Path path = folder_ / (core::to_hex(content) + ".onnx");
  if (std::filesystem::exists(path)) return path;
  COMMENSAL_ASSIGN(const core::Bytes bytes, client_.model_content(model, version));
  if (crypto::sha256(bytes) != content) {
    return core::fail(core::ErrorCode::kDataLoss, "the file of '{}' is not the receipt's model",
                      model);
  }
  COMMENSAL_TRY(core::write_file_atomically(path, bytes));
  return path;
}

}  // namespace commensal::apps
