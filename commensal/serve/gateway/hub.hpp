// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <string>
#include <vector>

namespace commensal::gateway {

struct ModelPort {
  std::string name;
  graph::Declared declared;
};

/// One version of a model: immutable, addressed by its content.
struct ModelVersion {
  std::string name;  // "owner/model"
  std::string owner;
  std::uint32_t version = 0;  // 1, 2, ...
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;  // of a private model; no other one runs it
  core::Digest content;                            // SHA-256 of the file
  core::Digest graph_root;
  core::Digest weight_root;
  std::int64_t bytes = 0;
  std::int64_t created_ms = 0;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
};

struct PushOptions {
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;
};

/// Models on disk: files by content under `folder`/<sha256>.onnx, records in the store. A version
/// is there whole or not at all: the record is written after the file is durable.
/// Thread-safety: one thread, the store's.
class ModelHub {
 public:
  ModelHub(core::Store& store, core::Path folder, const core::Clock& clock)
      : store_(store), folder_(std::move(folder)), clock_(clock) {}

  /// Imports the model, so that nothing broken is ever registered. Pushing the bytes of the newest
  /// version again returns that version.
  /// Errors: kInvalidArgument and kUnsupported (the importer's one line), kPermissionDenied
  /// (another's name), kDataLoss.
  core::Result<ModelVersion> push(const Account& owner, const std::string& model,
                                  core::ByteView bytes, const PushOptions& options);
  /// `version` 0 is the newest. A private model is found by its owner and by operators only;
  /// for everybody else it does not exist. Error: kNotFound.
  core::Result<ModelVersion> find(const Account* asker, const std::string& name,
                                  std::uint32_t version = 0);
  /// The newest versions that `asker` may see, by name.
  core::Result<std::vector<ModelVersion>> list(const Account* asker);
  core::Path path_of(const core::Digest& content) const;

 private:
  core::Store& store_;
  core::Path folder_;
  const core::Clock& clock_;
};

}  // namespace commensal::gateway
