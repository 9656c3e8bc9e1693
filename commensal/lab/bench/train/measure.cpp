// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/train/step.hpp>
#include <commensal/compute/train/weights.hpp>
#include <commensal/lab/bench/runtime/channel.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/bench/train/train_bench.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::train {
namespace {

using commensal::train::LossKind;
using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;
using Json = nlohmann::json;

constexpr double kRatioMax = 0.9;
constexpr double kSPerNs = 1e-9, kMsPerS = 1e3;

/// What is trained, and on what.
struct Subject {
  std::string name;  // as the peer knows it
  core::Path model;
  std::string output;
  LossKind loss;
  std::int64_t rows;
  double rate;
  int steps;             // of each side in a round
  double loss_off_most;  // of itself, in the first steps
};

/// Of `count` steps.
struct Steps {
  std::vector<double> seconds, cpu_seconds, losses;
};

Tensor drawn(const TensorType& type) {
  const auto count = static_cast<std::size_t>(type.shape.elements());
  if (type.dtype == DType::kUint8) {
    core::CounterRng rng(7, 0);
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next_u32() >> 24);
    return Tensor::of<std::uint8_t>(type.shape, bytes);
  }
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = core::counter_symmetric_f32(7, 0, i);
  return Tensor::of<float>(type.shape, values);
}

class Ours {
 public:
  static Result<Ours> load(const Subject& subject) {
    COMMENSAL_ASSIGN(const auto model, graph::onnx::import_file(subject.model));
    graph::Declared declared =
        model->values[static_cast<std::size_t>(model->inputs.at(0))].declared;
    declared.dims.at(0) = subject.rows;
    COMMENSAL_ASSIGN(const auto shape, tensor::Shape::of(declared.dims));
    commensal::train::StepRequest request;
    request.inputs = {{declared.dtype, shape}};
    request.loss = {subject.loss, subject.output};
    if (subject.loss != LossKind::kValue)
      request.target = {DType::kInt64, tensor::Shape{subject.rows}};
    COMMENSAL_ASSIGN(request.weights, commensal::train::trained_weights(*model, subject.output));
    request.optimiser.rate = subject.rate;
    request.optimiser.decay = 0.01;
    request.optimiser.clip = 1;
    COMMENSAL_ASSIGN(auto step, commensal::train::make_step(*model, request));
    COMMENSAL_ASSIGN(auto session, graph::Session::create(step.graph, {.threads = 1}));
    std::vector<Tensor> inputs = {drawn(request.inputs[0])};
    if (subject.loss != LossKind::kValue) {
      std::vector<std::int64_t> classes(static_cast<std::size_t>(subject.rows));
      for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(i);
      inputs.push_back(Tensor::of<std::int64_t>(request.target.shape, classes));
    }
    std::int64_t parameters = 0;
    for (std::size_t i = 0; i < step.state.size(); ++i) {
      const auto& [name, type] = step.state[i];
      const auto at = std::ranges::find_if(model->initialisers, [&, &of = name](const auto& entry) {
        return model->name_of(entry.first) == of;
      });
      const bool is_weight = i < request.weights.size();
      if (is_weight) parameters += type.shape.elements();
      inputs.push_back(
          is_weight ? at->second
                    : Tensor::copy_of(type, core::Bytes(static_cast<std::size_t>(type.bytes()))));
    }
    return Ours(std::move(session), std::move(inputs), step.batch_inputs, parameters);
  }

  Result<Steps> run(int count, const core::Clock& clock) {
    Steps made;
    for (int i = 0; i < count; ++i) {
      const std::int64_t wall = clock.monotonic_ns(), cpu = core::process_cpu_ns();
      COMMENSAL_ASSIGN(const auto outputs, session_.run(inputs_));
      for (std::size_t k = 1; k < outputs.size(); ++k) inputs_[first_ + k - 1] = outputs[k];
      made.seconds.push_back(static_cast<double>(clock.monotonic_ns() - wall) * kSPerNs);
      made.cpu_seconds.push_back(static_cast<double>(core::process_cpu_ns() - cpu) * kSPerNs);
      made.losses.push_back(static_cast<double>(outputs[0].data<float>()[0]));
    }
    return made;
  }
  const Tensor& batch() const { return inputs_[0]; }
  std::int64_t parameters() const { return parameters_; }

 private:
  Ours(graph::Session session, std::vector<Tensor> inputs, std::size_t first,
       std::int64_t parameters)
      : session_(std::move(session)),
        inputs_(std::move(inputs)),
        first_(first),
        parameters_(parameters) {}

  graph::Session session_;
  std::vector<Tensor> inputs_;  // the batch, then the state
  std::size_t first_;
  std::int64_t parameters_;
};

