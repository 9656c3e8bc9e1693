// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <memory>
#include <string>
#include <vector>

namespace commensal::tensor {

/// What flows along an edge of a graph: a tensor, a sequence of values, or nothing (an absent
/// input, an empty optional; an optional that holds something is what it holds).
/// Copying a Value copies pointers. Thread-safety: as Tensor.
class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}
  static Value sequence(std::vector<Value> items) {
    Value made;
    made.items_ = std::make_shared<const std::vector<Value>>(std::move(items));
    return made;
  }

  bool is_nothing() const { return !is_tensor() && !is_sequence(); }
  bool is_tensor() const { return tensor_.defined(); }
  bool is_sequence() const { return items_ != nullptr; }

  /// Of a value that is one (checked).
  const Tensor& tensor() const {
    core::check(is_tensor(), "a value is read as what it is");
    return tensor_;
  }
  const std::vector<Value>& items() const {
    core::check(is_sequence(), "a value is read as what it is");
    return *items_;
  }

  /// "float32[2,3]", "a sequence of 2", "nothing".
  std::string text() const;

 private:
  Tensor tensor_;
  std::shared_ptr<const std::vector<Value>> items_;
};

}  // namespace commensal::tensor
