// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/ir.hpp>

namespace commensal::graph {

std::string Declared::text() const {
  std::string text(tensor::traits(dtype).name);
  if (!ranked) return text + " of any shape";
  text += '[';
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    if (dims[i] >= 0) {
      text += std::to_string(dims[i]);
    } else {
      text += symbols[i].empty() ? "?" : symbols[i];
    }
  }
  return text + ']';
}

bool Declared::admits(const tensor::TensorType& type) const {
  if (type.dtype != dtype) return false;
  if (!ranked) return true;
  if (static_cast<int>(dims.size()) != type.shape.rank()) return false;
  for (int i = 0; i < type.shape.rank(); ++i) {
    const std::int64_t dim = dims[static_cast<std::size_t>(i)];
    if (dim >= 0 && dim != type.shape[i]) return false;
  }
  return true;
}

}  // namespace commensal::graph
