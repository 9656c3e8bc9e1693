// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns
std::vector<Row> loss_rows() {
  return {
      {"NegativeLogLikelihoodLoss", 12, 0, 2, 3, 1, Kind::kReduction,
       ref::negative_log_likelihood_loss()},
      {"ReduceLogSumExp", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_log_sum_exp()},
      {"ReduceLogSumExp", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_log_sum_exp()},
      {"SoftmaxCrossEntropyLoss", 12, 0, 2, 3, 2, Kind::kReduction,
       ref::softmax_cross_entropy_loss()},
  };
}

}  // namespace commensal::kernels
