// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

constexpr int kMany = limits::kNodeInputsMax;

}  // namespace

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> arithmetic_rows() {
  return {
      {"Add", 7, 0, 2, 2, 1, Kind::kElementwise, ref::add()},
      {"Div", 7, 0, 2, 2, 1, Kind::kElementwise, ref::div()},
      {"Max", 8, 0, 1, kMany, 1, Kind::kElementwise, ref::max()},
      {"Mean", 8, 0, 1, kMany, 1, Kind::kElementwise, ref::mean()},
      {"Min", 8, 0, 1, kMany, 1, Kind::kElementwise, ref::min()},
      {"Mod", 10, 0, 2, 2, 1, Kind::kElementwise, ref::mod()},
      {"Mul", 7, 0, 2, 2, 1, Kind::kElementwise, ref::mul()},
      {"Relu", 6, 0, 1, 1, 1, Kind::kElementwise, ref::relu()},
      {"Sub", 7, 0, 2, 2, 1, Kind::kElementwise, ref::sub()},
      {"Sum", 8, 0, 1, kMany, 1, Kind::kElementwise, ref::sum()},
  };
}

}  // namespace commensal::kernels
