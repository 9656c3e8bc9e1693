// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/compute/graph/session.hpp>
#include <optional>

namespace commensal::noise {

/// What the client adds to one step's inputs.
struct Noise {
  core::Digest seed{};
  int exponent = 0;
};

/// A model that is run with noise and without: what provider and auditor of a rollout both do.
/// Thread-safety: one run() at a time.
class NoisySession {
 public:
  /// Errors: those of Session::create.
  static core::Result<NoisySession> create(std::shared_ptr<const graph::Graph> graph,
                                           const graph::SessionOptions& options,
                                           std::vector<protocol::Feed> feeds = {});

  const graph::Graph& graph() const { return session_.graph(); }
  graph::Session& session() { return session_; }

  /// F(inputs + noise), or F(inputs). Inputs and outputs in the graph's order.
  /// Errors: those of Session::run; kUnsupported where the graph has nothing floating that depends
  /// on its inputs.
  core::Result<std::vector<tensor::Tensor>> run(std::span<const tensor::Tensor> inputs,
                                                const std::optional<Noise>& noise,
                                                const graph::RunOptions& options = {});
  /// inputs + noise where noise goes onto inputs: what a trace of F begins with.
  core::Result<std::vector<tensor::Tensor>> disturbed(std::span<const tensor::Tensor> inputs,
                                                      const Noise& noise) const;
  /// Of runs that are given none; null: none.
  core::Pacer* pacer() const { return options_.pacer; }
  const std::vector<protocol::Feed>& feeds() const { return feeds_; }
  /// By rule 1 of targets.hpp.
  const std::vector<std::uint32_t>& noisy_inputs() const { return noisy_inputs_; }

 private:
  /// Where noise goes onto a value inside the graph.
  struct Inner {
    graph::Session before;
    graph::Session after;
  };

  NoisySession(graph::Session session, const graph::SessionOptions& options,
               std::vector<protocol::Feed> feeds, std::vector<std::uint32_t> noisy_inputs)
      : session_(std::move(session)),
        options_(options),
        feeds_(std::move(feeds)),
        noisy_inputs_(std::move(noisy_inputs)) {}
  /// Element types are known only once the graph has run.
  core::Result<void> find_inner(std::span<const tensor::Tensor> inputs, graph::RunOptions options);

  graph::Session session_;
  graph::SessionOptions options_;
  std::vector<protocol::Feed> feeds_;
  std::vector<std::uint32_t> noisy_inputs_;
  std::optional<Inner> inner_;
};

}  // namespace commensal::noise
