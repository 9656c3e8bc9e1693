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

/// A host that its provider shows, which nobody checks, or "".
std::string host_line(const Json& host) {
  if (!host.is_object()) return "";
  const auto figure = [&](const char* key, const std::string& of, const char* unknown) {
    const auto found = host.find(key);
    if (found == host.end() || !found->is_number()) return std::string(unknown);
    return fmt::format("{:.6g}{}", found->get<double>(), of);
  };
  const std::string unit = fmt::format(" {}/s", text_in(host, "unit"));
  const std::string income = figure("income_per_hour", " an hour", "");
  return fmt::format("  beside a host, as it says: {}, alone {}{}{}\n",
                     figure("rate", unit, "no signal"),
                     figure("reference", unit, "not measured yet"),
                     income.empty() ? "" : ", where it earns ", income);
}

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
    fmt::print("{}", host_line(one.value("host", Json())));
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
