// SPDX-License-Identifier: Apache-2.0
// The bench without another runtime: what it asks, what it makes of the answers. No figure of this
// machine is held to anything here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/runtime/report.hpp>
#include <commensal/lab/bench/runtime/serve.hpp>
#include <commensal/lab/bench/runtime/testing/fake_runner.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

namespace commensal::lab::bench {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::json;
using testing::fake;
using ::testing::HasSubstr;

const core::Path kModels = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits";

std::string steady_answer(const Json& request, double seconds) {
  if (request.at("do") == "feed") return "{}";
  if (request.at("do") == "outputs") return R"({"outputs": []})";
  if (request.at("do") == "load") {
    return Json{{"session_seconds", seconds}, {"answer_seconds", 2 * seconds}}.dump();
  }
  const std::vector<double> all(request.at("count").get<std::size_t>(), seconds);
  return Json{{"seconds", all}, {"cpu_seconds", all}}.dump();
}

Runner answering_json(std::function<std::string(const Json&)> answer) {
  return fake(
      [answer = std::move(answer)](const std::string& line) { return answer(Json::parse(line)); });
}

/// A runtime that takes `seconds` for everything.
std::function<Result<Runner>()> steady(double seconds) {
  return [seconds]() -> Result<Runner> {
    return answering_json(
        [seconds](const Json& request) { return steady_answer(request, seconds); });
  };
}

/// One that is driven from another language, which takes `language_s` of a run of a second when the
/// model is loaded, `later_s` in blocks; its own clock reads 0.2, 0.1 and what is left in
/// operators.
std::function<Result<Runner>()> driven(double language_s, double later_s, double operators_s) {
  return [=]() -> Result<Runner> {
    const auto clock = std::make_shared<std::string>();
    return answering_json([=](const Json& request) -> std::string {
      if (request.at("do") == "feed") return "{}";
      if (request.at("do") == "outputs") return R"({"outputs": []})";
      if (request.at("do") == "load") {
        *clock = request.at("clock");
        Json answer = {{"session_seconds", 1}, {"answer_seconds", 1}};
        if (*clock == "net") {
          answer.update(Json{{"run_seconds", 1},
                             {"language_seconds", language_s},
                             {"own_seconds", 0.2},
                             {"operator_seconds", operators_s}});
        }
        return answer.dump();
      }
      const bool is_net = *clock == "net";
      const std::vector<double> all(request.at("count").get<std::size_t>(),
                                    is_net ? 1 - later_s : 0.2);
      Json answer = {{"seconds", all}, {"cpu_seconds", all}};
      if (is_net) answer["language_seconds"] = later_s;
      return answer.dump();
    });
  };
}

BenchOptions options_of(std::function<Result<Runner>()> theirs) {
  BenchOptions options;
  options.folder = kModels;
  options.models = {"digits"};
  options.threads = {1, 2};
  options.batches = {1};
  options.repeats = 2;
  options.load_repeats = 2;
  options.ours = steady(0.5);
  options.theirs = std::move(theirs);
  return options;
}

double value_of(const std::vector<Row>& bars, const std::string& name) {
  for (const Row& bar : bars) {
    if (bar.name == name) return bar.value;
  }
  ADD_FAILURE() << "no bar " << name;
  return 0;
}

TEST(Bench, MakesRatiosOfWhatTheSidesSay) {
  const auto report = run_bench(options_of(steady(1.0)));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->latency.size(), 2u);
  EXPECT_EQ(report->latency[1].threads, 2);
  EXPECT_DOUBLE_EQ(report->latency[1].compared.ratio.value, 0.5);
  ASSERT_EQ(report->loads.size(), 1u);
  EXPECT_DOUBLE_EQ(report->loads[0].theirs.answer_s, 2);
  EXPECT_DOUBLE_EQ(report->loads[0].ours_bytes, 2000);  // two lines after the inputs

