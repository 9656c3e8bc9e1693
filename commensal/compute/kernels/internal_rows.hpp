// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// How the table of internal operators is written: rows in groups, by what they do.
namespace commensal::kernels {

struct InternalRow {
  std::string_view name;
  int inputs_min = 1, inputs_max = 1;
  Kind kind = Kind::kElementwise;
  InferFn infer = nullptr;
  KernelFn cpu = nullptr;
  PackFn pack = nullptr;
};

std::vector<InternalRow> blocked_rows();      // cpu/blocked/table.cpp: channels in blocks of 16
std::vector<InternalRow> transformer_rows();  // cpu/transformer/table.cpp

}  // namespace commensal::kernels
