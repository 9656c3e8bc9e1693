// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/actuator/duty_pacer.hpp>
#include <commensal/collocation/governor/governor.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <mutex>
#include <string>
#include <thread>

namespace commensal::keeper {

/// What the operator sees.
struct View {
  governor::Status governor;
  std::string_view unit;  // of the host's work
  std::string signal;     // why there is none, in words; empty while there is one
};

/// Keeps one host: looks at its probe, asks the governor, and holds the guests' pacer to the
/// answer. look() and act() are apart because a probe may be slow and the guest must not be:
/// each belongs to one thread. view(): any thread.
class Keeper {
 public:
  /// What it keeps; all outlive it.
  struct World {
    const core::Clock& clock;
    core::Rng& rng;
    probe::Probe& probe;
    actuator::DutyPacer& pacer;
  };
  Keeper(const World& world, const governor::Rules& rules);

  /// How often look() has something new to find, in seconds.
  double look_every_s() const;
  void look();
  void act();
  View view() const;

 private:
  World world_;
  probe::Meter meter_;

  mutable std::mutex mutex_;
  governor::Governor governor_;            // guarded
  std::optional<governor::Sample> unread_;  // guarded
  std::string signal_ = "not looked at yet";  // guarded
};

/// A keeper at work, on two threads of its own, until it is destroyed; then the guests stand still.
class KeeperThreads {
 public:
  explicit KeeperThreads(const Keeper::World& world, const governor::Rules& rules = {});
  KeeperThreads(const KeeperThreads&) = delete;
  KeeperThreads& operator=(const KeeperThreads&) = delete;
  ~KeeperThreads();
  View view() const { return keeper_.view(); }

 private:
  Keeper keeper_;
  actuator::DutyPacer& pacer_;
  std::jthread looking_;
  std::jthread acting_;
};

}  // namespace commensal::keeper
