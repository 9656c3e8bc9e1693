// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/cpu/blocked/layout.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// Columns of a right matrix in panels of a few vectors, as row_product reads them: a panel is
/// [depth][vectors * lanes]. Columns beyond the last are +0.
struct Panels {
  struct Panel {
    std::int64_t vector = 0;  // the first
    int vectors = 0;
  };
  std::vector<Panel> panels;
  std::int64_t depth = 0;
  int lanes = 0;

  /// A panel is a multiple of `unit` columns; by default whole blocks of channels.
  Panels(const BlockedKernels& kernels, std::int64_t columns, std::int64_t depth,
         std::int64_t unit = kBlock);

  std::int64_t floats() const { return vectors() * lanes * depth; }
  std::int64_t vectors() const { return panels.back().vector + panels.back().vectors; }
  /// Where step `k` of a panel begins.
  std::int64_t offset(const Panel& panel, std::int64_t k) const {
    return panel.vector * lanes * depth + k * panel.vectors * lanes;
  }
  /// Where element (k, column) lies.
  std::int64_t at(std::int64_t k, std::int64_t column) const;
};

}  // namespace commensal::kernels::cpu
