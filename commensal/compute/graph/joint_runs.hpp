// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <limits>
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
  using Row = std::vector<tensor::TensorType>;
  /// What was found of requests of such types, with one row each.
  struct Judged {
    Row row;
    bool joins = false;
    // Of one request: the most rows that this budget has sufficed for, the fewest that it has not.
    std::int64_t ops_max = kNoBudget;
    std::int64_t rows_fit = 0, rows_over = std::numeric_limits<std::int64_t>::max();

    void see(std::int64_t rows, const Answer& answer);
  };
  /// Null: whoever waits for the machine was not willing to wait until that is known.
  Judged* judge(const Row& row, const RunOptions& options);
  /// Nothing: they have to run alone.
  std::vector<Answer> run_joined(std::span<const Request> requests, RunOptions options,
                                 Judged& judged);
  /// Of requests that are alike.
  std::vector<Answer> run_alike(std::span<const Request> requests, const RunOptions& options);

  Session& session_;
  std::list<Judged> judged_;  // youngest first
};

}  // namespace commensal::graph
