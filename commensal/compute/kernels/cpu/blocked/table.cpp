// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/internal_rows.hpp>

namespace commensal::kernels {

std::vector<InternalRow> blocked_rows() {
  return {};
}

}  // namespace commensal::kernels
