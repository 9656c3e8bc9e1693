// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/onnx/testing/model_files.hpp>
#include <commensal/serve/worker/testing/twins.hpp>
#include <thread>

// One suite for both twins of the engines.

namespace commensal::worker {
namespace {

namespace models = graph::onnx::testing;
using core::ErrorCode;
using receipt::Values;
using tensor::Tensor;

Values random_inputs(const graph::Graph& graph, std::uint64_t seed) {
  Values inputs;
  for (const graph::ValueId id : graph.inputs) {
    std::vector<std::int64_t> dims = graph.values[static_cast<std::size_t>(id)].declared.dims;
    for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const auto shape = *tensor::Shape::of(dims);
    std::vector<float> elements(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = core::counter_symmetric_f32(seed, inputs.size(), i);
    }
    inputs.push_back(Tensor::of<float>(shape, elements));
  }
  return inputs;
}

void expect_same_bits(const Values& made, const Values& expected) {
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].type(), expected[i].type());
    EXPECT_TRUE(std::ranges::equal(made[i].bytes(), expected[i].bytes()));
  }
}

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";

template <class Twin>
class EngineContract : public ::testing::Test {
 protected:
  core::Path file_of(const std::string& bytes) {
    const core::Path path = folder_->path() / fmt::format("{}.onnx", ++files_);
    EXPECT_TRUE(core::write_file_atomically(path, core::as_bytes(bytes)));
    return path;
  }
  std::unique_ptr<rollout::Engine> engine(const core::Path& path,
                                          const std::vector<protocol::Feed>& feeds = {}) {
    auto made = factory_->load(path, feeds);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *std::move(made) : nullptr;
  }
  /// What the library says by itself.
  static noise::NoisySession plain(const core::Path& path,
                                   const std::vector<protocol::Feed>& feeds = {}) {
    return *noise::NoisySession::create(*graph::onnx::import_file(path), {}, feeds);
  }

  graph::SessionOptions options_;
  std::unique_ptr<rollout::EngineFactory> factory_ = Twin::make(options_);
  core::Result<core::TemporaryFolder> folder_ = core::TemporaryFolder::make("worker-test");
  int files_ = 0;
};
using Twins = ::testing::Types<testing::InThread, testing::InProcess>;
TYPED_TEST_SUITE(EngineContract, Twins);

TYPED_TEST(EngineContract, GivesTheSameBitsAndRoots) {
  for (const core::Path& path : {kDigits, this->file_of(models::relu_file())}) {
    const auto engine = this->engine(path);
    auto session = this->plain(path);
    EXPECT_EQ(engine->roots(), receipt::model_roots(session.graph()));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Values inputs = random_inputs(session.graph(), seed);
      const auto made = engine->run(1, inputs, std::nullopt);
      ASSERT_TRUE(made) << made.error().message;
      expect_same_bits(*made, *session.run(inputs, std::nullopt));
    }
  }
}

TYPED_TEST(EngineContract, TakesTexts) {
  const auto engine = this->engine(this->file_of(models::text_file()));
  const std::vector<std::string> texts = {std::string("a\0", 2), "", std::string(9'000, 'x')};
  for (const auto& some : {texts, {}, std::vector<std::string>(100'000)}) {
    std::vector<std::string> twice;
    for (const std::string& text : some) twice.push_back(text + text);
    const Values inputs = {Tensor::of_strings({std::ssize(some)}, some)};
    const auto made = engine->run(1, inputs, std::nullopt);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(std::ranges::equal(made->at(0).strings(), twice));
    for (const auto& answer : engine->run_all(std::vector<Values>{inputs, inputs}, {})) {
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_TRUE(std::ranges::equal(answer->at(0).strings(), twice));
    }
  }
}

TYPED_TEST(EngineContract, ShowsTheModelsFace) {
  const auto engine = this->engine(kDigits);
  const auto session = this->plain(kDigits);
  const graph::Graph &made = engine->graph(), &expected = session.graph();
  EXPECT_EQ(made.name, expected.name);
  const auto same = [&](const auto& ids, const auto& expected_ids) {
    ASSERT_EQ(ids.size(), expected_ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(made.name_of(ids[i]), expected.name_of(expected_ids[i]));
      EXPECT_EQ(made.values[static_cast<std::size_t>(ids[i])].declared.text(),
                expected.values[static_cast<std::size_t>(expected_ids[i])].declared.text());
    }
  };
  same(made.inputs, expected.inputs);
  same(made.outputs, expected.outputs);
}

TYPED_TEST(EngineContract, DisturbsAsTheSessionDoes) {
  const std::vector<protocol::Feed> feeds = {{0, 0}};
  const core::Path path = this->file_of(models::relu_file());
  const auto engine = this->engine(path, feeds);
  auto session = this->plain(path, feeds);
  Values state = random_inputs(session.graph(), 5), expected = state;
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const noise::Noise noise{core::Digest{static_cast<std::uint8_t>(step)}, 12};
    auto made = engine->run(step, state, noise);
    ASSERT_TRUE(made) << made.error().message;
    state = *std::move(made);
    expected = *session.run(expected, noise);
    expect_same_bits(state, expected);
  }
}

TYPED_TEST(EngineContract, AnswersManyAsEachAlone) {
  const auto engine = this->engine(kDigits);
  auto session = this->plain(kDigits);
  std::vector<Values> requests;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    requests.push_back(random_inputs(session.graph(), seed));
  }
  requests.push_back({});  // too few
  const auto answers = engine->run_all(requests);
  ASSERT_EQ(answers.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto expected = session.run(requests[i], std::nullopt);
    ASSERT_EQ(answers[i].has_value(), expected.has_value());
    if (expected) {
      expect_same_bits(*answers[i], *expected);
    } else {
      EXPECT_EQ(answers[i].error().code, expected.error().code);
      EXPECT_EQ(answers[i].error().message, expected.error().message);
    }
  }
}

TYPED_TEST(EngineContract, CarriesWhatIsLargerThanTheRing) {
  const core::Path path = this->file_of(models::relu_file(1'000'003));
  const auto engine = this->engine(path);
  auto session = this->plain(path);
  const Values inputs = random_inputs(session.graph(), 1);
  const auto made = engine->run(1, inputs, std::nullopt);
  ASSERT_TRUE(made) << made.error().message;
  expect_same_bits(*made, *session.run(inputs, std::nullopt));
}

TYPED_TEST(EngineContract, RefusesInputsAsTheSessionDoes) {
  const auto engine = this->engine(kDigits);
  auto session = this->plain(kDigits);
  const auto wrong_shape = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  const auto wrong_type = Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1});
  for (const Values& inputs : {Values{}, Values{wrong_shape}, Values{wrong_type}}) {
    const auto made = engine->run(1, inputs, std::nullopt);
    const auto expected = session.run(inputs, std::nullopt);
    ASSERT_FALSE(made || expected);
    EXPECT_EQ(made.error().code, expected.error().code);
    EXPECT_EQ(made.error().message, expected.error().message);
  }
}

