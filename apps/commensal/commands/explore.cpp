// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/commensal/connection.hpp>
#include <apps/common/command.hpp>
#include <apps/common/terminal.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

struct ExploreArguments {
  std::vector<std::string> words;
  client::Wish wish;
  Connection connection;
  bool json = false;
};

void print_found(const client::FoundModel& model) {
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  fmt::print("{:<40} {:<22} {:>8} {:>12}  {}{}\n", for_terminal(model.name),
             for_terminal(or_dash(model.task)), model.served, model.bytes,
             for_terminal(or_dash(model.license)), model.is_private ? " (private)" : "");
  if (!model.summary.empty()) fmt::print("    {}\n", for_terminal(model.summary));
}

Result<int> explore(ExploreArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  options.wish.query = fmt::format("{}", fmt::join(options.words, " "));
  COMMENSAL_ASSIGN(const client::FoundModels found, client.explore(options.wish));
  if (options.json) {
    fmt::print("{}\n", found.json);
    return 0;
  }
  if (found.models.empty()) {
    fmt::print("no model is found; `commensal models` lists all\n");
    return 0;
  }
  fmt::print("{:<40} {:<22} {:>8} {:>12}  {}\n", "MODEL", "TASK", "ANSWERS", "BYTES", "LICENCE");
  for (const client::FoundModel& model : found.models) print_found(model);
  if (!found.next.empty()) fmt::print("there are more: --after {}\n", for_terminal(found.next));
  return 0;
}

}  // namespace

Run declare_explore(CLI::App& app) {
  const auto options = std::make_shared<ExploreArguments>();
  client::Wish& wish = options->wish;
  app.add_option("words", options->words,
                 "All of them in a model's name, task, licence, tags or summary (default: any)");
  app.add_option("--task", wish.task, "Such as image-classification, as its card says");
  app.add_option("--modality", wish.modality, "As its card says")
      ->check(CLI::IsMember({"image", "text", "audio", "tabular", "other"}));
  app.add_option("--sort", wish.sort, "By name, the newest first, or those that answered most")
      ->check(CLI::IsMember({"name", "newest", "used"}))
      ->default_str("name");
  app.add_option("--count", wish.count, "So many at most")
      ->check(CLI::Range(std::size_t{1}, limits::kExploredMax))
      ->default_str("20");
  app.add_option("--after", wish.after, "Those behind the ones that were shown");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return explore(*options); };
}

}  // namespace commensal::apps
