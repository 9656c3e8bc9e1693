// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/operator_list.hpp>
#include <apps/common/command.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using Json = nlohmann::ordered_json;

struct OperatorsArguments {
  bool json = false;
  bool markdown = false;
};

Json json_of(const OperatorEntry& entry) {
  return {{"domain", entry.domain},   {"name", entry.name},
          {"since", entry.since},     {"until", entry.until == 0 ? Json() : Json(entry.until)},
          {"audited_as", entry.kind}, {"strings", entry.takes_strings},
          {"fast", entry.is_fast}};
}

core::Result<int> run(const OperatorsArguments& options) {
  if (options.markdown) {
    fmt::print("{}", operator_markdown());
    return 0;
  }
  Json list = Json::array();
  for (const OperatorEntry& entry : operator_list()) {
    list.push_back(json_of(entry));
    if (options.json) continue;
    std::string ends = fmt::format("since {}", entry.since);
    if (entry.until != 0) ends += fmt::format(" until {}", entry.until);
    fmt::print("{:<28} {:<26} {:<4} {}\n", entry.domain, entry.name,
               entry.is_fast ? "fast" : "slow", ends);
  }
  if (options.json) fmt::print("{}\n", list.dump(2));
  return 0;
}

}  // namespace

Run declare_operators(CLI::App& app) {
  auto options = std::make_shared<OperatorsArguments>();
  CLI::Option* const markdown =
      app.add_flag("--markdown", options->markdown, "Print the table of docs/operators.md");
  app.add_flag("--json", options->json, "Print JSON")->excludes(markdown);
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
