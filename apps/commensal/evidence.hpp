// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/commensal/connection.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <memory>
#include <string>

namespace commensal::apps {

/// Everything a re-execution needs, wherever it came from; nothing of it is believed.
struct Evidence {
  protocol::Receipt receipt;
  receipt::Opening opening;
  std::shared_ptr<const graph::Graph> model;
};

/// RECEIPT, --data-dir, --opening, --model and where the gateway is.
struct EvidenceOptions {
  std::string receipt;  // an id or a file
  std::string state;
  std::string opening;
  std::string model;
  Connection connection;

  void declare(CLI::App& app);
};

/// Errors: kInvalidArgument (what is neither an id nor a file; files of something else), those of
/// files, of the client and of the importer; kDataLoss (the gateway sent another receipt).
core::Result<Evidence> gather(const EvidenceOptions& options);

/// From a gateway, over its public API. `model`: an ONNX file; "": the gateway's, downloaded.
/// Errors: as gather().
core::Result<Evidence> fetch_evidence(client::Client& client, const core::Digest& id,
                                      const std::string& model);

}  // namespace commensal::apps