  const auto bars = bars_of(*report);
  EXPECT_EQ(bars.size(), 5u);
  EXPECT_DOUBLE_EQ(value_of(bars, "latency_geomean_1t"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(bars, "latency_worst"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(bars, "peak_memory_geomean"), 1);

  const Json json = Json::parse(to_json(report_of(*report)));
  EXPECT_DOUBLE_EQ(json.at("results").at(0).at("ratio").at("value"), 0.5);
  EXPECT_TRUE(json.at("bars").at(0).at("ok"));
  EXPECT_THAT(to_text(report_of(*report)), HasSubstr("digits"));
}

TEST(Bench, HasBarsOnlyForWhatWasMeasured) {
  BenchOptions options = options_of(steady(1.0));
  options.load_repeats = 0;
  options.threads = {1};
  const auto report = run_bench(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(bars_of(*report).size(), 2u);  // one thread, worst
}

TEST(Bench, AnOlderBuildHasABarOfItsOwn) {
  BenchOptions options = options_of(steady(0.5));
  options.peer = Peer::kOlderBuild;
  std::vector<std::string> checked;
  options.check = [&](const core::Path& model, const std::vector<InputFile>& inputs) {
    checked.push_back(model.filename().string() + " " + inputs.at(0).name);
    return Result<void>();
  };
  const auto report = run_bench(options);
  ASSERT_TRUE(report) << report.error().message;
  const auto bars = bars_of(*report);
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].name, "latency_geomean");
  EXPECT_DOUBLE_EQ(bars[0].value, 1);
  EXPECT_DOUBLE_EQ(bars[0].low, 1);
  EXPECT_TRUE(bars[0].ok());
  EXPECT_EQ(checked, std::vector<std::string>(2, "digits.onnx image"));  // load, then latency
}

TEST(Bench, AnOlderBuildThatWasFasterMissesTheBar) {
  BenchOptions options = options_of(steady(0.48));
  options.peer = Peer::kOlderBuild;
  const auto report = run_bench(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(bars_of(*report).at(0).ok());
  EXPECT_THAT(to_text(report_of(*report)), HasSubstr("MISS latency_geomean"));
}

TEST(Bench, NothingIsMeasuredOfSidesThatDoNotAgree) {
  BenchOptions options = options_of(steady(1.0));
  options.check = [](const core::Path&, const std::vector<InputFile>&) -> Result<void> {
    return core::fail(ErrorCode::kDataLoss, "other bits");
  };
  const auto report = run_bench(options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "digits: other bits");
}

TEST(Bench, SidesTakeTurnsAtBeingFirstOverAllRounds) {
  std::string order;
  const auto side = [&](char name) -> Runner {
    return answering_json([&order, name](const Json& request) {
      const auto count = request.at("count").get<std::size_t>();
      if (count > 2) order += name;  // not what finds the size of a block
      const std::vector<double> all(count, 0.5);
      return Json{{"seconds", all}, {"cpu_seconds", all}}.dump();
    });
  };
  Pair pair{side('a'), side('b')};
  const auto compared = take_turns(pair, 1, {.repeats = 1, .rounds_max = 4});
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(order, "abbaab");  // a block a round: three, until their spread is known
  EXPECT_EQ(compared->ratio.pairs, 3);
}

TEST(Bench, FewBlocksAreNamedInTheNotes) {
  BenchOptions options = options_of(steady(1.0));
  options.repeats = 1;
  const auto report = run_bench(options);
  ASSERT_TRUE(report) << report.error().message;
  const Report said = report_of(*report);
  ASSERT_EQ(said.notes.size(), 1u);
  EXPECT_THAT(said.notes[0], HasSubstr("2 of 2 rows rest on fewer than 4 blocks"));
}

TEST(Bench, WhatTheLanguageTakesIsTakenOffWhileItIsLittle) {
  const auto report = run_bench(options_of(driven(0.2, 0.25, 0.1)));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->latency[0].clock, Clock::kNet);
  EXPECT_EQ(report->latency[0].not_measurable, "");
  EXPECT_DOUBLE_EQ(report->latency[0].compared.theirs.language_s, 0.25);  // of the blocks
  EXPECT_DOUBLE_EQ(report->latency[0].compared.ratio.value, 0.5 / 0.75);
  EXPECT_THAT(to_text(report_of(*report)), HasSubstr("at most 25 % of it"));
}

TEST(Bench, WhereMostIsTheLanguageTheRuntimeTimesItself) {
  const auto report = run_bench(options_of(driven(0.9, 0.9, 0.19)));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->latency[0].clock, Clock::kOwn);
  EXPECT_EQ(report->latency[0].not_measurable, "");
  EXPECT_DOUBLE_EQ(report->latency[0].compared.ratio.value, 0.5 / 0.2);
  EXPECT_DOUBLE_EQ(value_of(bars_of(*report), "latency_worst"), 2.5);
  EXPECT_THAT(to_text(report_of(*report)), HasSubstr("theirs by its own clock"));
}

