// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/store.hpp>

namespace commensal::store::testing {

/// What goes wrong with an apply(). A batch is never torn: that is the contract of every twin. But
/// its caller may not learn that it was written.
enum class Fault : std::uint8_t {
  kFailBefore,   // an error, nothing written; the store lives on
  kFailAfter,    // an error, yet written; the store lives on
  kCrashBefore,  // nothing written; every later call fails
  kCrashAfter,   // written; every later call fails
};

/// Passes calls to another store until the k-th apply(), where it fails or "crashes": for tests
/// that break off at every write, drop all that stood on this store, and start again on the one
/// below. Errors of its own: kUnavailable. Thread-safety: core::Store's.
class FaultStore final : public core::Store {
 public:
  /// `fault_at` counts applies from 0. `inner` must outlive this object.
  FaultStore(core::Store& inner, std::uint64_t fault_at, Fault fault)
      : inner_(inner), fault_at_(fault_at), fault_(fault) {}

  core::Result<std::optional<core::Bytes>> get(std::string_view space, core::ByteView key) override;
  core::Result<void> apply(const Batch& batch) override;
  core::Result<void> scan(std::string_view space, core::ByteView prefix,
                          const Visitor& visit) override;

  bool crashed() const { return crashed_; }
  /// Calls of apply() so far, the faulty one included: a run without a fault tells how many there
  /// are to break.
  std::uint64_t applies() const { return applies_; }
  /// Calls of get() so far: each is a way there and back where a store is elsewhere.
  std::uint64_t gets() const { return gets_; }

 private:
  core::Result<void> alive() const;

  core::Store& inner_;
  const std::uint64_t fault_at_;
  const Fault fault_;
  std::atomic<std::uint64_t> applies_ = 0, gets_ = 0;
  std::atomic<bool> crashed_ = false;
};

}  // namespace commensal::store::testing
