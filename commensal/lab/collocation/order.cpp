// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/collocation/order.hpp>
#include <utility>

namespace commensal::lab {
namespace {

template <class T>
void shuffle(std::vector<T>& values, core::Rng& rng) {
  for (std::size_t left = values.size(); left > 1; --left) {
    const auto at = static_cast<std::size_t>(rng.next_unit() * static_cast<double>(left));
    std::swap(values[left - 1], values[std::min(at, left - 1)]);
  }
}

}  // namespace

std::vector<Step> make_order(const std::vector<const Arm*>& arms, int blocks, int others,
                             core::Rng& rng) {
  std::vector<std::vector<Step>> units(static_cast<std::size_t>(blocks));
  for (const Arm* arm : arms) {
    const bool is_coupled = arm->name == kControlArm || arm->name == kOurArm;
    for (int i = 0; i < (is_coupled ? blocks : others); ++i) {
      if (is_coupled) {
        units[static_cast<std::size_t>(i)].push_back({arm, i});
      } else {
        units.push_back({{arm, i}});
      }
    }
  }
  shuffle(units, rng);
  std::vector<Step> order;
  for (auto& unit : units) {
    shuffle(unit, rng);
    order.insert(order.end(), unit.begin(), unit.end());
  }
  return order;
}

}  // namespace commensal::lab
