// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/remote_training.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::apps {

/// A training's segments as a model of a gateway's, which those and no others may have that the
/// command names now.
class RemoteModel {
 public:
  /// Errors: those of make_segment and of the client; kFailedPrecondition (what is to be private is
  /// public already).
  static core::Result<RemoteModel> push(const train::Trainer& trainer, client::Client& client,
                                        const RemoteTraining& how);

  const train::Segment& segment() const { return segment_; }
  const graph::Graph& graph() const { return *graph_; }
  const receipt::ModelRoots& roots() const { return roots_; }
  /// What the keys of its rollouts begin with: nothing else than what decides them.
  const std::string& key() const { return key_; }
  /// From where the trainer is to the end; the same whenever the command runs again.
  client::RolloutOrder order(const train::Trainer& trainer, int attempt) const;

 private:
  core::Result<void> place(const train::Trainer& trainer, client::Client& client,
                           const RemoteTraining& how);
  core::Result<void> place(client::Client& client, client::PushRequest request);

  train::Segment segment_;
  core::Digest content_{};
  std::shared_ptr<const graph::Graph> graph_;
  receipt::ModelRoots roots_;
  client::ModelInfo model_;
  std::string key_;
  double audit_probability_ = 0;
};

}  // namespace commensal::apps