TEST(Bench, WhatNoClockTellsIsInNoMeanAndNoBar) {
  // Mostly the profiler; and a language that takes more in the end than it did at first.
  for (const auto& theirs : {driven(0.9, 0.9, 0.1), driven(0.2, 0.6, 0.1), driven(0.2, 1.5, 0.1)}) {
    BenchOptions options = options_of(theirs);
    options.load_repeats = 0;
    const auto report = run_bench(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(bars_of(*report).size(), 0u);
    const Json json = Json::parse(to_json(report_of(*report)));
    EXPECT_FALSE(json.at("results").at(0).at("measurable"));
    EXPECT_TRUE(json.at("results").at(0).at("ratio").at("value").is_null());
    EXPECT_TRUE(json.at("geomeans").empty());
    EXPECT_THAT(json.at("notes").at(0),
                HasSubstr("digits, threads 1, batch 1: not measurable: of "));
    EXPECT_THAT(to_text(report_of(*report)), HasSubstr("not measurable\n"));
  }
}

/// Answers as `steady` does, with one output of these elements.
std::function<Result<Runner>()> answering(const char* name, std::vector<float> elements) {
  const std::string file = ::testing::TempDir() + name;
  core::Bytes bytes;
  for (const float one : elements) append_element(bytes, tensor::DType::kFloat32, one);
  EXPECT_TRUE(core::write_file_atomically(file, bytes));
  const auto size = elements.size();
  return [=]() -> Result<Runner> {
    return answering_json([=](const Json& request) -> std::string {
      if (request.at("do") == "outputs") {
        const Json one = {{"name", "y"}, {"dtype", "float32"}, {"shape", {size}}, {"file", file}};
        return Json{{"outputs", {one}}}.dump();
      }
      return steady_answer(request, 1);
    });
  };
}

TEST(Bench, OutputsThatDifferAreAFaultAndNotMeasured) {
  const auto with = [](float last) {
    BenchOptions options = options_of(answering("bench_theirs.bin", {1, last}));
    options.ours = answering("bench_ours.bin", {1, 2});
    options.load_repeats = 0;
    options.threads = {2};
    return run_bench(options);
  };
  const auto near = with(2.001F);
  ASSERT_TRUE(near) << near.error().message;
  EXPECT_TRUE(report_of(*near).faults.empty());
  EXPECT_EQ(near->latency.size(), 1u);
  const auto far = with(2.01F);
  ASSERT_TRUE(far) << far.error().message;
  EXPECT_EQ(far->latency.size(), 0u);
  const Report report = report_of(*far);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_THAT(report.faults[0], HasSubstr("digits, threads 2, batch 1: output 0: differ by 0.0"));
  EXPECT_FALSE(report.ok());
}

TEST(Bench, FreeDimensionsAreGivenOrSaidToBeGuessed) {
  graph::Graph graph;
  graph.inputs = {0};
  graph.values.push_back({"x", {tensor::DType::kFloat32, true, {-1, 3, -1, -1}, {"", "", "", ""}}});
  EXPECT_EQ(guessed_shapes(graph, 2, {}), "x 2,3,1,1");
  const auto shape = [&](const Shapes& shapes) -> std::string {
    const auto inputs = draw_inputs(graph, 2, shapes);
    return inputs ? (*inputs)[0].type().text() : inputs.error().message;
  };
  EXPECT_EQ(shape({}), "float32[2,3,1,1]");
  EXPECT_EQ(shape({{"x", {1, 3, 8, 9}}}), "float32[2,3,8,9]");  // the batch is the bench's
  EXPECT_EQ(guessed_shapes(graph, 2, {{"x", {1, 3, 8, 9}}}), "");
  EXPECT_THAT(shape({{"x", {1, 4, 8, 9}}}), HasSubstr("--shape 1,4,8,9 does not fit it"));
  EXPECT_THAT(shape({{"x", {3, 8}}}), HasSubstr("--shape 3,8 does not fit it"));
  EXPECT_EQ(shape({{"y", {1}}}), "--shape: no input 'y', but x");
}

TEST(Bench, AFailureNamesTheModel) {
  const auto report = run_bench(options_of([]() -> Result<Runner> {
    return answering_json([](const Json&) { return R"({"error": "out of luck"})"; });
  }));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "digits: out of luck");
}

