// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/train/checkpoint.hpp>
#include <commensal/compute/train/plan.hpp>
#include <span>

namespace commensal::train {

/// A model on samples that it is not trained on: the mean of the loss (without smoothing), and how
/// many classes are right. Samples go in their order, a batch at a time; what is left over is a
/// smaller batch where the model leaves its size free, and not looked at elsewhere.
/// Thread-safety: none.
class Evaluation {
 public:
  /// `data`: as of read_samples(); `weights`: names of initialisers of `model` that run() is given.
  /// Errors: those of with_loss() and check_classes(); kInvalidArgument (less than a batch, where
  /// the model fixes its size).
  static core::Result<Evaluation> create(const graph::Graph& model, const Plan& plan,
                                         std::vector<tensor::Tensor> data,
                                         const std::vector<std::string>& weights,
                                         const graph::SessionOptions& options);
  /// The mean over batches, each by its samples, added in binary64 from the first on.
  /// Errors: those of a run; kFailedPrecondition (a loss that is not finite).
  core::Result<Checkpoint::HeldOut> run(std::int64_t step,
                                        std::span<const Checkpoint::Entry> weights);

 private:
  struct Part {
    std::int64_t first = 0, last = 0, batch = 1;  // samples
    graph::Session session;
  };
  Evaluation() = default;

  std::vector<tensor::Tensor> data_;
  std::vector<Part> parts_;
  Loss loss_;
};

/// How many of `targets` [N, ...] have the largest of their scores [N, C, ...], of equal ones the
/// first; and how many are looked at: those that are not `ignored`.
struct Right {
  std::int64_t right = 0, all = 0;
};
Right right_classes(const tensor::Tensor& scores, const tensor::Tensor& targets,
                    std::optional<std::int64_t> ignored);

}  // namespace commensal::train
