// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/commensal/connection.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;

struct ModelsArguments {
  std::string name;
  std::string save;
  bool is_removed = false;
  bool allows_none = false;
  std::vector<std::string> allowed;
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

Result<int> remove_model(client::Client& client, const std::string& name, bool json) {
  COMMENSAL_TRY(client.remove_model(name));
  if (json) {
    fmt::print("{}\n", nlohmann::json({{"name", name}, {"removed", true}}).dump());
  } else {
    fmt::print("{} is removed, all versions\n", name);
  }
  return 0;
}

/// As it is, or as it is with another list of providers.
Result<client::ModelInfo> look_up_model(client::Client& client, const std::string& name,
                                        const ModelsArguments& options) {
  if (options.allowed.empty() && !options.allows_none) return client.model(name);
  std::vector<crypto::Address> providers;
  for (const std::string& text : options.allowed) {
    COMMENSAL_ASSIGN(const crypto::Address address, crypto::address_from_text(text));
    providers.push_back(address);
  }
  return client.allow(name, providers);
}

Result<int> models(const ModelsArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  if (options.name.empty()) return list(client, options.json);
  COMMENSAL_ASSIGN(const std::string name, full_model_name(client, options.name));
  if (options.is_removed) return remove_model(client, name, options.json);
  COMMENSAL_ASSIGN(const client::ModelInfo model, look_up_model(client, name, options));
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
  auto* name =
      app.add_option("name", options->name, "[OWNER/]MODEL: show this one (default: list)");
  app.add_option("--save", options->save, "Download the model into this file")->needs(name);
  auto* removed = app.add_flag("--delete", options->is_removed,
                               "Remove all versions; files stay for audits of past answers");
  auto* allow = app.add_option("--allow", options->allowed,
                               "From now on a private model runs on this provider, and others so "
                               "named, only");
  auto* none = app.add_flag("--allow-none", options->allows_none, "... and on none");
  allow->allow_extra_args(false)->needs(name)->excludes(removed);
  none->needs(name)->excludes(removed)->excludes(allow);
  removed->needs(name);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return models(*options); };
}

}  // namespace commensal::apps
