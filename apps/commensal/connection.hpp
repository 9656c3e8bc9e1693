// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/serve/client/client.hpp>
#include <string>

namespace commensal::apps {

/// Where the gateway is and who asks: --gateway and --token-file, else COMMENSAL_GATEWAY and
/// COMMENSAL_TOKEN (likewise --pin, --ca, COMMENSAL_PIN, COMMENSAL_CA), else
/// $XDG_CONFIG_HOME/commensal/token (~/.config/commensal/token) and http://127.0.0.1:8080. A token
/// is never an argument: arguments are seen by everybody.
struct Connection {
  std::string gateway;
  std::string token_file;
  std::string pins;     // of https: SHA-256 of public keys, with commas between
  std::string ca_file;  // of https

  void declare(CLI::App& app);
};

/// Errors: kInvalidArgument (pins), those of reading the token's file and of Client::create.
core::Result<client::Client> connect(const Connection& connection);

/// OWNER/MODEL of what was given: where the owner is left out, it is the token's account.
/// Errors: kInvalidArgument (more than one slash), those of who_am_i().
core::Result<std::string> full_model_name(client::Client& client, const std::string& given);

/// Likewise of what is to be pushed. Errors, before anything is sent: also kInvalidArgument (no
/// name of a model), kPermissionDenied (another owner than the token's account).
core::Result<std::string> name_to_push(client::Client& client, const std::string& given);

/// A graph with the model's inputs and outputs that does nothing: what files are read against.
graph::Graph ports_graph(const client::ModelInfo& model);

/// Where a token is looked for when nothing names one.
core::Path default_token_file();

}  // namespace commensal::apps
