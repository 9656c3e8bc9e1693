// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hosts::server {

/// How requests come: in calm, with exponential gaps at `calm_per_s`; in bursts at `burst_per_s`.
/// Calm and burst last exponential times themselves (a Poisson process modulated by two states).
/// The work of a request is uniform between the two bounds.
struct Traffic {
  double calm_per_s = 40;
  double burst_per_s = 200;
  double calm_s = 4;
  double burst_s = 0.5;
  double work_ms_min = 1;
  double work_ms_max = 5;

  double mean_per_s() const {
    return (calm_per_s * calm_s + burst_per_s * burst_s) / (calm_s + burst_s);
  }
};

struct Arrival {
  std::int64_t at_ns = 0;  // since the start
  double work_ms = 0;      // of computing, on a machine that does nothing else
};

/// The arrivals of one seed, in order of time, without end; the same on every machine.
class Arrivals {
 public:
  Arrivals(const Traffic& traffic, std::uint64_t seed);
  Arrival next();

 private:
  double uniform();  // in (0, 1)
  double exponential(double mean);

  Traffic traffic_;
  std::uint64_t state_;
  double now_s_ = 0;
  double state_ends_s_ = 0;
  bool in_burst_ = true;
};

}  // namespace hosts::server
