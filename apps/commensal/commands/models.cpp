// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/commensal/connection.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;

struct ModelsArguments {
  std::string name;
  std::string save;
  Connection connection;
  bool json = false;
};

std::string text_of(const client::Port& port) {
  std::vector<std::string> dims;
  for (const std::int64_t dim : port.dims) dims.push_back(dim < 0 ? "?" : std::to_string(dim));
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
    COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/models"));
    fmt::print("{}\n", text);
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

Result<int> models(const ModelsArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  if (options.name.empty()) return list(client, options.json);
  COMMENSAL_ASSIGN(const client::ModelInfo model, client.model(options.name));
  if (!options.save.empty()) {
    COMMENSAL_ASSIGN(const core::Bytes bytes, client.model_content(options.name));
    COMMENSAL_TRY(core::write_file_atomically(options.save, bytes));
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
  auto* name = app.add_option("name", options->name, "OWNER/MODEL: show this one (default: list)");
  app.add_option("--save", options->save, "Download the model into this file")->needs(name);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return models(*options); };
}

}  // namespace commensal::apps
