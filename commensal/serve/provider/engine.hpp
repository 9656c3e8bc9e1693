// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/verify/chain/provider.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <memory>
#include <span>
#include <vector>

namespace commensal::provider {

/// A model, ready to run. The face behind which lab/'s adversaries differ from an honest provider.
/// Thread-safety: one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const receipt::ModelRoots& roots() const = 0;
  /// Outputs in the graph's order. Errors: kInvalidArgument (inputs), kResourceExhausted.
  virtual core::Result<tensor::NamedTensors> run(const tensor::NamedTensors& inputs) = 0;
  /// Several requests, each answered as by run(); by default one after the other. An engine that
  /// can reads its weights once for all of them.
  virtual std::vector<core::Result<tensor::NamedTensors>> run_all(
      std::span<const tensor::NamedTensors* const> requests);
};

class EngineFactory {
 public:
  virtual ~EngineFactory() = default;
  virtual core::Result<std::unique_ptr<Engine>> load(const core::Path& model_file) = 0;
  /// For the links of a chain that feeds these outputs back. Error besides: kUnsupported, by
  /// default.
  virtual core::Result<std::unique_ptr<chain::Engine>> load_chain(
      const core::Path& model_file, const std::vector<protocol::Feed>& feeds);
};

/// The honest one: what the numeric specification says, by a graph::Session.
class SessionEngineFactory final : public EngineFactory {
 public:
  explicit SessionEngineFactory(graph::SessionOptions options) : options_(options) {}
  core::Result<std::unique_ptr<Engine>> load(const core::Path& model_file) override;
  core::Result<std::unique_ptr<chain::Engine>> load_chain(
      const core::Path& model_file, const std::vector<protocol::Feed>& feeds) override;

 private:
  graph::SessionOptions options_;
};

}  // namespace commensal::provider