TYPED_TEST(EngineContract, RefusesModels) {
  const auto code = [&](const core::Path& path) {
    const auto made = this->factory_->load(path, {});
    return made ? "none" : std::string(core::name_of(made.error().code));
  };
  EXPECT_EQ(code("/nowhere/model.onnx"), "not-found");
  EXPECT_EQ(code("/proc/self"), "invalid-argument");
  EXPECT_EQ(code(this->file_of(std::string(100, 'x'))), "invalid-argument");
  EXPECT_EQ(code(this->file_of(std::string())), "invalid-argument");
  // What is beside the file is somebody else's.
  const auto beside = this->file_of(std::string(24, '\0')).filename().string();
  EXPECT_EQ(code(this->file_of(models::external_file(beside))), "permission-denied");
}

TYPED_TEST(EngineContract, EndsWhatIsCancelled) {
  const auto engine = this->engine(this->file_of(models::endless_file()));
  const Values inputs = random_inputs(engine->graph(), 1);
  const core::SystemClock clock;
  for (int i = 0; i < 2; ++i) {  // the engine goes on afterwards
    std::stop_source cancel;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      cancel.request_stop();
    });
    const std::int64_t begin_ns = clock.monotonic_ns();
    const auto made = engine->run(1, inputs, std::nullopt, {.cancel = cancel.get_token()});
    later.join();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kCancelled) << made.error().message;
    EXPECT_LT(clock.monotonic_ns() - begin_ns, 2'000'000'000);
  }
  std::stop_source before;
  before.request_stop();
  const auto made = engine->run(1, inputs, std::nullopt, {.cancel = before.get_token()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
}

TYPED_TEST(EngineContract, HoldsRunsToTheirBudget) {
  const core::Path path = this->file_of(models::endless_file());
  const auto engine = this->engine(path);
  const Values inputs = random_inputs(engine->graph(), 1);
  const graph::RunOptions options{.ops_max = 100'000'000};
  const auto made = engine->run(1, inputs, std::nullopt, options);
  const auto expected = this->plain(path).run(inputs, std::nullopt, options);
  ASSERT_FALSE(made || expected);
  EXPECT_EQ(made.error().code, ErrorCode::kOverBudget);
  EXPECT_EQ(made.error().message, expected.error().message);
}

TYPED_TEST(EngineContract, HoldsTensorsToTheMemoryOfTheSession) {
  graph::SessionOptions options;
  options.memory_bytes_max = 1 << 12;
  const auto factory = TypeParam::make(options);
  const auto made = factory->load(this->file_of(models::large_inside_file()), {});
  ASSERT_TRUE(made) << made.error().message;
  const auto answer = (*made)->run(1, random_inputs((*made)->graph(), 1), std::nullopt);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kResourceExhausted) << answer.error().message;
}

TYPED_TEST(EngineContract, ServesSeveralModelsAtOnce) {
  const auto digits = this->engine(kDigits);
  const auto relu = this->engine(this->file_of(models::relu_file()));
  auto session = this->plain(kDigits);
  std::vector<std::thread> threads;
  for (const auto* engine : {&digits, &relu}) {
    threads.emplace_back([engine] {
      const Values inputs = random_inputs((*engine)->graph(), 3);
      for (int i = 0; i < 50; ++i) EXPECT_TRUE((*engine)->run(1, inputs, std::nullopt));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Values inputs = random_inputs(session.graph(), 4);
  expect_same_bits(*digits->run(1, inputs, std::nullopt), *session.run(inputs, std::nullopt));
}

}  // namespace
}  // namespace commensal::worker
