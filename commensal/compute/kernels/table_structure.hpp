// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/structure/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: sequences, optionals, control flow.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kStructureRows[] = {
    {.name = "ConcatFromSequence", .since = 11, .kind = Kind::kStructure,
     .values = structure::concat_from_sequence},
    {.name = "If", .outputs_max = kMany, .kind = Kind::kStructure, .values = structure::branch,
     .role = Role::kIf},
    {.name = "Loop", .inputs = {2, kMany}, .outputs_max = kMany, .kind = Kind::kStructure,
     .values = structure::loop, .role = Role::kLoop},
    {.name = "Optional", .since = 15, .inputs = {0, 1}, .kind = Kind::kStructure,
     .values = structure::optional},
    {.name = "OptionalGetElement", .since = 15, .kind = Kind::kStructure,
     .values = structure::optional_get_element},
    {.name = "OptionalHasElement", .since = 15, .inputs = {0, 1}, .kind = Kind::kStructure,
     .values = structure::optional_has_element},
    {.name = "Scan", .since = 8, .until = 8, .inputs = {1, kMany}, .outputs_max = kMany,
     .kind = Kind::kStructure, .values = structure::scan_batch, .role = Role::kScan},
    {.name = "Scan", .since = 9, .inputs = {1, kMany}, .outputs_max = kMany,
     .kind = Kind::kStructure, .values = structure::scan, .role = Role::kScan},
    {.name = "SequenceAt", .since = 11, .inputs = {2, 2}, .kind = Kind::kStructure,
     .values = structure::sequence_at},
    {.name = "SequenceConstruct", .since = 11, .inputs = {1, kMany}, .kind = Kind::kStructure,
     .values = structure::sequence_construct},
    {.name = "SequenceEmpty", .since = 11, .inputs = {0, 0}, .kind = Kind::kStructure,
     .values = structure::sequence_empty},
    {.name = "SequenceErase", .since = 11, .inputs = {1, 2}, .kind = Kind::kStructure,
     .values = structure::sequence_erase},
    {.name = "SequenceInsert", .since = 11, .inputs = {2, 3}, .kind = Kind::kStructure,
     .values = structure::sequence_insert},
    {.name = "SequenceLength", .since = 11, .kind = Kind::kStructure,
     .values = structure::sequence_length},
    {.name = "SequenceMap", .since = 17, .inputs = {1, kMany}, .outputs_max = kMany,
     .kind = Kind::kStructure, .values = structure::sequence_map},
    {.name = "SplitToSequence", .since = 11, .inputs = {1, 2}, .kind = Kind::kStructure,
     .values = structure::split_to_sequence},
};
// clang-format on

}  // namespace commensal::kernels
