// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <apps/commensal/connection.hpp>
#include <apps/commensal/model_name.hpp>
#include <apps/common/command.hpp>
#include <apps/common/confirm.hpp>
#include <apps/common/progress.hpp>
#include <apps/common/terminal.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/tokens.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;

struct ModelsArguments {
  std::string name;
  std::string save;
  bool is_removed = false;
  bool is_sure = false;
  bool allows_none = false;
  std::vector<std::string> allowed;
  std::string granted, revoked;  // accounts
  bool with_content = false;
  bool shows_grants = false;
  bool shows_card = false;
  bool shows_holders = false;
  Connection connection;
  bool json = false;
};

std::string text_of(const client::Port& port) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : port.dims) dims.push_back(std::to_string(dim));
  return fmt::format("{} {}[{}]", port.name, tensor::traits(port.dtype).name, fmt::join(dims, ","));
}

void print_model(const client::ModelInfo& model) {
  fmt::print("{} version {}{}\n", model.name, model.version, model.is_private ? " (private)" : "");
  for (const client::Port& port : model.inputs) fmt::print("  input   {}\n", text_of(port));
  for (const client::Port& port : model.outputs) fmt::print("  output  {}\n", text_of(port));
  fmt::print("  bytes   {}\n  sha256  {}\n", model.bytes, core::to_hex(model.content));
}

/// Whoever may see the providers is told which of them compute nothing now.
void print_pauses(client::Client& client) {
  const auto text = client.get_json("/v1/providers");
  if (!text) return;
  const auto all = nlohmann::json::parse(*text, nullptr, false);
  if (!all.contains("providers")) return;
  for (const auto& provider : all["providers"]) {
    const std::string why = provider.value("paused", "");
    if (why.empty()) continue;
    fmt::print("provider {} is paused: {}\n", provider.value("name", ""), why);
  }
}

Result<int> list(client::Client& client, bool json) {
  if (json) {
    COMMENSAL_ASSIGN(const core::Bytes all, client.model_list());
    fmt::print("{}\n", core::as_text(all));
    return 0;
  }
  COMMENSAL_ASSIGN(const std::vector<client::ModelInfo> models, client.models());
  fmt::print("{:<40} {:>7} {:>12}  {}\n", "MODEL", "VERSION", "BYTES", "SEEN BY");
  for (const client::ModelInfo& model : models) {
    fmt::print("{:<40} {:>7} {:>12}  {}\n", model.name, model.version, model.bytes,
               model.is_private ? "owner" : "all");
  }
  print_pauses(client);
  return 0;
}

std::string when_text(const nlohmann::json& one, const char* name) {
  const std::int64_t ms = one.value(name, std::int64_t{0});
  return ms == 0 ? "-" : fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(ms / 1000));
}

/// Which providers have one's models; all pages.
Result<int> list_holders(client::Client& client, bool json) {
  nlohmann::json all = nlohmann::json::array();
  std::string after;
  for (int pages = 0; pages < limits::kModelPagesMax; ++pages) {
    COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/holders" + after));
    const auto page = nlohmann::json::parse(text, nullptr, false);
    if (!page.is_object() || !page.contains("holders")) break;
    for (const auto& one : page["holders"]) all.push_back(one);
    if (!page.contains("next") || !page["next"].is_string()) break;
    after = "?after=" + page["next"].get<std::string>();
  }
  if (json) {
    fmt::print("{}\n", nlohmann::json({{"holders", all}}).dump());
    return 0;
  }
  fmt::print("{:<32} {:<42}  {:<16} {:<16} {:<16}\n", "MODEL", "PROVIDER", "USED (UTC)",
             "ASKED TO LET GO", "KEEPS IT UNTIL");
  for (const auto& one : all) {
    fmt::print("{:<32} {:<42}  {:<16} {:<16} {:<16}\n",
               fmt::format("{}:{}", one.value("model", ""), one.value("version", 0)),
               one.value("provider", ""), when_text(one, "used_ms"), when_text(one, "asked_ms"),
               when_text(one, "until_ms"));
  }
  return 0;
}

Result<int> remove_model(client::Client& client, const std::string& name, bool is_sure, bool json) {
  if (!is_sure && !is_confirmed(fmt::format("remove all versions of {}?", name)))
    return core::fail(core::ErrorCode::kFailedPrecondition, "'{}' stays: nobody said yes", name);
  COMMENSAL_TRY(client.remove_model(name));
  if (json) {
    fmt::print("{}\n", nlohmann::json({{"name", name}, {"removed", true}}).dump());
  } else {
    fmt::print("{} is removed, all versions\n", name);
  }
  return 0;
}

/// That these may stand in a path. Error: kInvalidArgument.
Result<void> check_names(const std::string& model, const ModelsArguments& options) {
  const std::size_t slash = model.find('/');
  for (const std::string& half : {model.substr(0, slash), model.substr(slash + 1)}) {
    if (!gateway::is_label(half))
      return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is no model's name", model);
  }
  for (const std::string& account : {options.granted, options.revoked}) {
    if (!account.empty() && !gateway::is_label(account))
      return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is no account's name", account);
  }
  return {};
}

