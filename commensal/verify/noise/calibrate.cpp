// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/noise/answers.hpp>
#include <commensal/verify/noise/calibrate.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <set>

namespace commensal::noise {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr std::size_t kHonest = static_cast<std::size_t>(Cached::kHonest);

/// One calibration: what is run, and what it gave without noise.
class Calibrator {
 public:
  Calibrator(NoisySession& session, const Samples& samples, const CalibrationOptions& options,
             const std::function<void(std::size_t, std::size_t)>& shown)
      : session_(session), samples_(samples), options_(options), shown_(shown) {}

  Result<void> run_plain();
  Result<Rung> run(int exponent);
  double plain_accuracy() const { return accuracy_of(plain_answers_); }

 private:
  using Answers = std::vector<std::vector<std::int64_t>>;

  Result<Tensors> disturbed(const Tensors& inputs, int exponent) {
    const Noise noise{seed_of(options_.key, {}, ++runs_), exponent};
    const std::size_t fakes = fakes_.size() * static_cast<std::size_t>(options_.seeds);
    shown_(runs_, options_.exponents.size() * (samples_.inputs.size() + fakes));
    return session_.run(inputs, noise);
  }
  Result<void> run_samples(Rung& rung);
  Result<void> run_fake(Rung& rung, std::size_t kind);
  double agreement_with(const Answers& answers) const;
  double accuracy_of(const Answers& answers) const;

  NoisySession& session_;
  const Samples& samples_;
  const CalibrationOptions& options_;
  const std::function<void(std::size_t, std::size_t)>& shown_;
  std::uint64_t runs_ = 0;
  std::vector<Tensors> plain_;  // of each sample
  Answers plain_answers_;
  std::vector<Tensors> fakes_;        // Cached::kZero and on
  std::vector<Tensors> plain_fakes_;  // their outputs
};

Result<void> Calibrator::run_plain() {
  for (const Tensors& inputs : samples_.inputs) {
    COMMENSAL_ASSIGN(auto outputs, session_.run(inputs, std::nullopt));
    if (options_.task_output >= outputs.size() ||
        !is_disturbable(outputs[options_.task_output].dtype())) {
      return fail(ErrorCode::kInvalidArgument, "output {} of the model is not a floating tensor",
                  options_.task_output);
    }
    for (const tensor::Tensor& output : outputs) {
      if (output.dtype() != tensor::DType::kString) continue;
      return fail(ErrorCode::kUnsupported, "an output is of strings, expected numbers");
    }
    plain_answers_.push_back(largest_places(outputs[options_.task_output]));
    plain_.push_back(std::move(outputs));
  }
  fakes_ = {filled_with_zero(samples_.inputs), filled_with_mean(samples_.inputs),
            filled_with_largest(samples_.inputs)};
  for (const Tensors& fake : fakes_) {
    COMMENSAL_ASSIGN(auto outputs, session_.run(fake, std::nullopt));
    plain_fakes_.push_back(std::move(outputs));
  }
  return {};
}

Result<void> Calibrator::run_samples(Rung& rung) {
  Answers answers;
  const auto count = static_cast<double>(samples_.inputs.size());
  for (std::size_t i = 0; i < samples_.inputs.size(); ++i) {
    COMMENSAL_ASSIGN(const auto outputs, disturbed(samples_.inputs[i], rung.exponent));
    const double changed = share_of_bits_changed(outputs, plain_[i]);
    rung.bits_changed[kHonest] += changed / count;
    rung.answers_repeated[kHonest] += changed == 0 ? 1 / count : 0;
    answers.push_back(largest_places(outputs[options_.task_output]));
  }
  rung.agreement = agreement_with(answers);
  rung.accuracy = accuracy_of(answers);
  return {};
}

Result<void> Calibrator::run_fake(Rung& rung, std::size_t kind) {
  const Tensors &fake = fakes_[kind - 1], &plain = plain_fakes_[kind - 1];
  std::set<core::Digest> known = {hash_of(plain)};
  const auto count = static_cast<double>(options_.seeds);
  for (int i = 0; i < options_.seeds; ++i) {
    COMMENSAL_ASSIGN(const auto outputs, disturbed(fake, rung.exponent));
    rung.bits_changed[kind] += share_of_bits_changed(outputs, plain) / count;
    rung.answers_repeated[kind] += known.insert(hash_of(outputs)).second ? 0 : 1 / count;
  }
  return {};
}

Result<Rung> Calibrator::run(int exponent) {
  Rung rung;
  rung.exponent = exponent;
  COMMENSAL_TRY(run_samples(rung));
  for (std::size_t kind = kHonest + 1; kind < kCachedKinds; ++kind) {
    COMMENSAL_TRY(run_fake(rung, kind));
  }
  rung.is_felt = std::ranges::all_of(rung.answers_repeated, [](double x) { return x == 0; });
  const double loss = samples_.labels.empty() ? 0 : plain_accuracy() - rung.accuracy;
  rung.is_borne = rung.agreement >= options_.agreement_min && loss <= 1 - options_.agreement_min;
  return rung;
}

double Calibrator::agreement_with(const Answers& answers) const {
  std::size_t same = 0, all = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t j = 0; j < plain_answers_[i].size(); ++j) {
      same += j < answers[i].size() && answers[i][j] == plain_answers_[i][j] ? 1u : 0u;
      ++all;
    }
  }
  return all == 0 ? 0 : static_cast<double>(same) / static_cast<double>(all);
}

