// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/remote_training.hpp>
#include <apps/commensal/training_push.hpp>
#include <apps/commensal/training_report.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/service.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

struct TrainArguments {
  std::string plan;
  std::string exported, svg, tensorboard;
  TrainingPush push;
  BackendOptions backend;
  RemoteTraining remote;
  Connection connection;  // of both
  bool json = false;
};

Result<void> steps_to_end(train::Trainer& trainer, const train::Plan& plan, TrainingReport& report,
                          const std::stop_token& stop) {
  if (trainer.done() == 0) COMMENSAL_TRY(trainer.evaluate());  // what there is before
  COMMENSAL_TRY(report.show(trainer));
  while (trainer.done() < plan.steps && !stop.stop_requested()) {
    COMMENSAL_TRY(trainer.step());
    COMMENSAL_TRY(report.show(trainer));
  }
  return {};
}

/// How it goes on, where a signal has asked for the end before the last step.
Result<void> check_at_end(const train::Trainer& trainer, const train::Plan& plan) {
  if (trainer.done() == plan.steps) return {};
  const std::string made = fmt::format("stopped after step {} of {}", trainer.done(), plan.steps);
  if (plan.checkpoint.empty()) {
    return core::fail(
        ErrorCode::kCancelled,
        "{}; nothing is kept, as the plan has no 'checkpoint: {{file: ...}}' to go on from", made);
  }
  return core::fail(ErrorCode::kCancelled, "{}, kept in {}: the same command goes on from there",
                    made, plan.checkpoint.string());
}

/// To the last step. Error: kCancelled (by a signal; what was made is kept where the plan says).
/// `place`: null for here.
Result<training::End> train_to_end(train::Trainer& trainer, const train::Plan& plan,
                                   AtGateway* place, const TrainArguments& options) {
  const StoppingOnSignal stopping;
  const std::stop_token stop = stopping.token();
  TrainingReport report(trainer, plan, options.json);
  if (!options.tensorboard.empty()) COMMENSAL_TRY(report.write_events_to(options.tensorboard));
  if (place == nullptr) {
    const auto done = steps_to_end(trainer, plan, report, stop);
    report.end();
    COMMENSAL_TRY(done);
    COMMENSAL_TRY(trainer.save());
    COMMENSAL_TRY(check_at_end(trainer, plan));
    return training::End();
  }
  const auto end = train_at_gateway(trainer, *place, report, stop);
  report.end();
  if (end) COMMENSAL_TRY(trainer.save());
  return end;
}

void print_end(const train::Trainer& trainer, const train::Plan& plan) {
  fmt::print("weights  {}\n", core::to_hex(trainer.weights_digest()));
  if (!plan.checkpoint.empty()) fmt::print("kept in  {}\n", plan.checkpoint.string());
}

/// What a training reads, or goes on from.
std::vector<core::Path> files_of(const core::Path& file, const train::Plan& plan) {
  std::vector<core::Path> all = {file, plan.model};
  if (!plan.checkpoint.empty()) all.push_back(plan.checkpoint);
  for (const auto& [name, source] : plan.data) all.push_back(source.file);
  if (!plan.evaluate) return all;
  for (const auto& [name, source] : plan.evaluate->data) all.push_back(source.file);
  return all;
}

Result<void> check_written(const char* option, const std::string& file,
                           const std::vector<core::Path>& others) {
  if (file.empty()) return {};
  std::error_code ignored;
  const core::Path folder = core::Path(file).parent_path();
  if (core::Path(file).filename().empty() || std::filesystem::is_directory(file, ignored)) {
    return core::fail(ErrorCode::kInvalidArgument, "{} is '{}', a folder: expected a file", option,
                      file);
  }
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    return core::fail(ErrorCode::kNotFound, "{} is '{}', expected a file in a folder that is there",
                      option, file);
  }
  const auto place_of = [&](const core::Path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  const core::Path place = place_of(file);
  for (const core::Path& other : others) {
    if (place.empty() || place != place_of(other)) continue;
    return core::fail(ErrorCode::kInvalidArgument,
                      "{} is '{}', which the training itself uses: expected another file", option,
                      file);
  }
  return {};
}