class Theirs {
 public:
  explicit Theirs(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  Result<std::int64_t> load(const Subject& subject, const core::Path& batch) {
    COMMENSAL_ASSIGN(const Json answer, ask({{"do", "load"},
                                             {"network", subject.name},
                                             {"model", subject.model.string()},
                                             {"batch", batch.string()},
                                             {"rows", subject.rows},
                                             {"rate", subject.rate}}));
    return answer.value("parameters", std::int64_t{0});
  }
  Result<Steps> run(int count) {
    COMMENSAL_ASSIGN(const Json answer, ask({{"do", "run"}, {"count", count}}));
    Steps made;
    for (const auto& [key, into] :
         {std::pair("seconds", &made.seconds), std::pair("cpu_seconds", &made.cpu_seconds),
          std::pair("losses", &made.losses)}) {
      for (const Json& one : answer.value(key, Json::array()))
        into->push_back(one.is_number() ? one.get<double>() : NAN);
      if (std::ssize(*into) != count)
        return fail(ErrorCode::kInternal, "PyTorch's answer lacks {} '{}'", count, key);
    }
    // Whatever they wait for costs processor time too.
    if (const auto tasks = answer.value("tasks", 0); tasks != 1)
      return fail(ErrorCode::kFailedPrecondition,
                  "PyTorch's process has {} threads after a step: expected one, as ours has",
                  tasks);
    return made;
  }

 private:
  Result<Json> ask(const Json& request) {
    COMMENSAL_ASSIGN(const std::string line, channel_->ask(request.dump()));
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object())
      return fail(ErrorCode::kInternal, "PyTorch's process answered '{}'", line);
    if (answer.contains("error"))
      return fail(ErrorCode::kInternal, "PyTorch: {}", answer["error"].dump());
    return answer;
  }
  std::unique_ptr<Channel> channel_;
};

/// Where the two do not do the same work: one line, or nothing.
std::string difference(const Subject& subject, const Steps& ours, const Steps& theirs) {
  for (std::size_t i = 0; i < ours.losses.size(); ++i) {
    const double off = std::abs(ours.losses[i] - theirs.losses[i]);
    if (off <= subject.loss_off_most * std::abs(theirs.losses[i])) continue;
    return fmt::format("{}: the loss of step {} is {}, PyTorch's {}", subject.name, i + 1,
                       ours.losses[i], theirs.losses[i]);
  }
  return {};
}

Result<void> measure(const Subject& subject, const TrainBenchOptions& options,
                     const core::Clock& clock, Report& report) {
  COMMENSAL_ASSIGN(auto ours, Ours::load(subject));
  COMMENSAL_ASSIGN(auto channel, start_process(options.peer));
  Theirs theirs(std::move(channel));
  const core::Path batch = options.folder / (subject.name + ".batch");
  COMMENSAL_TRY(core::write_file_atomically(batch, ours.batch().bytes()));
  COMMENSAL_ASSIGN(const std::int64_t parameters, theirs.load(subject, batch));
  if (parameters != ours.parameters()) {
    report.faults.push_back(
        fmt::format("{}: {} weights, PyTorch has {}", subject.name, ours.parameters(), parameters));
    return {};
  }
  constexpr int kCompared = 3;
  COMMENSAL_ASSIGN(const Steps first, ours.run(kCompared, clock));
  COMMENSAL_ASSIGN(const Steps their_first, theirs.run(kCompared));
  if (std::string off = difference(subject, first, their_first); !off.empty()) {
    report.faults.push_back(std::move(off));
    return {};
  }
  std::vector<double> ours_ms, theirs_ms, ratios, wall_ratios;
  for (int round = 0; round < options.rounds; ++round) {
    Steps mine, other;
    const auto my_turn = [&]() -> Result<void> {
      COMMENSAL_ASSIGN(mine, ours.run(subject.steps, clock));
      return {};
    };
    if (round % 2 == 0) COMMENSAL_TRY(my_turn());
    COMMENSAL_ASSIGN(other, theirs.run(subject.steps));
    if (round % 2 != 0) COMMENSAL_TRY(my_turn());
    ours_ms.push_back(median(mine.cpu_seconds) * kMsPerS);
    theirs_ms.push_back(median(other.cpu_seconds) * kMsPerS);
    ratios.push_back(ours_ms.back() / theirs_ms.back());
    wall_ratios.push_back(median(mine.seconds) / median(other.seconds));
  }
  const std::string how = fmt::format(
      "{} rounds of {} steps of {} samples, {} weights; losses {} "
      "and {} in step {}",
      options.rounds, subject.steps, subject.rows, parameters, first.losses.back(),
      their_first.losses.back(), kCompared);
  const auto row = [&](const char* what, std::optional<double> limit, std::vector<double> values) {
    report.rows.push_back(
        row_at_most(fmt::format("{}_{}", what, subject.name), limit, std::move(values), how));
  };
  row("step_ratio", kRatioMax, std::move(ratios));
  row("step_wall_ratio", {}, std::move(wall_ratios));
  row("step_cpu_ms", {}, std::move(ours_ms));
  row("pytorch_step_cpu_ms", {}, std::move(theirs_ms));
  return {};
}

}  // namespace

Result<Report> run_train_bench(const TrainBenchOptions& options, const core::Clock& clock) {
  const Subject subjects[] = {
      {"gpt", options.gpt, "loss", LossKind::kValue, 12, 1e-3, 8, 1e-4},
      {"resnet18", options.resnet18, "logits", LossKind::kCrossEntropy, 8, 1e-5, 2, 1e-2},
  };
  Report report;
  for (const Subject& subject : subjects) COMMENSAL_TRY(measure(subject, options, clock, report));
  report.notes.push_back(
      "ratios of processor time on one thread; BatchNormalization uses the statistics of the file "
      "(eval) on both sides");
  return report;
}

}  // namespace commensal::lab::bench::train
