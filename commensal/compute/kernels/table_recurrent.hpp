// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: RNN, GRU, LSTM, training, random.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kRecurrentRows[] = {
    {.name = "Adagrad", .domain = kTraining, .inputs = {5, kMany}, .outputs_max = kMany,
     .judge = &ref::kAdagrad},
    {.name = "Adam", .domain = kTraining, .inputs = {6, kMany}, .outputs_max = kMany,
     .judge = &ref::kAdam},
    {.name = "Bernoulli", .since = 15, .judge = &ref::kBernoulli},
    {.name = "GRU", .since = 7, .inputs = {3, 6}, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kGru, .cpu = cpu::gru, .pack = cpu::pack_gru, .cost = cost::recurrence,
     .shaping = kFifth, .checked = kNone},
    {.name = "LSTM", .since = 7, .inputs = {3, 8}, .outputs_max = 3, .kind = Kind::kReduction,
     .judge = &ref::kLstm, .cpu = cpu::lstm, .pack = cpu::pack_lstm, .cost = cost::recurrence,
     .shaping = kFifth, .checked = kNone},
    {.name = "Momentum", .domain = kTraining, .inputs = {5, kMany}, .outputs_max = kMany,
     .judge = &ref::kMomentum},
    {.name = "Multinomial", .since = 7, .kind = Kind::kReduction, .judge = &ref::kMultinomial},
    {.name = "RNN", .since = 7, .inputs = {3, 6}, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kRnn, .cpu = cpu::rnn, .pack = cpu::pack_rnn, .cost = cost::recurrence,
     .shaping = kFifth, .checked = kNone},
    {.name = "RandomNormal", .inputs = {0, 0}, .kind = Kind::kConstant,
     .judge = &ref::kRandomNormal},
    {.name = "RandomNormalLike", .judge = &ref::kRandomNormalLike},
    {.name = "RandomUniform", .inputs = {0, 0}, .kind = Kind::kConstant,
     .judge = &ref::kRandomUniform},
    {.name = "RandomUniformLike", .judge = &ref::kRandomUniformLike},
};
// clang-format on

}  // namespace commensal::kernels
