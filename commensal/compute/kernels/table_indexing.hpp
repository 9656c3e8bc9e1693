// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: elements looked up by place.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kIndexingRows[] = {
    {.name = "AffineGrid", .since = 20, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kAffineGrid, .cpu = cpu::affine_grid, .shaping = kSecond},
    {.name = "ConvTranspose", .inputs = {2, 3}, .kind = Kind::kDotProduct,
     .judge = &ref::kConvTranspose, .cpu = cpu::conv_transpose, .pack = cpu::pack_conv_transpose,
     .batching = {batching::only_first}},
    {.name = "DeformConv", .since = 19, .inputs = {3, 5}, .kind = Kind::kDotProduct,
     .judge = &ref::kDeformConv, .cpu = cpu::deform_conv, .pack = cpu::pack_deform_conv,
     .steering = kAfterFirst, .checked = kNone},
    {.name = "Det", .since = 11, .kind = Kind::kReduction, .judge = &ref::kDet,
     .cpu = cpu::det, .cost = cost::elimination, .shaping = kNone},
    {.name = "Einsum", .since = 12, .inputs = {1, kMany}, .kind = Kind::kDotProduct,
     .judge = &ref::kEinsum, .cpu = cpu::einsum},
    {.name = "GridSample", .since = 16, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kGridSample, .cpu = cpu::grid_sample, .batching = {batching::grid_sample},
     .shaping = kNone, .checked = kNone},
    {.name = "MaxRoiPool", .inputs = {2, 2}, .kind = Kind::kReduction, .judge = &ref::kMaxRoiPool},
    {.name = "MaxUnpool", .since = 9, .inputs = {2, 3}, .kind = Kind::kReduction,
     .judge = &ref::kMaxUnpool},
    {.name = "NonMaxSuppression", .since = 10, .inputs = {2, 5}, .kind = Kind::kReduction,
     .judge = &ref::kNonMaxSuppression, .cost = cost::overlaps},
    {.name = "NonZero", .since = 9, .kind = Kind::kReduction, .judge = &ref::kNonZero},
    {.name = "OneHot", .since = 9, .inputs = {3, 3}, .kind = Kind::kMovement,
     .judge = &ref::kOneHot, .strings = Strings::kCodes, .codes = {kThird, kFirst},
     .batching = {batching::one_hot}, .shaping = kSecond},
    {.name = "Resize", .since = 10, .until = 10, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kResize, .cpu = cpu::resize, .batching = {batching::resize},
     .shaping = kSecond},
    {.name = "Resize", .since = 11, .inputs = {1, 4}, .kind = Kind::kReduction,
     .judge = &ref::kResize, .cpu = cpu::resize, .batching = {batching::resize},
     .shaping = kAfterFirst},
    {.name = "ReverseSequence", .since = 10, .inputs = {2, 2}, .kind = Kind::kMovement,
     .judge = &ref::kReverseSequence, .strings = Strings::kCodes, .shaping = kSecond},
    {.name = "RoiAlign", .since = 10, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kRoiAlign, .cpu = cpu::roi_align},
    {.name = "Scatter", .since = 9, .until = 10, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kScatterElements, .strings = Strings::kCodes,
     .codes = {kFirstAndThird, kFirst}, .shaping = kNone, .checked = kSecond},
    {.name = "ScatterElements", .since = 11, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kScatterElements, .strings = Strings::kCodes,
     .codes = {kFirstAndThird, kFirst}, .shaping = kNone, .checked = kSecond},
    {.name = "ScatterND", .since = 11, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kScatterNd, .strings = Strings::kCodes, .codes = {kFirstAndThird, kFirst},
     .shaping = kNone, .checked = kSecond},
    {.name = "TopK", .until = 9, .outputs_max = 2, .kind = Kind::kReduction, .judge = &ref::kTopK,
     .cpu = cpu::top_k, .batching = {batching::along_last}, .shaping = kNone},
    {.name = "TopK", .since = 10, .inputs = {2, 2}, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kTopK, .cpu = cpu::top_k, .batching = {batching::along_last},
     .shaping = kSecond},
    {.name = "Unique", .since = 11, .outputs_max = 4, .kind = Kind::kReduction,
     .judge = &ref::kUnique, .strings = Strings::kCodes},
    {.name = "Upsample", .since = 7, .until = 8, .kind = Kind::kReduction, .judge = &ref::kResize,
     .cpu = cpu::resize, .batching = {batching::resize}, .shaping = kNone},
    {.name = "Upsample", .since = 9, .until = 9, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kResize, .cpu = cpu::resize, .batching = {batching::resize},
     .shaping = kSecond},
};
// clang-format on

}  // namespace commensal::kernels
