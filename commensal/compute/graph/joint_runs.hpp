// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <list>

namespace commensal::graph {

/// Several requests to one session at once. Neighbours of the same types, whatever their numbers of
/// rows, are joined along axis 0 of every input, run once and cut apart again, where batching.hpp
/// shows that this changes no bit: weights are then read once for all of them. The others run one
/// after the other, and so do those whose joint run fails, so that each has the error that is its
/// own. What differs in another dimension is never padded: no rule shows that this changes no bit.
/// Thread-safety: as the session's.
class JointRuns {
 public:
  using Request = std::vector<tensor::Tensor>;
  using Answer = core::Result<std::vector<tensor::Tensor>>;

  /// `session` outlives this object.
  explicit JointRuns(Session& session) : session_(session) {}

  /// The answer to each request, as Session::run would have given it.
  /// Of `options` the budget is each request's own, a pacer and being cancelled are all of theirs,
  /// and nothing is traced.
  std::vector<Answer> run(std::span<const Request> requests, const RunOptions& options = {});

 private:
  /// What was found of requests of such types, with one row each.
  struct Judged {
    std::vector<tensor::TensorType> row;
    bool joins = false;
  };
  using Row = std::vector<tensor::TensorType>;
  bool joins(const Row& row);
  /// Nothing: they have to run alone.
  std::vector<Answer> run_joined(std::span<const Request> requests, RunOptions options);

  Session& session_;
  std::list<Judged> judged_;  // youngest first
};

}  // namespace commensal::graph
