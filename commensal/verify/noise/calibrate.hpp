// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/verify/noise/noisy_session.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::noise {

// Which scale of noise a model bears. Large enough: the noise changes the output's bits, so that
// nobody answers from memory, not even for a fake input chosen to be cheap; and it changes them in
// ways that cannot be guessed. Small enough: the model's task is done as well as without.

/// What a provider might hold an answer to beforehand: the honest input, or a cheap one.
enum class Cached { kHonest, kZero, kMean, kLargest };
inline constexpr std::size_t kCachedKinds = 4;
std::string_view name_of(Cached kind);

struct Samples {
  std::vector<std::vector<tensor::Tensor>> inputs;  // of each sample, in the graph's order
  std::vector<std::int64_t> labels;                 // one for each sample, or none
};

struct CalibrationOptions {
  std::vector<int> exponents;  // ascending; see ladder()
  int seeds = 16;              // for each fake input
  double agreement_min = 0.999;
  std::size_t task_output = 0;  // its largest element along the last axis is the answer
  core::Digest key{};           // the noise's
};
/// 0, 2, ... 36.
std::vector<int> ladder();

/// One scale.
struct Rung {
  int exponent = 0;
  std::array<double, kCachedKinds> bits_changed{};      // share of the outputs' bits
  std::array<double, kCachedKinds> answers_repeated{};  // share of runs that gave a known output
  double agreement = 0;   // share of answers that are those without noise
  double accuracy = 0;    // share of answers that are the label's; 0 without labels
  bool is_felt = false;   // no run gave a known output
  bool is_borne = false;  // agreement, and accuracy where there are labels, as asked for
};

struct Calibration {
  std::vector<Rung> rungs;
  double plain_accuracy = 0;    // without noise; 0 without labels
  std::optional<int> exponent;  // the choice; none: no scale works
  std::string why;              // one sentence
};

/// Of the scales that are felt and borne and lie together it chooses the middle one, so that the
/// margin is the same on both sides; the larger scale of two.
/// Fake inputs are filled with zeros, with each tensor's mean over the samples (of integers their
/// smallest) and with its largest element. For each, `seeds` runs must give outputs that all
/// differ from each other and from the output without noise; honest inputs must give another output
/// than without.
/// `shown` is called with the runs done and the runs in all.
/// Errors: kInvalidArgument (no samples, labels of another number, a task output that is not there
/// or not floating); those of NoisySession::run.
core::Result<Calibration> calibrate(NoisySession& session, const Samples& samples,
                                    const CalibrationOptions& options,
                                    const std::function<void(std::size_t, std::size_t)>& shown);

}  // namespace commensal::noise
