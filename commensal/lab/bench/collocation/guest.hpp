// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/guest/duty_pacer.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <cstdint>
#include <memory>
#include <thread>

namespace commensal::lab::bench::collocation {

/// Stops a guest from outside, whatever its rule has it do, and lets it go on. At first it is let.
/// Thread-safety: any thread, as core::Pacer says.
class Gate final : public core::Pacer {
 public:
  /// `rule` outlives it.
  explicit Gate(core::Pacer& rule) : rule_(rule) {}
  void set(bool is_let);
  void let() { set(true); }
  void stop() { set(false); }

  bool pace(std::int64_t work_ops) override { return passes(rule_.pace(work_ops)); }
  bool yield() override { return passes(rule_.yield()); }

 private:
  bool passes(bool goes_on) const;

  core::Pacer& rule_;
  std::atomic<bool> is_stopped_ = false;
};

/// A network that runs without end on one thread, one picture after the other, as fast as its level
/// allows; at first not at all.
class Guest {
 public:
  /// Returns when the network is loaded. Errors: those of the model; kUnsupported (it takes no
  /// batch of one), kUnavailable (the rank).
  static core::Result<std::unique_ptr<Guest>> start(const core::Path& model, Rank rank);
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest();

  void set_level(double level) { pacer_.set_level(level); }
  double level() const { return pacer_.level(); }
  guest::DutyPacer& pacer() { return pacer_; }
  Gate& gate() { return gate_; }
  std::uint64_t images() const { return images_.load(std::memory_order_relaxed); }
  /// Processor time so far.
  double cpu_s();

 private:
  Guest() = default;

  guest::DutyPacer pacer_;
  Gate gate_{pacer_};
  std::atomic<std::uint64_t> images_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace commensal::lab::bench::collocation
