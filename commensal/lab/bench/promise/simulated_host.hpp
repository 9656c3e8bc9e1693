// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/governor.hpp>
#include <functional>
#include <vector>

/// Whether the governor keeps its promise: hosts that are made up or were recorded, with a guest
/// beside them, in virtual time. What a host loses is counted from the truth, without noise.
namespace commensal::lab::bench::promise {

struct SimulatedHost {
  using OfTime = std::function<double(double now_s)>;

  double noise = 0.01;                           // of the rate over one second, relative
  double memory_s = 0.2;                         // correlation time of the noise
  double probe_s = 0.25;                         // how often the probe speaks
  double averaging_s = 0;                        // over which it averages; 0: since it last spoke
  double resolution = 0;                         // the rate it says is a multiple of this
  OfTime alone = [](double) { return 1000.0; };  // the rate without a guest
  OfTime slope = [](double) { return 0.05; };    // share that a guest at full speed costs
  double bend = 1;                               // ... at a level: slope * level ^ bend
  double lag = 0;                                // share that it costs late, at full speed
  double lag_s = 60;                             // ... with this time constant
  double blocked = 0;   // share that it costs by the clock alone: waits for locks, memory, disks
  double others_s = 0;  // other programs' bursts and pauses, by the clock: mean of each; 0: none
  OfTime reported = [](double) { return 1.0; };  // times the rate: what the probe says of it
  std::function<bool(double now_s)> speaks = [](double) { return true; };
  std::function<bool(double now_s, double level)> throttled = [](double, double) { return false; };
};

SimulatedHost::OfTime constant(double value);

/// Losses are shares of what the host would have done alone.
struct Outcome {
  double lost = 0;                 // over the whole run
  double worst_minute = 0;         // ... and over the worst minute
  double worst_hour = 0;           // ... and over the worst whole hour
  long hours = 0;                  // whole ones
  long hours_kept = 0;             // that lost no more than is promised
  long hours_shown = 0;            // of which the governor said so at their end
  double harvest = 0;              // mean level of the guest
  std::vector<double> half_hours;  // ... of each
  governor::Status last;
  governor::Carried carried;
};

/// When the governor is asked: when it says and when there is news, or at every step.
enum class Asking { kLazy, kEager };

/// The host, the probe that watches it and the governor that listens, step by step, for so long.
Outcome run(const SimulatedHost& host, double seconds, std::uint64_t seed,
            const governor::Carried& carried = {}, Asking asking = Asking::kLazy);

}  // namespace commensal::lab::bench::promise
