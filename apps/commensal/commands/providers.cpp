// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/connection.hpp>
#include <apps/commensal/money_requests.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/common/command.hpp>
#include <memory>

namespace commensal::apps {
namespace {

struct ProvidersArguments {
  Connection connection;
  bool json = false;
};

core::Result<int> list_providers(const ProvidersArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/providers"));
  COMMENSAL_ASSIGN(const Json all, parse_answer(text));
  if (options.json) {
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  fmt::print("{:<42}  {:<20} {:>9} {:>16}  {}\n", "ADDRESS", "NAME", "ANSWERS", "STAKE", "STATE");
  for (const Json& one : all.value("providers", Json::array())) {
    fmt::print("{:<42}  {:<20} {:>9} {:>16}  {}\n", text_in(one, "address"), text_in(one, "name"),
               text_in(one, "served"), text_in(one, "stake"), text_in(one, "state"));
    for (const Json& held : one.value("privacy_classes", Json::array())) {
      fmt::print("  may see the privacy class '{}' until the end of {} (UTC)\n",
                 text_in(held, "class"), last_day(held.value("until_ms", std::uint64_t{0})));
    }
  }
  return 0;
}

}  // namespace

Run declare_providers(CLI::App& app) {
  const auto options = std::make_shared<ProvidersArguments>();
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return list_providers(*options); };
}

}  // namespace commensal::apps