/// Beside the model nothing that is worth an error.
void keep_picture(const train::Trainer& trainer, const train::Plan& plan, const std::string& file) {
  if (file.empty()) return;
  const std::string picture = training_curve(trainer, plan);
  const auto kept = core::save_for_user(file, core::as_bytes(picture));
  if (!kept) fmt::print(stderr, "commensal train: no picture: {}\n", kept.error().message);
}

/// The model, where it is wanted.
Result<std::string> keep_results(const train::Trainer& trainer, const train::Plan& plan,
                                 const TrainArguments& options) {
  if (options.exported.empty() && options.push.name.empty()) return std::string();
  COMMENSAL_ASSIGN(const auto bytes, trainer.exported());
  if (!options.exported.empty()) COMMENSAL_TRY(core::save_for_user(options.exported, bytes));
  if (options.push.name.empty()) return std::string();
  return push_trained(options.push, bytes, card_of(options.push, trainer, plan));
}

Result<int> run_training(TrainArguments& options) {
  options.push.connection = options.remote.connection = options.connection;
  COMMENSAL_ASSIGN(const train::Plan plan, train::read_plan(options.plan));
  COMMENSAL_TRY(options.backend.check());
  auto used = files_of(options.plan, plan);
  COMMENSAL_TRY(check_written("--export", options.exported, used));
  if (!options.exported.empty()) used.emplace_back(options.exported);
  COMMENSAL_TRY(check_written("--svg", options.svg, used));
  const bool pushes = !options.push.name.empty(), is_remote = options.remote.is_asked(pushes);
  COMMENSAL_TRY(options.remote.check(pushes));
  hold_signals();
  std::optional<EndingAtOnce> starting(std::in_place);  // there is nothing to keep
  COMMENSAL_ASSIGN(auto trainer, train::Trainer::create(plan, options.backend.session()));
  // What would fail at the end is told before the first step.
  if (!options.exported.empty() || pushes) COMMENSAL_TRY(trainer.exported());
  if (pushes) COMMENSAL_TRY(prepare_push(options.push, plan));
  std::shared_ptr<AtGateway> place;
  if (is_remote) {
    COMMENSAL_ASSIGN(place, place_at_gateway(trainer, options.remote));
  }
  starting.reset();
  if (!options.json) {
    fmt::print("{}: {} weights, steps {} to {} of {} samples\n", plan.model.string(),
               trainer.weights(), std::min(trainer.done() + 1, plan.steps), plan.steps, plan.batch);
    std::fflush(stdout);
  }
  COMMENSAL_ASSIGN(const training::End end, train_to_end(trainer, plan, place.get(), options));
  const EndingAtOnce ending;
  if (!options.json) {
    print_end(trainer, plan);
    if (is_remote) fmt::print("audited  {} of {} segments\n", end.audited, end.segments);
  }
  COMMENSAL_ASSIGN(const std::string pushed, keep_results(trainer, plan, options));
  keep_picture(trainer, plan, options.svg);
  if (!options.json) {
    if (!pushed.empty()) fmt::print("pushed   {}\n", pushed);
    return 0;
  }
  Json made = {{"steps", trainer.done()},
               {"loss", trainer.losses()},
               {"weights", core::to_hex(trainer.weights_digest())},
               {"training", core::to_hex(trainer.training())}};
  if (is_remote) {
    made["segments"] = end.segments;
    made["audited"] = end.audited;
  }
  if (!pushed.empty()) made["pushed"] = pushed;
  fmt::print("{}\n", made.dump());
  return 0;
}

}  // namespace

Run declare_train(CLI::App& app) {
  const auto options = std::make_shared<TrainArguments>();
  app.add_option("plan", options->plan, "What to train, on what and how (YAML)")->required();
  app.add_option("--export", options->exported, "Write the model with its new weights (ONNX)");
  app.add_option("--svg", options->svg, "Write a picture of the losses");
  app.add_option("--tensorboard", options->tensorboard,
                 "Write events into this folder, as TensorBoard reads them");
  options->push.declare(app);
  options->backend.declare(app);
  options->remote.declare(app);
  options->connection.declare(app);
  app.add_flag("--json", options->json,
               "Print JSON: a line for each step and evaluation, then one of all");
  return [options] { return run_training(*options); };
}

}  // namespace commensal::apps
