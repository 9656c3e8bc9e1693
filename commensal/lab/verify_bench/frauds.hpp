// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <memory>

/// Providers that compute something cheaper, as a sublinear audit meets them.
namespace commensal::lab {

/// A network of the same nodes with other weights, and what is done to what its products put out.
/// What is pointed to must outlive what run() returns.
class Fraud {
 public:
  using OfWeight = float (*)(std::size_t place, float weight);
  using OfOutput = float (*)(float value);

  /// Null functions change nothing. Error: the session's.
  static core::Result<Fraud> make(std::shared_ptr<const graph::Graph> exact, OfWeight of_weight,
                                  OfOutput of_output);
  /// Runs it, and shows a tracer its nodes as if they were those of the exact network.
  dispute::Rerun rerun(const std::vector<tensor::Tensor>& inputs);

 private:
  Fraud(std::shared_ptr<const graph::Graph> exact, graph::Session session, OfOutput of_output)
      : exact_(std::move(exact)), session_(std::move(session)), of_output_(of_output) {}

  std::shared_ptr<const graph::Graph> exact_;
  graph::Session session_;
  OfOutput of_output_;
};

struct NamedFraud {
  const char* name;
  Fraud::OfWeight of_weight;
  Fraud::OfOutput of_output;
};
/// Frauds that change nearly every element of nearly every operator.
std::span<const NamedFraud> dense_frauds();

}  // namespace commensal::lab
