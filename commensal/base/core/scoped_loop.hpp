// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <memory>

namespace commensal::core {

/// A loop as one owner sees it: what it asked for and has not run when this object ends is dropped,
/// so that its tasks may hold plain references to whatever ends after it. Work that is off the loop
/// then still runs to its end: it must own what it touches.
/// Thread-safety: as Loop; it ends on the loop's thread, or when that has ended.
class ScopedLoop final : public Loop {
 public:
  explicit ScopedLoop(Loop& below) : below_(below) {}
  ScopedLoop(const ScopedLoop&) = delete;
  ScopedLoop& operator=(const ScopedLoop&) = delete;

  void post(Task task) override { below_.post(guarded(std::move(task))); }
  void after(std::int64_t delay_ms, Task task) override {
    below_.after(delay_ms, guarded(std::move(task)));
  }
  void offload(Lane lane, Task work, Task done) override {
    below_.offload(lane, std::move(work), guarded(std::move(done)));
  }

 private:
  Task guarded(Task task) const {
    return [alive = std::weak_ptr(alive_), task = std::move(task)] {
      if (!alive.expired()) task();
    };
  }

  Loop& below_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::core
