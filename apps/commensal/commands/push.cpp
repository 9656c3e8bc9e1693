// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/connection.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/model_card.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct PushArguments {
  std::string file;
  std::string name;
  bool is_private = false;
  std::vector<std::string> allowed;
  std::string privacy_class;
  std::string config;
  std::string card;
  std::vector<std::string> labels;
  std::string alias;
  bool is_sure = false;
  Connection connection;
  bool json = false;
};

/// Of the file, what is sent.
struct NewCard {
  std::string source;
  bool is_silent = false;
};

/// What is wrong with the file names it.
tl::unexpected<core::Error> refused(const std::string& file, const core::Error& error) {
  using enum core::ErrorCode;
  const bool is_of_file = error.code == kInvalidArgument || error.code == kUnsupported;
  if (!is_of_file) return tl::unexpected(error);
  return core::in_context(fmt::format("'{}'", file), error);
}

/// How it is served, of the files that say so.
Result<void> configure(client::Client& client, const client::ModelInfo& model,
                       const PushArguments& options) {
  if (!options.config.empty()) {
    COMMENSAL_ASSIGN(const core::Bytes config,
                     core::read_file(options.config, limits::kConfigBytesMax));
    std::map<std::string, std::string> files;
    for (const std::string& path : options.labels) {
      COMMENSAL_ASSIGN(const core::Bytes text, core::read_file(path, limits::kConfigBytesMax));
      files[core::Path(path).filename().string()] = core::as_text(text);
    }
    const auto set =
        client.configure(model.name, model.version, std::string(core::as_text(config)), files);
    if (!set) return refused(options.config, set.error());
  }
  if (options.alias.empty()) return {};
  return client.set_alias(options.alias, model.name);
}

std::vector<gateway::ModelPort> ports_of(const graph::Graph& graph,
                                         const std::vector<graph::ValueId>& ids) {
  std::vector<gateway::ModelPort> ports;
  for (const graph::ValueId id : ids) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    ports.push_back({value.name, value.declared});
  }
  return ports;
}

/// Any text is a card: what a wrong file is, and one without its front matter.
bool is_silent(const gateway::ModelCard& card) {
  const bool says_words = !card.license.empty() || !card.parent.empty() || !card.task.empty() ||
                          !card.language.empty() || !card.modality.empty();
  const bool says_rules = card.picture || card.output || card.example;
  return !says_words && !says_rules && card.tags.empty() && card.labels.empty();
}

/// The card, if one is named. Whether it is one, and fits the model, is looked at as the gateway
/// does, before anything is sent: no version is to be served that its owner's card was meant for
/// and does not fit.
Result<NewCard> read_card(const PushArguments& options, core::ByteView model) {
  if (options.card.empty()) return NewCard();
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(options.card, limits::kCardBytesMax));
  std::string source(core::as_text(bytes));
  auto card = gateway::parse_card(source);
  if (!card) return refused(options.card, card.error());
  const auto graph = graph::onnx::import_bytes(model, nullptr);  // which ends before the bytes do
  if (!graph) return refused(options.file, graph.error());
  gateway::ModelVersion version;
  version.inputs = ports_of(**graph, (*graph)->inputs);
  version.outputs = ports_of(**graph, (*graph)->outputs);
  const auto fits = gateway::fit_card(*card, version);
  if (!fits) return refused(options.card, fits.error());
  return NewCard{std::move(source), is_silent(*card)};
}

/// What it makes of the one that is there: "new", "replaced", "unchanged", or "" where none is
/// named. No copy is kept of what goes: a silent one takes the place of one that says something
/// only if that is meant.
Result<std::string> compare_card(client::Client& client, const std::string& model,
                                 const PushArguments& options, const NewCard& card) {
  if (options.card.empty()) return std::string();
  COMMENSAL_ASSIGN(const auto before, client.card(model));
  if (card.is_silent) {
    constexpr std::string_view kExpected = "expected YAML between two lines '---' before the text";
    Result<gateway::ModelCard> stored;
    if (before) stored = gateway::parse_card(before->source, gateway::CardKeys::kAny);
    const bool loses = !stored || !is_silent(*stored);
    if (loses && !options.is_sure)
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "'{}' says nothing of the model, and the card of {} does: {}; with --yes "
                        "it is replaced",
                        options.card, model, kExpected);
    fmt::print(stderr, "'{}': the card says nothing of the model: {}\n", options.card, kExpected);
  }
  return !before ? "new" : before->source == card.source ? "unchanged" : "replaced";
}

