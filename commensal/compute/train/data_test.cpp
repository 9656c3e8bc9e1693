// SPDX-License-Identifier: Apache-2.0
// What trainings are given: arrays, classes, their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <limits>

namespace commensal::train {
namespace {

using tensor::Tensor;
using testing::refusal;
using testing::SmallTraining;

TEST(TrainingData, DataThatDoesNotFitIsRefused) {
  const SmallTraining training;
  const auto with = [&](const std::string& name, const Tensor& value) {
    training.write(name, *io::write_npy(value));
    return refusal(training);
  };
  const auto all = testing::pictures(100);
  EXPECT_THAT(with("x.npy", all.x.reshaped({100, 1, 4, 16})),
              ::testing::HasSubstr("expected samples of [1,8,8]"));
  EXPECT_THAT(with("x.npy", testing::pictures(90).x), ::testing::HasSubstr("90 and 100 samples"));
  EXPECT_EQ(with("x.npy", all.x.reshaped({100, 8, 8})), "accepted");  // dimensions of 1 may lack
  EXPECT_THAT(with("y.npy", all.target.reshaped({50, 2})), ::testing::HasSubstr("samples"));
  const auto few = testing::pictures(3);
  with("x.npy", few.x);
  EXPECT_EQ(with("y.npy", few.target), "3 samples, expected at least a batch of 16");
  training.write("y.npy", core::as_bytes("nothing"));
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("y.npy: "));
}

TEST(TrainingData, AClassThatTheScoresDoNotHaveIsFoundBeforeTheFirstStep) {
  const auto message = [](std::int64_t row_17, const std::string& more) {
    const SmallTraining training(more);
    const auto target = testing::pictures(100).target;
    const auto all = target.data<std::int64_t>();
    std::vector<std::int64_t> classes(all.begin(), all.end());
    classes[17] = row_17;
    training.write("z.npy", *io::write_npy(Tensor::of<std::int64_t>({100}, classes)));
    auto plan = read_plan(training.plan());
    if (!plan) return plan.error().message;
    plan->loss.ignored = -100;
    const auto made = Trainer::create(*plan, {});
    const std::string wrong = made ? "accepted" : made.error().message;
    return wrong.substr(wrong.find("z.npy") == wrong.npos ? 0 : wrong.find("z.npy"));
  };
  const std::string trained = "data: {x: x.npy, target: z.npy}\n";
  EXPECT_EQ(message(3, trained), "accepted");
  EXPECT_EQ(message(-100, trained), "accepted");
  EXPECT_EQ(message(4, trained),
            "z.npy: row 17 (from 0) has the class 4, expected 0 to 3, or -100, which is "
            "ignored: output 'scores' has 4 scores");
  EXPECT_THAT(message(-1, trained), ::testing::HasSubstr("row 17 (from 0) has the class -1"));
  EXPECT_THAT(message(9, "evaluate: {data: {x: x.npy, target: z.npy}}\n"),
              ::testing::HasSubstr("z.npy: row 17 (from 0) has the class 9"));
}

TEST(TrainingData, DataThatIsNotFiniteIsNamedBeforeTheFirstStep) {
  const SmallTraining training;
  const auto all = testing::pictures(100);
  const auto values = all.x.data<float>();
  std::vector<float> bent(values.begin(), values.end());
  bent[23 * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  training.write("x.npy", *io::write_npy(tensor::Tensor::of<float>({100, 1, 8, 8}, bent)));
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("x.npy: sample 23 (from 0) is not finite"));
}

/// [N,1] where [N] is meant.
TEST(TrainingData, ClassesMayHaveADimensionOfOneMore) {
  const SmallTraining plain, wide;
  const auto all = testing::pictures(100);
  const auto classes = all.target.data<std::int64_t>();
  wide.write("y.npy", *io::write_npy(tensor::Tensor::of<std::int64_t>({100, 1}, classes)));
  EXPECT_EQ(testing::digest_after(wide, 3), testing::digest_after(plain, 3));
}

TEST(TrainingData, OrderIsOfTheSeed) {
  Order one(7, 10, 3), two(7, 10, 3), other(8, 10, 3);
  std::vector<std::int64_t> first, seen;
  bool differs = false;
  for (int t = 0; t < 6; ++t) {
    first = one.of_step(t);
    EXPECT_EQ(first, two.of_step(t));
    differs = differs || first != other.of_step(t);
    if (t < 3) seen.insert(seen.end(), first.begin(), first.end());
  }
  EXPECT_TRUE(differs);
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end()) << "an epoch has a sample once";
  EXPECT_EQ(one.of_step(1), Order(7, 10, 3).of_step(1)) << "a step needs no steps before it";
}

TEST(TrainingData, IdxFilesAreRead) {
  const core::Bytes good = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255};
  const auto made = read_idx(good);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->type().text(), "uint8[2,3]");
  EXPECT_EQ(made->data<std::uint8_t>()[5], 255);
  const auto scaled = prepared(*made, 0.5, tensor::DType::kFloat32, {3});
  ASSERT_TRUE(scaled);
  EXPECT_EQ(scaled->data<float>()[5], 127.5f);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(read_idx(core::ByteView(good).first(length))) << length;
  EXPECT_FALSE(prepared(*made, 0.5, tensor::DType::kInt64, {3}));
}

}  // namespace
}  // namespace commensal::train
