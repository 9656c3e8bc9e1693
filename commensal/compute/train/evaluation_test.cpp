// SPDX-License-Identifier: Apache-2.0
// Losses, and what is found on samples that are held out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/train/loss.hpp>
#include <commensal/compute/train/testing/small_training.hpp>

namespace commensal::train {
namespace {

using tensor::Tensor;
using ::testing::HasSubstr;
using testing::refusal;
using testing::run;
using testing::SmallTraining;
using testing::trainer_of;

constexpr const char* kHow = "steps: 40\noptimiser: {kind: adamw, rate: 0.01}\n";

/// With 37 pictures that no training of it has seen: two batches and a smaller one.
void write_held_out(const SmallTraining& training) {
  const auto all = testing::pictures(137);
  const auto last = [](const Tensor& tensor) {
    std::vector<std::int64_t> which(37);
    for (std::size_t i = 0; i < which.size(); ++i) which[i] = 100 + static_cast<std::int64_t>(i);
    return gathered(tensor, which);
  };
  training.write("held_x.npy", *io::write_npy(last(all.x)));
  training.write("held_y.npy", *io::write_npy(last(all.target)));
}

TEST(TrainingEvaluation, TellsOfSamplesThatAreHeldOutAndChangesNoWeight) {
  const SmallTraining plain(kHow);
  const SmallTraining training(std::string(kHow) +
                               "evaluate: {data: {x: held_x.npy, target: held_y.npy}, every: 15}\n"
                               "checkpoint: {file: at.ckpt, every: 20}\n");
  write_held_out(training);
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  const auto before = trainer->evaluate();
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_TRUE(trainer->evaluate()) << "twice is once";
  ASSERT_EQ(run(*trainer, 20), "");
  auto resumed = trainer_of(training);
  ASSERT_TRUE(resumed) << resumed.error().message;
  ASSERT_EQ(resumed->held_out().size(), 2U);
  ASSERT_EQ(run(*resumed, 20), "");
  ASSERT_EQ(run(*trainer, 20), "");
  const auto& found = resumed->held_out();
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].step, (std::vector<std::int64_t>{0, 15, 30, 40}[i]));
    EXPECT_EQ(found[i].loss, trainer->held_out()[i].loss) << "resumed or not";
    const double right = found[i].accuracy * 37;
    EXPECT_NEAR(right, std::round(right), 1e-9) << "of 37";
  }
  EXPECT_GT(found[0].loss, 1.0);
  EXPECT_LT(found[3].loss, 0.5);
  EXPECT_GT(found[3].accuracy, 0.85);
  EXPECT_EQ(core::to_hex(trainer->weights_digest()), testing::digest_after(plain, 40));
}

TEST(TrainingEvaluation, TheLastSamplesAreNotTrainedOn) {
  const SmallTraining whole(std::string(kHow) + "evaluate: {last: 37}\n");
  const SmallTraining parts(std::string(kHow) +
                            "data: {x: first_x.npy, target: first_y.npy}\n"
                            "evaluate: {data: {x: held_x.npy, target: held_y.npy}}\n");
  write_held_out(parts);
  const auto all = testing::pictures(137);
  whole.write("x.npy", *io::write_npy(all.x));
  whole.write("y.npy", *io::write_npy(all.target));
  const auto first = testing::pictures(100);
  parts.write("first_x.npy", *io::write_npy(first.x));
  parts.write("first_y.npy", *io::write_npy(first.target));
  auto one = trainer_of(whole), other = trainer_of(parts);
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_EQ(run(*one, 40), "");
  ASSERT_EQ(run(*other, 40), "");
  EXPECT_EQ(one->weights_digest(), other->weights_digest());
  EXPECT_EQ(one->training(), other->training());
  ASSERT_EQ(one->held_out().size(), 1U);
  EXPECT_EQ(one->held_out()[0].loss, other->held_out()[0].loss);
  EXPECT_EQ(one->held_out()[0].accuracy, other->held_out()[0].accuracy);
}

TEST(TrainingEvaluation, OfDataThatDoesNotFitIsRefused) {
  const auto message = [](const std::string& how) {
    const SmallTraining training("evaluate: " + how + "\n");
    write_held_out(training);
    return refusal(training);
  };
  EXPECT_EQ(message("{data: {x: held_x.npy, target: held_y.npy}}"), "accepted");
  EXPECT_THAT(message("{data: {x: held_x.npy, target: y.npy}}"),
              HasSubstr("'evaluate': the data has 37 and 100 samples"));
  EXPECT_THAT(message("{data: {x: held_x.npy}}"), HasSubstr("nothing for the loss's 'target'"));
  EXPECT_THAT(message("{every: 4}"), HasSubstr("'evaluate': expected either data, or last"));
  EXPECT_THAT(message("{last: 4, data: {x: held_x.npy, target: held_y.npy}}"),
              HasSubstr("'evaluate': expected either data, or last"));
  EXPECT_EQ(message("{last: 84}"), "accepted");
  EXPECT_EQ(message("{last: 85}"),
            "'evaluate.last' is 85 of 100 samples, expected a batch of 16 to be left");
  EXPECT_THAT(message("{data: {x: no.npy, target: y.npy}}"), HasSubstr("no.npy"));
  EXPECT_THAT(message("{data: {x: {fle: a}, target: y.npy}}"),
              HasSubstr("unknown key 'evaluate.data.x.fle'"));
}

