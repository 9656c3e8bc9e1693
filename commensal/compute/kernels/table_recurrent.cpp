// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr int kMany = limits::kNodeInputsMax;

}  // namespace

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns, domain
std::vector<Row> recurrent_rows() {
  return {
      {"Adagrad", 1, 0, 5, kMany, kMany, Kind::kElementwise, ref::adagrad(), {}, kTraining},
      {"Adam", 1, 0, 6, kMany, kMany, Kind::kElementwise, ref::adam(), {}, kTraining},
      {"Bernoulli", 15, 0, 1, 1, 1, Kind::kElementwise, ref::bernoulli()},
      {"GRU", 7, 0, 3, 6, 2, Kind::kReduction, ref::gru()},
      {"LSTM", 7, 0, 3, 8, 3, Kind::kReduction, ref::lstm()},
      {"Momentum", 1, 0, 5, kMany, kMany, Kind::kElementwise, ref::momentum(), {}, kTraining},
      {"Multinomial", 7, 0, 1, 1, 1, Kind::kReduction, ref::multinomial()},
      {"RNN", 7, 0, 3, 6, 2, Kind::kReduction, ref::rnn()},
      {"RandomNormal", 1, 0, 0, 0, 1, Kind::kConstant, ref::random_normal()},
      {"RandomNormalLike", 1, 0, 1, 1, 1, Kind::kElementwise, ref::random_normal_like()},
      {"RandomUniform", 1, 0, 0, 0, 1, Kind::kConstant, ref::random_uniform()},
      {"RandomUniformLike", 1, 0, 1, 1, 1, Kind::kElementwise, ref::random_uniform_like()},
  };
}

}  // namespace commensal::kernels
