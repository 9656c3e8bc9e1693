// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns
std::vector<Row> trig_rows() {
  return {
      {"Acos", 7, 0, 1, 1, 1, Kind::kElementwise, ref::acos()},
      {"Acosh", 9, 0, 1, 1, 1, Kind::kElementwise, ref::acosh()},
      {"Asin", 7, 0, 1, 1, 1, Kind::kElementwise, ref::asin()},
      {"Asinh", 9, 0, 1, 1, 1, Kind::kElementwise, ref::asinh()},
      {"Atan", 7, 0, 1, 1, 1, Kind::kElementwise, ref::atan()},
      {"Atanh", 9, 0, 1, 1, 1, Kind::kElementwise, ref::atanh()},
      {"Cos", 7, 0, 1, 1, 1, Kind::kElementwise, ref::cos()},
      {"Cosh", 9, 0, 1, 1, 1, Kind::kElementwise, ref::cosh()},
      {"Sin", 7, 0, 1, 1, 1, Kind::kElementwise, ref::sin()},
      {"Sinh", 9, 0, 1, 1, 1, Kind::kElementwise, ref::sinh()},
      {"Tan", 7, 0, 1, 1, 1, Kind::kElementwise, ref::tan()},
  };
}

}  // namespace commensal::kernels
