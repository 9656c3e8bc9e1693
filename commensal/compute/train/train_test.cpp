// SPDX-License-Identifier: Apache-2.0
// Trainings end in the same bits, wherever they run and however often they are interrupted; what
// cannot be trained is refused in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <commensal/compute/train/weights.hpp>

namespace commensal::train {
namespace {

using graph::Backend;
using graph::SessionOptions;
using tensor::Tensor;
using testing::digest_after;
using testing::refusal;
using testing::run;
using testing::SmallTraining;
using testing::trainer_of;

constexpr const char* kAdam =
    "steps: 100\n"
    "optimiser: {kind: adamw, rate: 0.01, decay: 0.01, clip: 1}\n"
    "schedule: {kind: cosine, warmup: 10, end: 0.1}\n";
constexpr const char* kMomentum =
    "optimiser: {kind: momentum, rate: 0.02, momentum: 0.9, decay: 0.001}\n"
    "schedule: {kind: linear, warmup: 5}\n";

TEST(EqualityTraining, WeightsAreTheSameOnEveryBackEndAndNumberOfThreads) {
  for (const char* const how : {kAdam, kMomentum}) {
    const SmallTraining training(how);
    const std::string expected = digest_after(training, 100, {.backend = Backend::kRef});
    ASSERT_EQ(expected.size(), 64U);
    for (const kernels::Isa isa : kernels::available_isas()) {
      for (int threads = 1; threads <= 4; ++threads) {
        EXPECT_EQ(digest_after(training, 100, {.isa = isa, .threads = threads}), expected)
            << kernels::name_of(isa) << ", " << threads << " threads";
      }
    }
  }
}

TEST(EqualityTraining, AResumedOneEndsInTheSameBits) {
  const SmallTraining whole(kAdam);
  const std::string expected = digest_after(whole, 100);
  const SmallTraining parts(std::string(kAdam) + "checkpoint: {file: at.ckpt, every: 20}\n");
  digest_after(parts, 50, {.threads = 2});
  auto resumed = trainer_of(parts);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->done(), 40);
  EXPECT_EQ(resumed->losses().size(), 40U);
  EXPECT_EQ(run(*resumed, 60), "");
  EXPECT_EQ(core::to_hex(resumed->weights_digest()), expected);
}

TEST(Training, LearnsWhatThePicturesShow) {
  const SmallTraining training(kAdam);
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(run(*trainer, 100), "");
  EXPECT_GT(trainer->losses().front(), 1.0f);
  EXPECT_LT(trainer->losses().back(), 0.3f);
  EXPECT_EQ(trainer->weights(), 6U);  // not the statistics
}

TEST(Training, ItsModelIsExportedWithItsWeights) {
  const SmallTraining training(kAdam);
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(run(*trainer, 3), "");
  const auto bytes = trainer->exported();
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto model = graph::onnx::import_bytes(*bytes, nullptr);
  ASSERT_TRUE(model) << model.error().message;
  std::size_t found = 0;
  for (const auto& [id, value] : (*model)->initialisers) {
    for (std::size_t i = 0; i < trainer->weights(); ++i) {
      const auto& [name, trained] = trainer->state()[i];
      if (name != (*model)->name_of(id)) continue;
      EXPECT_EQ(value.type(), trained.type());
      EXPECT_TRUE(std::ranges::equal(value.bytes(), trained.bytes())) << name;
      ++found;
    }
  }
  EXPECT_EQ(found, trainer->weights());
}

TEST(Training, ALossThatIsNotFiniteLeavesTheCheckpoint) {
  const SmallTraining training(
      "data: {x: {file: x.npy, scale: 1e9}, target: y.npy}\n"
      "optimiser: {kind: sgd, rate: 1e6}\ncheckpoint: {file: at.ckpt, every: 1}\n");
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  const std::string wrong = run(*trainer, 50);
  EXPECT_THAT(wrong, ::testing::AnyOf(::testing::HasSubstr("the loss of step"),
                                      ::testing::HasSubstr("is not finite after step")));
  const auto kept = core::read_file(training.file("at.ckpt"));
  ASSERT_TRUE(kept) << kept.error().message;
  const auto read = decode(*kept);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GE(read->step, 1);
  EXPECT_LE(read->step, trainer->done());
}

TEST(Training, WeightsThatAreNotFiniteAreNotExported) {
  const SmallTraining training(
      "data: {x: {file: x.npy, scale: 1e9}, target: y.npy}\noptimiser: {kind: sgd}\n");
  auto plan = read_plan(training.plan());
  ASSERT_TRUE(plan) << plan.error().message;
  plan->optimiser.rate = 1e38;  // more than a file may say
  auto trainer = Trainer::create(*plan, {});
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_EQ(run(*trainer, 1), "");
  const auto kept = trainer->save();
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, ::testing::HasSubstr("is not finite after step 1"));
  EXPECT_FALSE(trainer->exported());
}

