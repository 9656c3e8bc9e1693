// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> reduction_rows() {
  return {
      {"ArgMax", 1, 0, 1, 1, 1, Kind::kReduction, ref::arg_max()},
      {"ArgMin", 1, 0, 1, 1, 1, Kind::kReduction, ref::arg_min()},
      {"CumSum", 11, 0, 2, 2, 1, Kind::kReduction, ref::cum_sum()},
      {"Hardmax", 1, 0, 1, 1, 1, Kind::kReduction, ref::hardmax()},
      {"LogSoftmax", 1, 0, 1, 1, 1, Kind::kReduction, ref::log_softmax()},
      {"ReduceL1", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_l1()},
      {"ReduceL1", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_l1()},
      {"ReduceL2", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_l2()},
      {"ReduceL2", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_l2()},
      {"ReduceLogSum", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_log_sum()},
      {"ReduceLogSum", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_log_sum()},
      {"ReduceMax", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_max()},
      {"ReduceMax", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_max()},
      {"ReduceMean", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_mean(), {cpu::reduce_mean}},
      {"ReduceMean", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_mean(), {cpu::reduce_mean}},
      {"ReduceMin", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_min()},
      {"ReduceMin", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_min()},
      {"ReduceProd", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_prod()},
      {"ReduceProd", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_prod()},
      {"ReduceSum", 1, 12, 1, 1, 1, Kind::kReduction, ref::reduce_sum(), {cpu::reduce_sum}},
      {"ReduceSum", 13, 0, 1, 2, 1, Kind::kReduction, ref::reduce_sum(), {cpu::reduce_sum}},
      {"ReduceSumSquare", 1, 17, 1, 1, 1, Kind::kReduction, ref::reduce_sum_square()},
      {"ReduceSumSquare", 18, 0, 1, 2, 1, Kind::kReduction, ref::reduce_sum_square()},
      {"Softmax", 1, 0, 1, 1, 1, Kind::kReduction, ref::softmax(), {cpu::softmax}},
  };
}

}  // namespace commensal::kernels
