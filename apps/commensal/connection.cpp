// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/connection.hpp>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/serve/gateway/repository.hpp>
#include <cstdlib>

namespace commensal::apps {
namespace {

constexpr std::size_t kShownMax = 80;
constexpr const char* kDefaultGateway = "http://127.0.0.1:8080";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

core::Result<void> read_token(const core::Path& file, client::ClientOptions& options) {
  const auto bytes = core::read_file(file, limits::kTokenBytesMax);
  if (!bytes) return core::in_context(options.token_source, bytes.error());
  std::string& token = options.token = core::as_text(*bytes);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!token.empty()) return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "{}: the file is empty",
                    options.token_source);
}

core::Result<void> find_token(const Connection& connection, client::ClientOptions& options) {
  if (!connection.token_file.empty()) {
    options.token_source = fmt::format("--token-file '{}'", connection.token_file);
    return read_token(connection.token_file, options);
  }
  options.token = environment("COMMENSAL_TOKEN");
  options.token_source = "$COMMENSAL_TOKEN";
  if (!options.token.empty()) return {};
  const core::Path file = default_token_file();
  options.token_source = fmt::format("'{}'", file.string());
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return read_token(file, options);
  options.token_source.clear();
  return {};
}

core::Result<tls::Trust> find_trust(const Connection& connection) {
  tls::Trust trust;
  const bool is_given = !connection.pins.empty();
  const std::string pins = is_given ? connection.pins : environment("COMMENSAL_PIN");
  for (const std::string& pin : CLI::detail::split(pins, ',')) {
    if (pins.empty()) break;
    const auto digest = core::digest_from_hex(pin);
    if (!digest) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "{} '{}' has {} characters, expected 64 hexadecimal digits",
                        is_given ? "--pin" : "$COMMENSAL_PIN", pin.substr(0, kShownMax),
                        pin.size());
    }
    trust.pins.push_back(*digest);
  }
  trust.ca_file = connection.ca_file.empty() ? environment("COMMENSAL_CA") : connection.ca_file;
  return trust;
}

}  // namespace

core::Path default_token_file() {
  const std::string config = environment("XDG_CONFIG_HOME");
  const core::Path base =
      config.empty() ? core::Path(environment("HOME")) / ".config" : core::Path(config);
  return base / "commensal" / "token";
}

void Connection::declare(CLI::App& app) {
  app.add_option("--gateway", gateway,
                 fmt::format("https://HOST:PORT or http://HOST:PORT of the gateway (default: "
                             "$COMMENSAL_GATEWAY, else {})",
                             kDefaultGateway));
  app.add_option("--token-file", token_file,
                 "File with the account's token (default: $COMMENSAL_TOKEN, else "
                 "~/.config/commensal/token)");
  app.add_option(
      "--pin", pins,
      "Of https: SHA-256 of the gateway's public key, 64 hexadecimal digits, which must be "
      "its; several with commas between (default: $COMMENSAL_PIN)");
  app.add_option("--ca", ca_file,
                 "Of https without --pin: file of the authorities to believe (default: "
                 "$COMMENSAL_CA, else the system's)");
}

core::Result<client::Client> connect(const Connection& connection) {
  client::ClientOptions options;
  options.url = !connection.gateway.empty() ? connection.gateway : environment("COMMENSAL_GATEWAY");
  if (options.url.empty()) options.url = kDefaultGateway;
  COMMENSAL_TRY(find_token(connection, options));
  COMMENSAL_ASSIGN(options.trust, find_trust(connection));
  const bool is_trusted = !options.trust.pins.empty() || !options.trust.ca_file.empty();
  if (is_trusted && !options.url.starts_with("https://")) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}' is not encrypted, and --pin or --ca (or $COMMENSAL_PIN, $COMMENSAL_CA) "
                      "is for https://HOST:PORT",
                      options.url);
  }
  return client::Client::create(options);
}

core::Result<std::string> full_model_name(client::Client& client, const std::string& given) {
  const auto slashes = std::count(given.begin(), given.end(), '/');
  if (slashes == 1) return given;
  if (slashes > 1 || given.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a model's name is OWNER/MODEL or, of one's own, MODEL; found '{}'", given);
  }
  COMMENSAL_ASSIGN(const client::AccountInfo account, client.who_am_i());
  return account.name + "/" + given;
}

core::Result<std::string> name_to_push(client::Client& client, const std::string& given) {
  COMMENSAL_ASSIGN(std::string full, full_model_name(client, given));
  COMMENSAL_TRY(gateway::check_model_name(full));
  COMMENSAL_ASSIGN(const client::AccountInfo account, client.who_am_i());
  if (full.substr(0, full.find('/')) == account.name) return full;
  return core::fail(core::ErrorCode::kPermissionDenied, "'{}' pushes to '{}/...' only, not to '{}'",
                    account.name, account.name, full);
}

graph::Graph ports_graph(const client::ModelInfo& model) {
  graph::Graph graph;
  const auto add = [&](const client::Port& port) {
    graph.values.push_back({.name = port.name,
                            .declared = {.dtype = port.dtype,
                                         .ranked = true,
                                         .dims = port.dims,
                                         .symbols = std::vector<std::string>(port.dims.size())}});
    return static_cast<graph::ValueId>(graph.values.size() - 1);
  };
  for (const client::Port& port : model.inputs) graph.inputs.push_back(add(port));
  for (const client::Port& port : model.outputs) graph.outputs.push_back(add(port));
  return graph;
}

}  // namespace commensal::apps