TEST(Training, CheckpointsThatDoNotFitAreRefused) {
  const std::string settings = std::string(kAdam) + "checkpoint: {file: at.ckpt, every: 2}\n";
  const SmallTraining training(settings);
  digest_after(training, 2, {});
  const auto good = *core::read_file(training.file("at.ckpt"));
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{20}, good.size() / 2, good.size() - 1}) {
    training.write("at.ckpt", core::ByteView(good).first(length));
    EXPECT_THAT(refusal(training), ::testing::AnyOf(::testing::HasSubstr("cut off"),
                                                    ::testing::HasSubstr("no checkpoint")))
        << length;
  }
  core::Bytes changed = good;
  changed[good.size() / 2] ^= 1;
  training.write("at.ckpt", changed);
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("cut off or was changed"));
  core::Bytes newer = good;
  newer[std::string_view("commensal checkpoint 3, numerics ").size()] = '9';
  training.write("at.ckpt", newer);
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("is of numerics version 9"));
  training.write("at.ckpt", good);
  EXPECT_EQ(refusal(training), "accepted");
  training.write_plan(settings + "seed: 4\n");
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("at.ckpt: "));
}

TEST(Training, ACheckpointBeyondThePlansStepsIsRefused) {
  const std::string kept = "checkpoint: {file: at.ckpt, every: 2}\n";
  const SmallTraining training(kept);
  digest_after(training, 4, {});
  training.write_plan(kept + "steps: 3\n");
  EXPECT_THAT(refusal(training), ::testing::HasSubstr("4 steps done, expected at most 'steps'"));
  training.write_plan(kept + "steps: 4\n");
  EXPECT_EQ(refusal(training), "accepted");
}

TEST(Training, MoreLossesThanACheckpointHasRoomForAreRefused) {
  Checkpoint crafted;
  crafted.step = 1;
  crafted.losses = {0.5f};
  core::Bytes bytes = encode(crafted);
  const std::size_t body = bytes.size() - 32 - 8;  // ..., step, no entries, losses, one, none
  for (const std::size_t at : {body - 4 - 24, body - 4 - 8}) {
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = i == 7 ? 0x40 : 0;  // 2^62
  }
  bytes.resize(body - 4);
  bytes.insert(bytes.end(), 8, 0);
  const auto hash = crypto::sha256(bytes);
  bytes.insert(bytes.end(), hash.begin(), hash.end());
  EXPECT_FALSE(decode(bytes));
}