double Calibrator::accuracy_of(const Answers& answers) const {
  if (samples_.labels.empty()) return 0;
  std::size_t right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    right += !answers[i].empty() && answers[i].back() == samples_.labels[i] ? 1u : 0u;
  }
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

Result<void> check(const Samples& samples, const CalibrationOptions& options) {
  if (samples.inputs.empty()) {
    return fail(ErrorCode::kInvalidArgument, "no samples, expected one or more");
  }
  for (const Tensors& inputs : samples.inputs) {
    for (const tensor::Tensor& input : inputs) {
      if (input.dtype() != tensor::DType::kString) continue;
      return fail(ErrorCode::kUnsupported, "samples of strings, expected numbers");
    }
  }
  if (!samples.labels.empty() && samples.labels.size() != samples.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} labels, expected one for each of {} samples",
                samples.labels.size(), samples.inputs.size());
  }
  const bool in_range =
      std::ranges::all_of(options.exponents, [](int e) { return e >= 0 && e <= kExponentMax; });
  if (options.exponents.empty() || !in_range || !std::ranges::is_sorted(options.exponents)) {
    return fail(ErrorCode::kInvalidArgument, "expected exponents from 0 to {}, ascending",
                kExponentMax);
  }
  if (options.seeds < 2) {
    return fail(ErrorCode::kInvalidArgument, "{} seeds, expected 2 or more", options.seeds);
  }
  return {};
}

/// Why no rung will do.
std::string refusal(const std::vector<Rung>& rungs) {
  const bool any_felt = std::ranges::any_of(rungs, &Rung::is_felt);
  const bool any_borne = std::ranges::any_of(rungs, &Rung::is_borne);
  if (!any_felt) {
    return "no scale works: at every one some output repeats itself, so that an answer could come "
           "from memory";
  }
  if (!any_borne) return "no scale works: every one changes the model's answers";
  return "no scale works: those that change every output also change the model's answers";
}

/// The longest run of rungs that are felt and borne: first and last.
std::pair<std::size_t, std::size_t> workable(const std::vector<Rung>& rungs) {
  std::pair<std::size_t, std::size_t> best{1, 0};
  std::size_t first = 0;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    if (!rungs[i].is_felt || !rungs[i].is_borne) {
      first = i + 1;
    } else if (i - first + 1 > best.second + 1 - best.first) {
      best = {first, i};
    }
  }
  return best;
}

}  // namespace

std::string_view name_of(Cached kind) {
  static constexpr std::string_view kNames[] = {"honest", "zero", "mean", "largest"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<int> ladder() {
  std::vector<int> exponents;
  for (int exponent = 0; exponent <= 36; exponent += 2) exponents.push_back(exponent);
  return exponents;
}

Result<Calibration> calibrate(NoisySession& session, const Samples& samples,
                              const CalibrationOptions& options,
                              const std::function<void(std::size_t, std::size_t)>& shown) {
  COMMENSAL_TRY(check(samples, options));
  Calibrator calibrator(session, samples, options, shown);
  COMMENSAL_TRY(calibrator.run_plain());
  Calibration made;
  made.plain_accuracy = calibrator.plain_accuracy();
  for (const int exponent : options.exponents) {
    COMMENSAL_ASSIGN(made.rungs.emplace_back(), calibrator.run(exponent));
  }
  const auto [first, last] = workable(made.rungs);
  if (first > last) {
    made.why = refusal(made.rungs);
    return made;
  }
  made.exponent = made.rungs[first + (last - first) / 2].exponent;
  made.why = fmt::format(
      "2^-{} to 2^-{} change every output and leave the answers; this one lies in the middle",
      made.rungs[first].exponent, made.rungs[last].exponent);
  return made;
}

}  // namespace commensal::noise
