// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::governor {

/// What is promised and how it is kept; docs/collocation.md explains it. Losses are shares of the
/// rate that the host would have alone, times are seconds.
struct Rules {
  double promise = 0.01;     // the host never loses more, shown with `confidence` over the window W
  double set_point = 0.005;  // what the guest may cost
  double confidence = 1.645;  // standard errors: 95 % on one side
  double caution = 1.0;       // standard errors that the estimate of the guest's cost is raised by

  double gross = 0.05;           // a single sample that loses more stops the guest
  double gross_sd = 4;           // ... and lies so far beyond the samples' own noise
  double on_loss_max = 0.025;    // what the host may lose while the guest is on, in short stretches
  double noise_hides = 2;        // ... or so many deviations of the shortest stretch by itself,
  double noisy_loss_max = 0.08;  // but no more
  double long_loss_max = 0.008;  // ... in stretches that may fill a minute
  double long_s = 20;            // from here on a stretch is long

  double first_look = 0.008;     // of the shortest window, were the first stretch lost altogether
  double first_slope = 0.05;  // the cost of a guest at full speed, before anything is known: mean
  double slope_sd = 0.3;      // and standard deviation
  double slope_drift = 0.004; // ... and how far it wanders in ten minutes
  double first_noise = 0.01;  // of the host's mean over one second, before anything is known

  double cycle = 10;       // one stretch with the guest and one without
  double cycle_max = 40;   // once the guest is nearly always on
  double cycle_rare = 60;  // ... and while it is hardly ever on
  double beside = 5;       // of the time without the guest, what is next to it is the reference
  double off_share = 0.06;  // of a cycle at least, for the reference
  double part_min = 1;     // no stretch is shorter,
  double settle = 0.1;     // and so long after a change the host is not looked at
  double step = 0.05;      // the budget grows by at most this a cycle
  double budget_min = 0.002;  // below it nothing can be harvested

  double window_min = 120;    // of the window W
  double window_max = 3600;   // a host that is noisier than this allows is left alone
  double stale = 5;           // without a sample for so long the guest stops
  double frozen = 60;         // the same number for so long is no signal
  double back_off_min = 30;   // after a trip; doubles up to
  double back_off_max = 1800;
  double alarm = 5;           // of the sequential test, in standard errors
};

}  // namespace commensal::governor
