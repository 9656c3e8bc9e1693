// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <functional>
#include <map>

namespace commensal::store {

/// Several owners of one store, whose batches become one: between hold() and release() what they
/// apply is read back, but durable only when release() returns. So nothing of it may be
/// acknowledged before. After a release() that failed nobody knows what is on disk, and the owners
/// have gone on in memory: every later write fails too.
/// Contract otherwise, thread-safety and errors: core::Store. `below` must outlive this object.
class JointStore final : public core::Store {
 public:
  explicit JointStore(core::Store& below) : below_(below) {}

  /// Why nothing is written any more, if so.
  const std::optional<core::Error>& broken() const { return broken_; }

  void hold() { ++holds_; }
  /// Writes what was held, in one batch; of holds inside holds the outermost does. Error: the
  /// store's.
  core::Result<void> release();
  /// Runs `change` between a hold and its release. Error: the first of change's and release's; what
  /// a change that failed has applied until then is written all the same, as each of its batches
  /// is whole in itself.
  core::Result<void> together(const std::function<core::Result<void>()>& change);

  core::Result<std::optional<core::Bytes>> get(std::string_view space, core::ByteView key) override;
  core::Result<void> apply(const Batch& batch) override;
  core::Result<void> scan(std::string_view space, core::ByteView prefix,
                          const Visitor& visit) override;

 private:
  using Space = std::map<core::Bytes, std::optional<core::Bytes>>;  // absent: deleted

  core::Result<void> write(const Batch& batch);

  core::Store& below_;
  int holds_ = 0;
  std::map<std::string, Space, std::less<>> held_;
  std::optional<core::Error> broken_;
};

}  // namespace commensal::store
