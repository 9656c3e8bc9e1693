// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <functional>

namespace commensal::lab::hostile {

struct SiegeOptions {
  std::vector<std::string> names;  // of attacks; none: all
  double seconds = 600;            // for all of them together, with controls, starting apart
  double cpu_share = 0.25;         // of one processor, for attackers and control alike
  core::Path daemons;              // the program commensal: its gateway and its providers
  core::Path attackers;            // the program commensal-lab
  core::Path model;                // digits.onnx
  std::uint64_t seed = 1;
  std::function<void(std::string_view attack)> progress = [](std::string_view) {};
};

/// For each attack a gateway and two providers as they are shipped (at a relay: two gateways, by
/// way of the one that does not write), honest consumers (over gRPC where that is attacked) who ask
/// at a steady rate and hold every answer against their own, honest providers that come anew,
/// always first a control that burns in silence the share of a processor that attackers may have
/// (of which quiet ones use less), then the attack. What was asked in a window counts there,
/// however long it took; an attacker gets ready in the first of it. The bars: every attacker has
/// seen an effect on the daemons (the null is none), no daemon ends, all end when they are told to,
/// beside attacks no honest request fails or is answered wrongly and no new provider waits for its
/// challenge for three seconds, nor (counted apart) beside the controls, the honest have four
/// fifths of the answers at least that they had beside the control, in as much time, their p99 at
/// most doubles, no turn of the gateway's loop is long, no sanitizer (of a build that has one)
/// complains. Errors: kNotFound (an attack, a program), kInvalidArgument (too few seconds), those
/// of starting the daemons.
core::Result<bench::Report> besiege(const SiegeOptions& options);

}  // namespace commensal::lab::hostile
