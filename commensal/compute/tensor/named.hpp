// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::tensor {

/// A tensor as it travels: a graph's input or output under its name.
struct NamedTensor {
  std::string name;
  Tensor value;
  /// Where it was taken already (receipt::take_roots); neither sent nor kept.
  std::optional<core::Digest> root = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("value", self.value);
  }
};
using NamedTensors = std::vector<NamedTensor>;

}  // namespace commensal::tensor