TEST(Training, BadSettingsAreRefused) {
  const auto message = [](const std::string& more) {
    const SmallTraining training(more);
    return refusal(training);
  };
  EXPECT_THAT(message("sped: 4\n"), ::testing::HasSubstr("unknown key 'sped'"));
  EXPECT_THAT(message("steps: 0\n"), ::testing::HasSubstr("'steps' is '0'"));
  EXPECT_THAT(message("steps: 1.5\n"), ::testing::HasSubstr("whole number"));
  EXPECT_THAT(message("optimiser: {kind: magic}\n"),
              ::testing::HasSubstr("expected one of sgd, momentum, nesterov, adamw, adagrad"));
  EXPECT_THAT(message("optimiser: {rate: fast}\n"), ::testing::HasSubstr("'optimiser.rate'"));
  EXPECT_THAT(message("optimiser: {betas: [0.9]}\n"), ::testing::HasSubstr("two numbers"));
  EXPECT_THAT(message("weights: [nothing]\n"),
              ::testing::HasSubstr("no weight 'nothing', it has conv.w, conv.b, bn"));
  EXPECT_THAT(message("checkpoint: 3\n"), ::testing::HasSubstr("'checkpoint': expected a map"));
  EXPECT_THAT(message("checkpoint: {file: none/at.ckpt}\n"),
              ::testing::HasSubstr("expected one in a folder that is there"));
  EXPECT_THAT(message("steps: 3\nsteps: 4\n"), ::testing::HasSubstr("'steps' is there twice"));
  EXPECT_THAT(message("a: [\n"), ::testing::HasSubstr("not YAML"));
  EXPECT_EQ(message("weights: [fc.w, fc.b]\n"), "accepted");
  const auto bare = parse_plan("model: m.onnx\ndata: {x: x.npy}\n", "");
  ASSERT_FALSE(bare);
  EXPECT_EQ(bare.error().message, "'loss': expected a map");
}

TEST(Training, NamesThatAreNotTheModelsAreAnsweredByThoseThatAre) {
  const SmallTraining training("weights: [fc.w]\n");
  auto plan = read_plan(training.plan());
  ASSERT_TRUE(plan) << plan.error().message;
  plan->loss.output = "score";
  const auto output = Trainer::create(*plan, {});
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().message,
            "'loss.output': the model has no output 'score', it has scores");
  EXPECT_EQ(refusal(SmallTraining("data: {x: x.npy, y: y.npy, target: y.npy}\n")),
            "'data.y': the model has no such input, it has x");
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) names.push_back(std::to_string(i));
  EXPECT_EQ(some_of(names), "0, 1, 2, 3, 4, 5 and 2 more");
  names.pop_back();
  EXPECT_EQ(some_of(names), "0, 1, 2, 3, 4, 5, 6");
}

/// Ten steps of a weight of 16 bits whose gradient is 0.001, beside the formulas in binary64.
double after_ten_steps(OptimiserKind kind, double g, double rate) {
  double w = 1, m = 0, v = 0;
  for (int t = 1; t <= 10; ++t) {
    m = 0.9 * m + 0.1 * g;
    v = kind == OptimiserKind::kAdagrad ? v + g * g : 0.999 * v + 0.001 * g * g;
    const double first = kind == OptimiserKind::kAdagrad ? g : m / (1 - std::pow(0.9, t));
    const double second = kind == OptimiserKind::kAdagrad ? v : v / (1 - std::pow(0.999, t));
    w -= rate * first / (std::sqrt(second) + 1e-8);
  }
  return w;
}