/// Says who else may use it, once that is changed as asked for.
Result<int> share(client::Client& client, const std::string& name, const ModelsArguments& options) {
  COMMENSAL_TRY(check_names(name, options));
  const std::string target = "/v1/models/" + name + "/accounts";
  if (!options.granted.empty()) {
    const char* const content = options.with_content ? "?content=1" : "?content=0";
    COMMENSAL_TRY(
        client.send("PUT", target + "/" + options.granted + content, "application/json", {}));
  }
  if (!options.revoked.empty()) COMMENSAL_TRY(client.remove(target + "/" + options.revoked));
  COMMENSAL_ASSIGN(const std::string text, client.get_json(target));
  if (options.json) {
    fmt::print("{}\n", text);
    return 0;
  }
  const auto all = nlohmann::json::parse(text, nullptr, false);
  if (!all.contains("accounts")) return 0;
  for (const auto& one : all["accounts"]) {
    fmt::print("{:<32} {}\n", one.value("account", ""),
               one.value("content", false) ? "uses and downloads it" : "uses it");
  }
  return 0;
}

/// As it was sent, a terminal's own characters apart.
Result<int> show_card(client::Client& client, const std::string& name, bool json) {
  COMMENSAL_ASSIGN(const auto card, client.card(name));
  if (!card) {
    COMMENSAL_TRY(look_up(client, {name}));
    return core::fail(core::ErrorCode::kNotFound, "'{}' has no card", name);
  }
  fmt::print("{}\n", json ? card->json : for_terminal(card->source, true));
  return 0;
}

/// As it is, or as it is with another list of providers.
Result<client::ModelInfo> look_up_model(client::Client& client, const ModelName& named,
                                        const ModelsArguments& options) {
  if (options.allowed.empty() && !options.allows_none) return look_up(client, named);
  std::vector<crypto::Address> providers;
  for (const std::string& text : options.allowed) {
    COMMENSAL_ASSIGN(const crypto::Address address, crypto::address_from_text(text));
    providers.push_back(address);
  }
  return client.allow(named.model, providers);
}

/// The options that are of a model, not of one version.
bool is_of_all_versions(const ModelsArguments& options) {
  return options.is_removed || options.shows_card || options.shows_grants || options.allows_none ||
         !options.allowed.empty() || !options.granted.empty() || !options.revoked.empty();
}

Result<ModelName> named_by(const ModelsArguments& options) {
  COMMENSAL_ASSIGN(ModelName named, read_model_name(options.name));
  if (named.version != 0 && is_of_all_versions(options))
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}' is one version, and what is asked for is of all: expected '{}'",
                      options.name, named.model);
  return named;
}

Result<int> models(const ModelsArguments& options) {
  COMMENSAL_ASSIGN(ModelName named, named_by(options));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  if (options.shows_holders) return list_holders(client, options.json);
  if (options.name.empty()) return list(client, options.json);
  COMMENSAL_ASSIGN(const std::string name, full_model_name(client, named.model));
  named.model = name;
  if (options.is_removed) return remove_model(client, name, options.is_sure, options.json);
  if (!options.granted.empty() || !options.revoked.empty() || options.shows_grants)
    return share(client, name, options);
  if (options.shows_card) return show_card(client, name, options.json);
  COMMENSAL_ASSIGN(const client::ModelInfo model, look_up_model(client, named, options));
  if (!options.save.empty()) {
    Progress progress("download");
    COMMENSAL_ASSIGN(
        const core::Bytes bytes,
        client.model_content(name, model.version,
                             [&](std::size_t done, std::size_t all) { progress.show(done, all); }));
    progress.clear();
    COMMENSAL_TRY(core::save_for_user(options.save, bytes));
  }
  if (options.json) {
    fmt::print("{}\n", model.json);
  } else {
    print_model(model);
  }
  return 0;
}

}  // namespace

Run declare_models(CLI::App& app) {
  const auto options = std::make_shared<ModelsArguments>();
  auto* name = app.add_option("name", options->name,
                              "[OWNER/]MODEL[:VERSION]: show this one (default: list)");
  app.add_option("--save", options->save, "Download the model into this file")->needs(name);
  auto* removed = app.add_flag("--delete", options->is_removed,
                               "Remove all versions; their files go once nothing past needs them");
  app.add_flag("--yes", options->is_sure, "Do not ask before that on a terminal")->needs(removed);
  auto* allow = app.add_option("--allow", options->allowed,
                               "From now on a private model runs on this provider, and others so "
                               "named, only");
  auto* none = app.add_flag("--allow-none", options->allows_none, "... and on none");
  allow->allow_extra_args(false)->needs(name)->excludes(removed);
  none->needs(name)->excludes(removed)->excludes(allow);
  removed->needs(name);
  auto* grant = app.add_option("--grant", options->granted,
                               "This account may use the private model from now on")
                    ->needs(name);
  app.add_flag("--with-content", options->with_content, "... and download it")->needs(grant);
  app.add_option("--revoke", options->revoked, "This account may no longer")->needs(name);
  app.add_flag("--grants", options->shows_grants, "Say which accounts may")->needs(name);
  app.add_flag("--holders", options->shows_holders,
               "Say which providers have your models, those deleted too")
      ->excludes(name);
  app.add_flag("--card", options->shows_card, "Show what its owner says of it")
      ->needs(name)
      ->excludes(removed);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return models(*options); };
}

}  // namespace commensal::apps
