// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/batching/rules.hpp>
#include <commensal/compute/kernels/cost.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

/// What rows are written with. The table is one; its rows lie in files of their own by what they do
/// (table_*.hpp), which table.cpp alone includes. clang-format leaves them alone: a row is a
/// paragraph, its columns in the order in which Operator has them.
namespace commensal::kernels {

inline constexpr int kMany = limits::kNodeInputsMax;

inline constexpr std::string_view kMl = "ai.onnx.ml";
inline constexpr std::string_view kTraining = "ai.onnx.preview.training";

inline constexpr Places kNone{0}, kFirst{0b1}, kSecond{0b10}, kBoth{0b11}, kThird{0b100},
    kFourth{0b1000}, kFifth{0b10000}, kSeventh{0b1000000};
inline constexpr Places kFirstAndThird{0b101}, kSecondAndThird{0b110},
    kSecondAndFourth{0b1010};
inline constexpr Places kAfterFirst{~1u}, kAll{~0u};

}  // namespace commensal::kernels
