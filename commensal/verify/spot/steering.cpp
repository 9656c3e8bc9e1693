// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/spot/steering.hpp>

namespace commensal::spot {

using kernels::Kind;

bool steers(const kernels::Operator& op, int input) {
  if (!op.domain.empty()) return true;
  if (op.steering) return op.steering->has(static_cast<std::size_t>(input));
  return op.kind != Kind::kElementwise && op.kind != Kind::kDotProduct && input > 0;
}

}  // namespace commensal::spot
