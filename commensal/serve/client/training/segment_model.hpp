// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/segment.hpp>
#include <commensal/serve/client/training/gateway.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::training {

/// How a training's segments are to be made.
struct Terms {
  std::string model;                     // "owner/model" that they are pushed as
  std::int64_t each = 0;                 // steps of one; 0: train::segment_length()
  double audit_probability = 0.1;        // of each
  std::vector<crypto::Address> allowed;  // providers that may have model and data
  bool is_public = false;                // anybody may
  bool audits_all() const { return audit_probability >= 1; }
};

/// A training's segments as a model of a gateway's, which those and no others may have that the
/// terms name. A value; thread-safety: none.
class SegmentModel {
 public:
  /// Pushes what the gateway does not have yet. Errors: those of make_segment and of the gateway;
  /// kFailedPrecondition (what is to be private is public already).
  static core::Result<SegmentModel> push(const train::Trainer& trainer, Gateway& gateway,
                                         const Terms& terms);

  const train::Segment& segment() const { return segment_; }
  const std::shared_ptr<const graph::Graph>& graph() const { return graph_; }
  const receipt::ModelRoots& roots() const { return roots_; }
  /// What the keys of its rollouts begin with: nothing else than what decides them.
  const std::string& key() const { return key_; }
  /// And of those that begin after `done` steps from a state with this root; behind it which
  /// attempt that is.
  std::string key_from(std::int64_t done, const core::Digest& state) const;
  /// From where the trainer is to the end; the same whenever the same training asks again. The
  /// inputs' roots are taken.
  client::RolloutOrder order(const train::Trainer& trainer, int attempt) const;

 private:
  core::Result<void> place(Gateway& gateway, const Terms& terms);

  train::Segment segment_;
  core::Digest content_{};
  std::shared_ptr<const graph::Graph> graph_;
  receipt::ModelRoots roots_;
  client::ModelInfo model_;
  std::string key_;
  double audit_probability_ = 0;
};

}  // namespace commensal::training
