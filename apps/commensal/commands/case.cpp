// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/commensal/cases.hpp>
#include <apps/common/action.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

struct CaseArguments {
  std::string action = "list";
  std::string subject;
  std::string party;
  std::string nonce_file;
  Connection connection;
  bool json = false;
};

Result<Json> list(client::Client& client, const CaseArguments& options) {
  COMMENSAL_ASSIGN(
      const std::string text,
      client.get_json("/v1/cases" + (options.party.empty() ? "" : "?party=" + options.party)));
  return parse_answer(text);
}

void print_list(const Json& all) {
  if (all.value("cases", Json::array()).empty()) return fmt::print("nobody is accused\n");
  fmt::print("{:<64}  {:<10}  {:<6}  {}\n", "CASE", "STATUS", "OF", "ACCUSED");
  for (const Json& one : all.value("cases", Json::array())) {
    fmt::print("{:<64}  {:<10}  {:<6}  {}\n", text_in(one, "subject"), text_in(one, "status"),
               text_in(one, "of"), text_in(one, "accused"));
  }
}

Result<Json> show(client::Client& client, const CaseArguments& options) {
  const auto subject = core::digest_from_hex(options.subject);
  if (subject) return cases_of(client, *subject);
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "expected: case show ID, 64 hexadecimal digits, found '{}'", options.subject);
}

void print_cases(const Json& all) {
  for (const Json& one : all.value("cases", Json::array())) print_case(one);
}

Result<Json> disclose(client::Client& client, const CaseArguments& options) {
  const auto expected = [](const std::string& found) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "expected: case disclose RECEIPT --nonce-file FILE, the file as 'infer "
                      "--nonce-file' has written it; {}",
                      found);
  };
  if (!core::digest_from_hex(options.subject)) {
    return expected(fmt::format("found '{}' for a receipt", options.subject));
  }
  if (options.nonce_file.empty()) return expected("found no --nonce-file");
  COMMENSAL_ASSIGN(const core::Bytes file,
                   core::read_file(options.nonce_file, limits::kHttpSmallBodyBytesMax));
  std::string text(core::as_text(file));
  if (text.ends_with('\n')) text.pop_back();
  if (!core::digest_from_hex(text)) {
    return expected(fmt::format("'{}' holds none", options.nonce_file));
  }
  return post_json(client, "/v1/cases/" + options.subject + "/nonce", {{"nonce", text}});
}

void print_disclosed(const Json&) { fmt::print("the nonce is in the ledger\n"); }

struct Action {
  std::string_view name;
  Result<Json> (*ask)(client::Client& client, const CaseArguments& options);
  void (*print)(const Json& answer);
};
constexpr Action kActions[] = {{"list", list, print_list},
                               {"show", show, print_cases},
                               {"disclose", disclose, print_disclosed}};

Result<int> look(const CaseArguments& options) {
  COMMENSAL_ASSIGN(const Action* const action, find_action<Action>(kActions, options.action));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(const Json answer, action->ask(client, options));
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
  } else {
    action->print(answer);
  }
  return 0;
}

}  // namespace

Run declare_case(CLI::App& app) {
  const auto options = std::make_shared<CaseArguments>();
  CLI::Option* const action =
      app.add_option(
             "action", options->action,
             "list: the newest, pending ones first; show ID: who owes what until when; disclose "
             "RECEIPT: a consumer's part in who audits an answer that is accused")
          ->capture_default_str();
  offer_actions<Action>(*action, kActions);
  app.add_option("id", options->subject, "Of the accused receipt, or of an auditor's report");
  app.add_option("--nonce-file", options->nonce_file, "For disclose: as infer has written it");
  app.add_option("--party", options->party, "For list: those of this address, 0x...");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return look(*options); };
}

}  // namespace commensal::apps
