// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/value.hpp>

namespace commensal::tensor {

std::string Value::text() const {
  if (is_tensor()) return tensor_.type().text();
  return is_sequence() ? "a sequence of " + std::to_string(items_->size()) : "nothing";
}

}  // namespace commensal::tensor
