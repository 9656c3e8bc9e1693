// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> reduction_rows() { return {}; }

}  // namespace commensal::kernels
