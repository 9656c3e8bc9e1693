// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/testing/fault_store.hpp>

namespace commensal::store::testing {
namespace {

struct FaultTraits {
  bool writes;
  bool crashes;
};
constexpr FaultTraits kFaults[] = {
    /* kFailBefore */ {false, false},
    /* kFailAfter */ {true, false},
    /* kCrashBefore */ {false, true},
    /* kCrashAfter */ {true, true},
};

}  // namespace

core::Result<void> FaultStore::alive() const {
  if (crashed_) return core::fail(core::ErrorCode::kUnavailable, "store: it has crashed (a test)");
  return {};
}

core::Result<std::optional<core::Bytes>> FaultStore::get(std::string_view space,
                                                         core::ByteView key) {
  COMMENSAL_TRY(alive());
  ++gets_;
  return inner_.get(space, key);
}

core::Result<void> FaultStore::apply(const Batch& batch) {
  COMMENSAL_TRY(alive());
  if (applies_++ != fault_at_) return inner_.apply(batch);
  const FaultTraits& fault = kFaults[static_cast<std::size_t>(fault_)];
  if (fault.writes) COMMENSAL_TRY(inner_.apply(batch));
  crashed_ = fault.crashes;
  return core::fail(core::ErrorCode::kUnavailable, "store: write {} failed (a test)", fault_at_);
}

core::Result<void> FaultStore::scan(std::string_view space, core::ByteView prefix,
                                    const Visitor& visit) {
  COMMENSAL_TRY(alive());
  return inner_.scan(space, prefix, visit);
}

}  // namespace commensal::store::testing
