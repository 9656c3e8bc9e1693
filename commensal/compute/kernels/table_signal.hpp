// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: spectra, windows, images from columns.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kSignalRows[] = {
    {.name = "BlackmanWindow", .since = 17, .kind = Kind::kConstant,
     .judge = &ref::kBlackmanWindow},
    {.name = "Col2Im", .since = 18, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kCol2im, .shaping = kSecondAndThird},
    {.name = "DFT", .since = 17, .until = 19, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kDft, .cpu = cpu::dft, .shaping = kSecond},
    {.name = "DFT", .since = 20, .inputs = {1, 3}, .kind = Kind::kReduction,
     .judge = &ref::kDft, .cpu = cpu::dft, .shaping = kSecondAndThird},
    {.name = "HammingWindow", .since = 17, .kind = Kind::kConstant, .judge = &ref::kHammingWindow},
    {.name = "HannWindow", .since = 17, .kind = Kind::kConstant, .judge = &ref::kHannWindow},
    {.name = "MelWeightMatrix", .since = 17, .inputs = {5, 5}, .kind = Kind::kConstant,
     .judge = &ref::kMelWeightMatrix},
    {.name = "STFT", .since = 17, .inputs = {2, 4}, .kind = Kind::kReduction,
     .judge = &ref::kStft, .cpu = cpu::stft, .shaping = kSecondAndFourth,
     .steering = kSecondAndFourth},
};
// clang-format on

}  // namespace commensal::kernels
