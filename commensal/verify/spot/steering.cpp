// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/spot/steering.hpp>

namespace commensal::spot {
namespace {

using kernels::Kind;

/// Those that the rule of kinds below does not fit: inputs that steer, a bit each.
struct Exception {
  std::string_view name;
  std::uint32_t inputs;
};
constexpr std::uint32_t kNone = 0, kAfterFirst = ~1u, kAll = ~0u;
constexpr Exception kExceptions[] = {
    {"Concat", kNone},
    {"DeformConv", kAfterFirst},
    {"Dropout", kAfterFirst},
    {"Where", 0b1},
};

}  // namespace

bool steers(const kernels::Operator& op, int input) {
  const auto bit = [&](std::uint32_t inputs) { return (inputs >> std::min(input, 31) & 1) != 0; };
  if (!op.domain.empty()) return bit(kAll);
  const auto found = std::ranges::find(kExceptions, op.name, &Exception::name);
  if (found != std::end(kExceptions)) return bit(found->inputs);
  const bool computes = op.kind == Kind::kElementwise || op.kind == Kind::kDotProduct;
  return bit(computes ? kNone : kAfterFirst);
}

}  // namespace commensal::spot
