// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/strings_ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: on texts.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kStringRows[] = {
    {.name = "RegexFullMatch", .since = 20, .judge = &ref::kRegexFullMatch,
     .strings = Strings::kOwn},
    {.name = "StringConcat", .since = 20, .inputs = {2, 2}, .judge = &ref::kStringConcat,
     .strings = Strings::kOwn},
    {.name = "StringNormalizer", .since = 10, .judge = &ref::kStringNormalizer,
     .strings = Strings::kOwn},
    {.name = "StringSplit", .since = 20, .outputs_max = 2, .judge = &ref::kStringSplit,
     .strings = Strings::kOwn},
    {.name = "TfIdfVectorizer", .since = 9, .kind = Kind::kReduction,
     .judge = &ref::kTfIdfVectorizer, .strings = Strings::kOwn},
};
// clang-format on

}  // namespace commensal::kernels
