// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/accusations.hpp>
#include <commensal/serve/gateway/rollouts.hpp>
#include <commensal/serve/gateway/uploads.hpp>

namespace commensal::gateway {

/// Has what was deleted go, and what has ended, a little in each turn of the loop, as long as there
/// is any: rows of models at once; files of models that nobody has, and uploads whose time is over,
/// when it looks for them, every limits::kRemovalLookMs. A file stays while a receipt of it may be
/// audited or disputed, a case is open, or a rollout runs; no account can make it stay longer.
/// Thread-safety: the loop's thread.
class Removals {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    ModelHub& hub;
    Uploads& uploads;
    ReceiptBook& book;
    const Rollouts& rollouts;
    const Accusations& accusations;
    EventQueue& events;
  };
  explicit Removals(const Dependencies& deps);

  /// There is something to purge or to look for, perhaps.
  void watch();

 private:
  void purge();
  void look();

  Dependencies deps_;
  bool purges_ = false, looks_ = false;  // is to
};

}  // namespace commensal::gateway