/// What is ignored counts in no mean, however the samples are parted.
TEST(TrainingEvaluation, IgnoredTargetsDoNotCountWhateverTheBatch) {
  std::vector<double> losses;
  for (const int batch : {2, 16, 37}) {
    const SmallTraining training;
    write_held_out(training);
    auto classes = *io::read_npy(*core::read_file(training.file("held_y.npy")));
    const auto all = classes.data<std::int64_t>();
    std::vector<std::int64_t> some(all.begin(), all.end());
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 5 < 3 ? -1 : some[i];
    training.write("held_y.npy", *io::write_npy(Tensor::of<std::int64_t>({37}, some)));
    training.write("train.yaml",
                   core::as_bytes("model: model.onnx\ndata: {x: x.npy, target: y.npy}\n"
                                  "loss: {output: scores, kind: cross_entropy, ignore: -1}\n"
                                  "evaluate: {data: {x: held_x.npy, target: held_y.npy}}\nbatch: " +
                                  std::to_string(batch) + "\n"));
    auto trainer = trainer_of(training);
    ASSERT_TRUE(trainer) << trainer.error().message;
    const auto done = trainer->evaluate();
    ASSERT_TRUE(done) << batch << ": " << done.error().message;
    losses.push_back(trainer->held_out().back().loss);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-6);
  EXPECT_NEAR(losses[0], losses[2], 1e-6);
}

TEST(TrainingEvaluation, CountsTheFirstOfTheLargestScores) {
  const auto scores = Tensor::of<float>({3, 3}, std::vector<float>{1, 3, 3, 0, 0, 0, 5, 1, 9});
  const auto targets = Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{1, 1, 2});
  EXPECT_EQ(right_classes(scores, targets, std::nullopt).right, 2);
  EXPECT_EQ(right_classes(scores, targets, std::nullopt).all, 3);
  EXPECT_EQ(right_classes(scores, targets, 1).right, 1);
  EXPECT_EQ(right_classes(scores, targets, 1).all, 1);
}

/// Of scores [2,3] against two classes.
double loss_of(const Loss& how, std::vector<std::int64_t> classes) {
  graph::testing::GraphMaker maker;
  const auto x = maker.input({2, 3});
  const auto scores = maker.node("Relu", {x});
  maker.output(scores);
  Loss loss = how;
  loss.output = maker.graph().name_of(scores);
  auto made = with_loss(maker.graph(), {{tensor::DType::kFloat32, {2, 3}}},
                        {tensor::DType::kInt64, {2}}, loss);
  EXPECT_TRUE(made) << made.error().message;
  auto session =
      graph::Session::create(std::make_shared<const graph::Graph>(std::move(made->graph)), {});
  const std::vector<Tensor> inputs = {
      Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 0.5f, 0, 3, 1}),
      Tensor::of<std::int64_t>({2}, classes)};
  const auto run = session->run(inputs);
  EXPECT_TRUE(run) << run.error().message;
  return static_cast<double>(run->front().data<float>()[0]);
}

TEST(TrainingLoss, SmoothingAndIgnoredClassesAreTheFormulas) {
  const std::vector<std::vector<double>> scores = {{1, 2, 0.5}, {0, 3, 1}};
  const auto log_of = [&](std::size_t n, std::size_t c) {
    double all = 0;
    for (const double score : scores[n]) all += std::exp(score);
    return scores[n][c] - std::log(all);
  };
  const auto mean_of = [&](std::size_t n) {
    return -(log_of(n, 0) + log_of(n, 1) + log_of(n, 2)) / 3;
  };
  Loss loss;
  EXPECT_NEAR(loss_of(loss, {1, 2}), -(log_of(0, 1) + log_of(1, 2)) / 2, 1e-6);
  loss.smoothing = 0.2;
  EXPECT_NEAR(loss_of(loss, {1, 2}),
              -0.8 * (log_of(0, 1) + log_of(1, 2)) / 2 + 0.2 * (mean_of(0) + mean_of(1)) / 2, 1e-6);
  loss.ignored = -1;
  EXPECT_NEAR(loss_of(loss, {-1, 2}), -0.8 * log_of(1, 2) + 0.2 * mean_of(1), 1e-6);
  loss.smoothing = 0;
  EXPECT_NEAR(loss_of(loss, {1, -1}), -log_of(0, 1), 1e-6);
}

TEST(TrainingLoss, SettingsOfOtherKindsAreRefused) {
  const auto parsed = parse_plan(
      "model: m\ndata: {x: x.npy}\nloss: {output: y, kind: value, smoothing: 0.1}\n", "");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "'loss': ignore and smoothing are of kind cross_entropy alone");
}

}  // namespace
}  // namespace commensal::train
