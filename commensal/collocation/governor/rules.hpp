// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::governor {

/// What is promised and how it is kept; docs/collocation.md explains it. Losses are shares of the
/// work that the host would have done alone, times are seconds.
struct Rules {
  double promise = 0.01;            // at most so much of an hour is lost, shown with `confidence`
  double minute_promise = 0.03;     // ... of any minute
  double confidence = 0.95;         // one-sided, however often it is looked at
  double set_point = 0.0048;        // what the guest may cost of an hour, as far as is known
  double minute_set_point = 0.025;  // ... of any minute: what is feared, before it is tried
  double explore = 1.0 / 3;         // of the hour's promise: spent on learning what it costs

  double draw_min = 0.02;  // probability of an epoch with the guest while it may run
  double draw_max = 0.9;
  double draw_explore = 0.5;    // while its cost is learnt: that tells most
  int draw_first = 24;          // ... and for so many epochs, where it was learnt before
  double draw_harmless = 0.75;  // ... or then, where a minute bears all that is feared of it

  double epoch_min = 1.8;     // at full speed, were all of it lost, this is a minute's cap
  double epoch_max = 20;      // unless the probe needs more
  double epoch_averages = 3;  // of the probe's averaging time, at least
  double settle = 0.1;        // so long after a change, and its probe's average, nothing counts

  double first_cost = 0.05;    // of a guest at full speed, before anything is known: mean
  double first_cost_sd = 0.1;  // ... and standard deviation
  double cost_drift = 0.0004;  // how far it wanders in ten minutes
  double known_well = 0.25;    // of the cost: a deviation that needs no exploring any more
  double first_noise = 0.01;   // of the host's mean over one second, before anything is known

  double lag_sd = 0.007;  // what may be lost late (heat, caches, memory): deviation of its share
  double lag_drift = 0.0003;  // ... and how far that wanders in ten minutes
  double lag_off = 180;       // a stretch without the guest that shows it
  double lag_every = 2400;    // about so often

  double gross = 0.05;       // a single sample that loses more stops the guest
  double gross_sd = 4;       // ... and lies so far beyond the samples' own noise
  double stale = 5;          // without a sample for so long the guest stops
  double frozen = 60;        // the same number for so long is no signal
  double back_off_min = 30;  // after a trip; doubles up to
  double back_off_max = 1800;
};

/// The rules that promise so much of an hour and of any minute: shares in (0, 1], the hour's no
/// more than the minute's.
Rules promising(double hour, double minute);

}  // namespace commensal::governor