TEST(Training, WeightsOf16BitsHaveStatesOf32) {
  for (const tensor::DType dtype : {tensor::DType::kFloat16, tensor::DType::kBfloat16}) {
    for (const OptimiserKind kind : {OptimiserKind::kAdamW, OptimiserKind::kAdagrad}) {
      graph::testing::GraphMaker maker;
      const auto x = maker.input({1});
      const auto bits =
          static_cast<std::uint16_t>(dtype == tensor::DType::kFloat16 ? 0x3c00 : 0x3f80);  // 1
      core::Bytes one(2);
      std::memcpy(one.data(), &bits, 2);
      const auto w = maker.constant(Tensor::copy_of({dtype, {1}}, one));
      kernels::Attributes wide, flat;
      wide.set("to", std::int64_t{1});
      flat.set("keepdims", std::int64_t{0});
      const auto loss =
          maker.node("ReduceSum", {maker.node("Mul", {x, maker.node("Cast", {w}, wide)})}, flat);
      maker.output(loss);
      StepRequest request;
      request.inputs = {{tensor::DType::kFloat32, {1}}};
      request.loss = {LossKind::kValue, maker.graph().name_of(loss)};
      request.weights = {maker.graph().name_of(w)};
      request.optimiser.kind = kind;
      request.optimiser.rate = 0.05;
      const auto step = make_step(maker.graph(), request);
      ASSERT_TRUE(step) << step.error().message;
      EXPECT_EQ(step->state[0].type.dtype, dtype);
      auto session = graph::Session::create(step->graph, {});
      ASSERT_TRUE(session) << session.error().message;
      const std::array gradient = {0.001F}, none = {0.0F};
      std::vector<Tensor> state = {Tensor::of<float>({1}, gradient),
                                   Tensor::copy_of({dtype, {1}}, one)};
      for (std::size_t i = 1; i < step->state.size(); ++i) {
        EXPECT_EQ(step->state[i].type.dtype, tensor::DType::kFloat32) << step->state[i].name;
        state.push_back(Tensor::of<float>(step->state[i].type.shape, none));
      }
      for (int t = 0; t < 10; ++t) {
        const auto made = session->run(state);
        ASSERT_TRUE(made) << made.error().message;
        for (std::size_t i = 1; i < state.size(); ++i) state[i] = (*made)[i];
      }
      const float got = dtype == tensor::DType::kFloat16
                            ? tensor::to_float(state[1].data<tensor::Float16>()[0])
                            : tensor::to_float(state[1].data<tensor::Bfloat16>()[0]);
      EXPECT_NEAR(got, after_ten_steps(kind, 0.001, 0.05), 0.02);
    }
  }
}

/// Why there is no step for a weight of a model of x float32[2,3] whose loss is the sum of a value.
std::string refusal_of_step(graph::testing::GraphMaker& maker, graph::ValueId summed,
                            graph::ValueId weight) {
  kernels::Attributes flat;
  flat.set("keepdims", std::int64_t{0});
  const auto loss = maker.node("ReduceSum", {summed}, flat);
  maker.output(loss);
  StepRequest request;
  request.inputs = {{tensor::DType::kFloat32, {2, 3}}};
  request.loss.kind = LossKind::kValue;
  request.loss.output = maker.graph().name_of(loss);
  request.weights = {maker.graph().name_of(weight)};
  request.steps = 3;
  const auto made = make_step(maker.graph(), request);
  return made ? "accepted" : made.error().message;
}

TEST(Training, StepsThatCannotBeMadeAreRefused) {
  const auto message = [](const char* op, kernels::Attributes attributes, int opset) {
    graph::testing::GraphMaker maker;
    const auto x = maker.input({2, 3});
    const auto w = maker.floats({3});
    const auto odd = maker.node(op, {maker.node("Mul", {x, w})}, std::move(attributes), opset);
    return refusal_of_step(maker, odd, w);
  };
  kernels::Attributes narrow;
  narrow.set("to", std::int64_t{10});
  EXPECT_THAT(message("Dropout", {}, 6), ::testing::HasSubstr("the same elements at every step"));
  EXPECT_EQ(message("Dropout", {}, 13), "accepted");
  EXPECT_EQ(message("Cast", narrow, 13), "the loss is float16[], expected float32 or float64");
}

TEST(Training, WhatDrawsOnTheWayToTheLossIsRefused) {
  const auto message = [](const char* op, bool is_on_the_way) {
    graph::testing::GraphMaker maker;
    const auto x = maker.input({2, 3});
    const auto w = maker.floats({3});
    const auto drawn = maker.node(op, {x});
    const auto beside = is_on_the_way ? drawn : x;
    maker.output(drawn);
    const auto sum = maker.node("Add", {maker.node("Mul", {x, w}), beside});
    return refusal_of_step(maker, sum, w);
  };
  for (const char* const op : {"Bernoulli", "RandomNormalLike", "RandomUniformLike"}) {
    EXPECT_THAT(message(op, true), ::testing::HasSubstr("it would draw the same at every step"));
    EXPECT_EQ(message(op, false), "accepted") << op;
  }
}

}  // namespace
}  // namespace commensal::train