/// All that is said of a version once it is there.
Result<void> describe(client::Client& client, const client::ModelInfo& model,
                      const PushArguments& options, const NewCard& card) {
  COMMENSAL_TRY(configure(client, model, options));
  if (options.card.empty()) return {};
  const auto set = client.set_card(model.name, card.source);
  if (!set) return refused(options.card, set.error());
  return {};
}

void print_pushed(const client::ModelInfo& model, const std::string& card, bool as_json) {
  if (as_json) {
    if (card.empty()) return fmt::print("{}\n", model.json);
    Json made = Json::parse(model.json, nullptr, false);
    if (made.is_object()) made["card"] = card;
    return fmt::print("{}\n", made.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  fmt::print("{} version {}{}\n  sha256  {}\n", model.name, model.version,
             model.is_private ? " (private)" : "", core::to_hex(model.content));
  if (!card.empty()) fmt::print("  card    {}\n", card);
}

Result<int> push(const PushArguments& options) {
  COMMENSAL_ASSIGN(const auto file,
                   core::MappedFile::open(options.file, limits::kHttpBodyBytesMax));
  COMMENSAL_ASSIGN(const NewCard card, read_card(options, file->bytes()));
  client::PushRequest request;
  request.bytes = file->bytes();
  request.is_private = options.is_private;
  request.privacy_class = options.privacy_class;
  for (const std::string& text : options.allowed) {
    COMMENSAL_ASSIGN(const crypto::Address address, crypto::address_from_text(text));
    request.allowed_providers.push_back(address);
  }
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  // What is wrong with it is not the file's fault, as refused() would have it.
  const std::string stem = core::Path(options.file).stem().string();
  COMMENSAL_ASSIGN(request.model, name_to_push(client, options.name.empty() ? stem : options.name));
  COMMENSAL_ASSIGN(const std::string became, compare_card(client, request.model, options, card));
  Progress progress("push");
  request.progress = [&progress](std::size_t done, std::size_t total) {
    progress.show(done, total);
  };
  const auto pushed = client.push(request);
  progress.clear();
  if (!pushed) return refused(options.file, pushed.error());
  const client::ModelInfo& model = *pushed;
  const auto described = describe(client, model, options, card);
  if (!described) {
    core::Error error = described.error();
    error.message +=
        fmt::format("; {} version {} is there, and served without that", model.name, model.version);
    return tl::unexpected(std::move(error));
  }
  print_pushed(model, became, options.json);
  return 0;
}

}  // namespace

Run declare_push(CLI::App& app) {
  const auto options = std::make_shared<PushArguments>();
  app.add_option("file", options->file, "ONNX file")->required();
  app.add_option("name", options->name,
                 "[OWNER/]MODEL (default: the file's name, and the account's)");
  app.add_flag("--private", options->is_private,
               "Only the owner sees it, and only allowed providers run it");
  app.add_option("--allow", options->allowed, "Address of a provider that may run a private model")
      ->allow_extra_args(false)
      ->needs("--private");
  declare_privacy_class(app, options->privacy_class);
  CLI::Option* const config =
      app.add_option("--config", options->config,
                     "How the version is served: a model configuration as Triton's, config.pbtxt "
                     "or JSON")
          ->check(CLI::ExistingFile);
  app.add_option("--labels", options->labels, "File of labels, a line each, that --config names")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false)
      ->needs(config);
  CLI::Option* const card =
      app.add_option(
             "--card", options->card,
             "Markdown file that says what the model is, with YAML before it: its task, labels, "
             "how a picture becomes its input")
          ->check(CLI::ExistingFile);
  app.add_flag("--yes", options->is_sure,
               "A card that says nothing of the model may replace one that does")
      ->needs(card);
  app.add_option("--alias", options->alias,
                 "Name of one part by which the model can be asked for too (operators)");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return push(*options); };
}

}  // namespace commensal::apps
