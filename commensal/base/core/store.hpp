// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace commensal::core {

/// Durable ordered key-value spaces with atomic batches: all state that must survive a kill.
/// Contract (base/store/contract_test.cpp runs it against every twin):
///  - apply() is all or nothing, and durable when it returns;
///  - a read sees every batch applied before it;
///  - keys are ordered as unsigned bytes within a space.
/// Thread-safety: apply() on one thread beside get() and scan() on another, each one at a time;
/// such a read sees all of the batch that is being applied, or nothing. Errors: kDataLoss if the
/// medium fails, kResourceExhausted beyond limits.hpp.
class Store {
 public:
  struct Write {
    std::string space;
    Bytes key;
    std::optional<Bytes> value;  // absent: delete
  };
  using Batch = std::vector<Write>;
  /// Returns false to stop the scan.
  using Visitor = std::function<bool(ByteView key, ByteView value)>;

  virtual ~Store() = default;
  virtual Result<std::optional<Bytes>> get(std::string_view space, ByteView key) = 0;
  virtual Result<void> apply(const Batch& batch) = 0;
  /// Visits the keys of `space` that begin with `prefix`, ascending.
  virtual Result<void> scan(std::string_view space, ByteView prefix, const Visitor& visit) = 0;
};

}  // namespace commensal::core
