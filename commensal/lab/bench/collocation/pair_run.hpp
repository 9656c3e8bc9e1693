// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/collocation/control.hpp>
#include <commensal/lab/bench/collocation/host_program.hpp>
#include <commensal/lab/bench/collocation/slice.hpp>
#include <map>

namespace commensal::lab::bench::collocation {

/// Reads whatever host is there now: a host that is started anew has another port.
class CurrentProbe final : public probe::Probe {
 public:
  const probe::Traits& traits() const override { return inner_->traits(); }
  probe::Sample sample() override { return inner_->sample(); }
  void set(std::unique_ptr<probe::Probe> inner) { inner_ = std::move(inner); }

 private:
  std::unique_ptr<probe::Probe> inner_;
};

/// A pair at work: one host, a guest of each rank, a rule of each arm, from the first slice to the
/// last. Not thread-safe.
class PairRun {
 public:
  /// All that is referred to outlives it. `rng`: the governor's dice; `coins`: whether the guest is
  /// let in a stretch.
  PairRun(const Pair& pair, Place place, const core::Clock& clock, core::Rng& rng, core::Rng& coins)
      : pair_(pair), place_(std::move(place)), clock_(clock), rng_(rng), coins_(coins) {}

  /// The guest without a host, for `seconds`; to be called first. Errors: those of the model.
  core::Result<Alone> measure_alone(double seconds);
  /// A slice of whole stretches: what is left of `seconds` after the last is not drawn. Errors:
  /// those of model, host and probe.
  core::Result<Slice> measure(const Step& step, double seconds, double stretch_s = kStretchS);

 private:
  struct Work {
    double done = 0;
    double time_s = 0;  // that the host needed, where it or its process tells; else the clock's
    double at_s = 0;    // the clock's
    double images = 0;  // of the guest
  };

  core::Result<Guest*> guest_of(Rank rank);
  core::Result<void> start_host(int block);
  core::Result<Control*> control_of(const Arm& arm);
  core::Result<Work> look(const Guest& guest);
  core::Result<Slice> watch(const Step& step, Control& control, Guest& guest, double seconds,
                            double stretch_s);
  core::Result<void> draw(Guest& guest, double seconds, double stretch_s, Slice& made);
  core::Result<HostProgram::Latencies> latencies();  // none of a host that is no server
  double now_s() const;
  void sleep_until(double at_s) const;

  const Pair& pair_;
  Place place_;
  const core::Clock& clock_;
  core::Rng& rng_;
  core::Rng& coins_;
  std::map<Rank, std::unique_ptr<Guest>> guests_;
  std::unique_ptr<HostProgram> host_;
  double steps_per_ms_ = 0;  // of a server: the same work in all slices
  CurrentProbe probe_;       // the rule's
  CurrentProbe truth_;       // the measurement's
  std::map<std::string_view, std::unique_ptr<Control>> controls_;  // they see all of the above
};

}  // namespace commensal::lab::bench::collocation