TEST(BenchProtocol, AnswersAreCheckedForWhatTheyLack) {
  for (const char* answer : {"nonsense", "[]", "{}", R"({"seconds": [1], "cpu_seconds": [1]})",
                             R"({"seconds": ["a", "b"], "cpu_seconds": [1, 1]})"}) {
    Runner runner = answering_json([answer](const Json&) { return answer; });
    const auto timings = runner.run(2);
    ASSERT_FALSE(timings) << answer;
    EXPECT_EQ(timings.error().code, ErrorCode::kInternal);
  }
}

TEST(BenchProtocol, AProcessAnswersLineByLine) {
  auto channel = start_process({"/bin/cat"});
  ASSERT_TRUE(channel);
  EXPECT_EQ(*(*channel)->ask("one"), "one");
  EXPECT_EQ(*(*channel)->ask(std::string(100'000, 'x')), std::string(100'000, 'x'));
  EXPECT_GT(*(*channel)->peak_bytes(), 0);
}

TEST(BenchProtocol, AProcessThatEndsIsAnError) {
  auto channel = start_process({"/bin/true"});
  ASSERT_TRUE(channel);
  const auto answer = (*channel)->ask("hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("/bin/true"));
  const auto none = start_process({"/no/such/program"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("/no/such/program"));
}

std::vector<Json> served(const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  const core::SystemClock clock;
  serve_runtime(in, out, clock);
  std::vector<Json> answers;
  std::istringstream made(out.str());
  for (std::string line; std::getline(made, line);) answers.push_back(Json::parse(line));
  return answers;
}

TEST(BenchSubject, LoadsAndRuns) {
  const std::string file = ::testing::TempDir() + "/bench_input.bin";
  ASSERT_TRUE(core::write_file_atomically(file, core::Bytes(8 * 8 * 4)));
  const Json input = {
      {"name", "image"}, {"dtype", "float32"}, {"shape", {1, 1, 8, 8}}, {"file", file}};
  const Json feed = {{"do", "feed"}, {"inputs", {input}}};
  const Json load = {{"do", "load"}, {"model", (kModels / "digits.onnx").string()}, {"threads", 1}};
  const auto answers =
      served(feed.dump() + '\n' + load.dump() + "\n{\"do\":\"run\",\"count\":3}\n");
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0], Json::object());
  EXPECT_GE(answers[1].at("answer_seconds"), answers[1].at("session_seconds"));
  EXPECT_EQ(answers[2].at("seconds").size(), 3u);
}

TEST(BenchSubject, RefusesWhatItCannotServe) {
  const auto answers = served(
      "nonsense\n{}\n{\"do\":\"dance\"}\n{\"do\":\"run\",\"count\":1}\n"
      "{\"do\":\"load\",\"model\":\"/no/such.onnx\",\"threads\":1}\n"
      "{\"do\":\"feed\",\"inputs\":[{\"name\":\"x\"}]}\n");
  ASSERT_EQ(answers.size(), 6u);
  for (const Json& answer : answers) EXPECT_TRUE(answer.contains("error")) << answer;
}

}  // namespace
}  // namespace commensal::lab::bench
