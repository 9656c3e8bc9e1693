// SPDX-License-Identifier: Apache-2.0
// Optimisers, schedules and clipping beside the textbooks' formulas in binary64: ten steps of a
// bias whose gradient is computed here, from scores that a plain run of the model gives.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <functional>
#include <numbers>

namespace commensal::train {
namespace {

using tensor::Tensor;
using testing::SmallTraining;
using Row = std::vector<double>;

constexpr int kSteps = 10, kClasses = 4;

/// Cross entropy of all pictures, of scores that a bias is added to.
class Problem {
 public:
  Problem() : pictures_(testing::pictures(100)) {
    const auto graph = *graph::onnx::import_file(training_.file("model.onnx"));
    auto session = *graph::Session::create(graph, {});
    const auto made = *session.run(std::vector{pictures_.x});
    const auto all = made[0].data<float>();
    scores_.assign(all.begin(), all.end());
  }
  /// After each step, of the bias; what goes wrong, in place of it.
  std::vector<Row> trained(const std::string& how) const {
    training_.write("train.yaml",
                    core::as_bytes("model: model.onnx\ndata: {x: x.npy, target: y.npy}\n"
                                   "loss: {output: scores, kind: cross_entropy}\nbatch: 100\n"
                                   "weights: [fc.b]\nsteps: 10\n" +
                                   how));
    auto trainer = testing::trainer_of(training_);
    EXPECT_TRUE(trainer) << trainer.error().message;
    std::vector<Row> made;
    for (int t = 0; trainer && t < kSteps; ++t) {
      made.push_back(bias_of(*trainer));
      EXPECT_EQ(testing::run(*trainer, 1), "");
    }
    if (trainer) made.push_back(bias_of(*trainer));
    return made;
  }
  /// By the bias, at one that is `moved` from where it began.
  Row gradient(const Row& moved) const {
    Row made(kClasses, 0);
    const auto targets = pictures_.target.data<std::int64_t>();
    for (std::size_t n = 0; n < targets.size(); ++n) {
      Row p(kClasses);
      double all = 0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        p[c] = std::exp(scores_[n * kClasses + c] + moved[c]);
        all += p[c];
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        const double wanted = std::cmp_equal(targets[n], c) ? 1 : 0;
        made[c] += (p[c] / all - wanted) / static_cast<double>(targets.size());
      }
    }
    return made;
  }

 private:
  static Row bias_of(const Trainer& trainer) {
    const auto all = trainer.state()[0].value.data<float>();
    return {all.begin(), all.end()};
  }

  SmallTraining training_;
  testing::Pictures pictures_;
  Row scores_;
};

/// One weight's next value from its gradient; what it keeps lives in it.
using Rule = std::function<double(int t, std::size_t i, double w, double g)>;

void expect_steps(const std::string& how, const Rule& rule, double clip = 0) {
  SCOPED_TRACE(how);
  const Problem problem;
  const auto made = problem.trained(how);
  ASSERT_EQ(made.size(), static_cast<std::size_t>(kSteps + 1));
  Row w = made[0];
  for (int t = 1; t <= kSteps; ++t) {
    Row moved(kClasses);
    for (std::size_t i = 0; i < kClasses; ++i) moved[i] = w[i] - made[0][i];
    Row g = problem.gradient(moved);
    double length = 0;
    for (const double each : g) length += each * each;
    const double factor = clip > 0 ? std::min(clip / (std::sqrt(length) + 1e-6), 1.0) : 1;
    if (clip > 0 && t == 1) EXPECT_LT(factor, 1) << "nothing is clipped";
    for (std::size_t i = 0; i < kClasses; ++i) w[i] = rule(t, i, w[i], g[i] * factor);
    for (std::size_t i = 0; i < kClasses; ++i) {
      EXPECT_NEAR(made[static_cast<std::size_t>(t)][i], w[i], 2e-5) << "step " << t;
    }
  }
}

Rule descent(std::function<double(int)> rate) {
  return [rate](int t, std::size_t, double w, double g) { return w - rate(t) * g; };
}

TEST(TrainingFormulas, Sgd) {
  expect_steps("optimiser: {kind: sgd, rate: 0.7}\n", descent([](int) { return 0.7; }));
  expect_steps("optimiser: {kind: sgd, rate: 0.7, decay: 0.2}\n",
               [](int, std::size_t, double w, double g) { return w - 0.7 * (g + 0.2 * w); });
}

TEST(TrainingFormulas, Clip) {
  expect_steps("optimiser: {kind: sgd, rate: 0.7, clip: 0.05}\n", descent([](int) { return 0.7; }),
               0.05);
}

TEST(TrainingFormulas, Schedules) {
  const auto part = [](int t, int warmup) {
    return std::clamp((t - warmup) / static_cast<double>(kSteps - warmup), 0.0, 1.0);
  };
  const std::string sgd = "optimiser: {kind: sgd, rate: 0.7}\nschedule: ";
  expect_steps(sgd + "{kind: linear}\n", descent([&](int t) { return 0.7 * (1 - part(t, 0)); }));
  expect_steps(sgd + "{kind: linear, warmup: 4, end: 0.1}\n", descent([&](int t) {
                 return t < 4 ? 0.7 * t / 4 : 0.7 * ((1 - part(t, 4)) * 0.9 + 0.1);
               }));
  expect_steps(sgd + "{kind: cosine, warmup: 3, end: 0.2}\n", descent([&](int t) {
                 const double fallen = (1 + std::cos(std::numbers::pi * part(t, 3))) / 2;
                 return t < 3 ? 0.7 * t / 3 : 0.7 * (fallen * 0.8 + 0.2);
               }));
  expect_steps(sgd + "{kind: constant, warmup: 5}\n",
               descent([](int t) { return 0.7 * std::min(t / 5.0, 1.0); }));
}

TEST(TrainingFormulas, MomentumAndNesterov) {
  for (const bool nesterov : {false, true}) {
    Row v(kClasses, 0);
    expect_steps(nesterov ? "optimiser: {kind: nesterov, rate: 0.2, momentum: 0.8}\n"
                          : "optimiser: {kind: momentum, rate: 0.2, momentum: 0.8}\n",
                 [&](int, std::size_t i, double w, double g) {
                   v[i] = 0.8 * v[i] + g;
                   return w - 0.2 * (nesterov ? g + 0.8 * v[i] : v[i]);
                 });
  }
}

TEST(TrainingFormulas, Adagrad) {
  Row s(kClasses, 0);
  expect_steps("optimiser: {kind: adagrad, rate: 0.1, epsilon: 0.01}\n",
               [&](int, std::size_t i, double w, double g) {
                 s[i] += g * g;
                 return w - 0.1 * g / (std::sqrt(s[i]) + 0.01);
               });
}

TEST(TrainingFormulas, AdamW) {
  Row m(kClasses, 0), v(kClasses, 0);
  expect_steps("optimiser: {kind: adamw, rate: 0.05, decay: 0.3, betas: [0.8, 0.9]}\n",
               [&](int t, std::size_t i, double w, double g) {
                 m[i] = 0.8 * m[i] + 0.2 * g;
                 v[i] = 0.9 * v[i] + 0.1 * g * g;
                 const double first = m[i] / (1 - std::pow(0.8, t));
                 const double second = v[i] / (1 - std::pow(0.9, t));
                 return w - 0.05 * (first / (std::sqrt(second) + 1e-8) + 0.3 * w);
               });
}

}  // namespace
}  // namespace commensal::train
