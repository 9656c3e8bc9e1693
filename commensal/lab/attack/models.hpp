// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <memory>

namespace commensal::attack {

/// The networks that all trials share: the project's own (models/digits, models/letters), made
/// ready once. Thread-safety: one thread.
class Models {
 public:
  /// Reads FOLDER/digits/digits.onnx and FOLDER/letters/letters.onnx. Errors: theirs.
  static core::Result<std::unique_ptr<Models>> load(const core::Path& folder);

  /// The digit network, and what providers run instead of it.
  enum class Digits { kHonest, kBfloat16, kShorter, kSmaller };
  core::Result<tensor::NamedTensors> run(Digits which, const tensor::NamedTensors& picture);
  tensor::NamedTensors picture(core::Rng& rng) const;
  /// Of the outputs' types, with numbers out of nowhere.
  static tensor::NamedTensors garbage(const tensor::NamedTensors& outputs, core::Rng& rng);

  /// The auditor's own session; runs the reference kernels, not the fast ones.
  noise::NoisySession& auditor() { return *auditor_; }
  graph::Session& digits() { return *digits_; }
  const std::shared_ptr<const graph::Graph>& digits_graph() const { return digits_graph_; }
  const receipt::ModelRoots& digits_roots() const { return digits_roots_; }
  const std::shared_ptr<const receipt::ModelLeaves>& digits_leaves() const {
    return digits_leaves_;
  }

  const std::shared_ptr<const graph::Graph>& letters_graph() const { return letters_graph_; }
  const receipt::ModelRoots& letters_roots() const { return letters_roots_; }
  /// F of the letter network, with noise or without.
  noise::NoisySession& letters() { return *letters_; }
  static const std::vector<protocol::Feed>& letters_feeds();
  static tensor::NamedTensors letters_inputs();

 private:
  Models() = default;
  core::Result<void> load_digits(const core::Path& file);
  core::Result<void> load_letters(const core::Path& file);

  std::shared_ptr<const graph::Graph> digits_graph_, letters_graph_;
  receipt::ModelRoots digits_roots_, letters_roots_;
  std::shared_ptr<const receipt::ModelLeaves> digits_leaves_;
  std::optional<graph::Session> digits_, shorter_, smaller_;
  std::unique_ptr<rollout::Engine> bfloat16_;
  std::optional<noise::NoisySession> auditor_, letters_;
};

}  // namespace commensal::attack
