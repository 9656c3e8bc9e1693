// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <commensal/base/chart/panels.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct TrainArguments {
  std::string plan;
  std::string exported, svg;
  BackendOptions backend;
  bool json = false;
};

/// Each step's loss.
std::string curve_of(const train::Trainer& trainer, const train::Plan& plan) {
  chart::Panels picture;
  picture.title = "Loss of " + plan.model.filename().string();
  picture.unit = "steps";
  picture.legends = {"loss"};
  chart::Line line;
  for (const float loss : trainer.losses()) line.values.push_back(static_cast<double>(loss));
  picture.top = std::max(1e-3, *std::ranges::max_element(line.values));
  picture.subtitle =
      fmt::format("{} steps of {} samples, from {:.4g} to {:.4g}; top {:.4g}", line.values.size(),
                  plan.batch, line.values.front(), line.values.back(), picture.top);
  picture.panels = {{"loss", "of each batch", {std::move(line)}, {}}};
  return chart::panels_svg(picture);
}

/// About ten lines of a training, on stdout, and a bar where there is a terminal.
class Report {
 public:
  Report(std::int64_t done, std::int64_t steps, bool prints)
      : first_(done), steps_(steps), prints_(prints), bar_("training") {}

  void show(const train::Trainer& trainer) {
    bar_.show(static_cast<std::size_t>(trainer.done()), static_cast<std::size_t>(steps_));
    const std::int64_t each = std::max<std::int64_t>(1, steps_ / 10);
    if (!prints_ || (trainer.done() % each != 0 && trainer.done() != steps_)) return;
    bar_.clear();
    const double passed_s = static_cast<double>(clock_.monotonic_ns() - began_ns_) * 1e-9;
    const double rate = static_cast<double>(trainer.done() - first_) / passed_s;
    fmt::print("step {:>8}  loss {:<10.4g} {:.1f} steps/s\n", trainer.done(),
               trainer.losses().back(), rate);
  }
  void end() { bar_.clear(); }

 private:
  std::int64_t first_, steps_;
  bool prints_;
  Progress bar_;
  const core::SystemClock clock_;
  const std::int64_t began_ns_ = clock_.monotonic_ns();
};

Result<void> train_to_end(train::Trainer& trainer, const train::Plan& plan, bool prints) {
  Report report(trainer.done(), plan.steps, prints);
  while (trainer.done() < plan.steps) {
    const auto done = trainer.step();
    if (!done) {
      report.end();
      return done;
    }
    report.show(trainer);
  }
  report.end();
  return trainer.save();
}

void print_end(const train::Trainer& trainer, const train::Plan& plan) {
  fmt::print("weights  {}\n", core::to_hex(trainer.weights_digest()));
  if (!plan.checkpoint.empty())
    fmt::print("kept in  {}, for more steps\n", plan.checkpoint.string());
}

Result<void> check_folder(const char* option, const std::string& file) {
  std::error_code ignored;
  const core::Path folder = core::Path(file).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
  return core::fail(core::ErrorCode::kNotFound,
                    "{} is '{}', expected a file in a folder that is there", option, file);
}

Result<int> run_training(const TrainArguments& options) {
  COMMENSAL_ASSIGN(const train::Plan plan, train::read_plan(options.plan));
  COMMENSAL_TRY(options.backend.check());
  COMMENSAL_TRY(check_folder("--export", options.exported));
  COMMENSAL_TRY(check_folder("--svg", options.svg));
  COMMENSAL_ASSIGN(auto trainer, train::Trainer::create(plan, options.backend.session()));
  // What would fail at the end is told before the first step.
  if (!options.exported.empty()) COMMENSAL_TRY(trainer.exported());
  if (!options.json) {
    fmt::print("{}: {} weights, steps {} to {} of {} samples\n", plan.model.string(),
               trainer.weights(), std::min(trainer.done() + 1, plan.steps), plan.steps, plan.batch);
  }
  COMMENSAL_TRY(train_to_end(trainer, plan, !options.json));
  if (!options.exported.empty()) {
    COMMENSAL_ASSIGN(const auto bytes, trainer.exported());
    COMMENSAL_TRY(core::save_for_user(options.exported, bytes));
  }
  if (!options.svg.empty())
    COMMENSAL_TRY(core::save_for_user(options.svg, core::as_bytes(curve_of(trainer, plan))));
  if (options.json) {
    const Json made = {{"steps", trainer.done()},
                       {"loss", trainer.losses()},
                       {"weights", core::to_hex(trainer.weights_digest())},
                       {"training", core::to_hex(trainer.training())}};
    fmt::print("{}\n", made.dump(2));
  } else {
    print_end(trainer, plan);
  }
  return 0;
}

}  // namespace

Run declare_train(CLI::App& app) {
  const auto options = std::make_shared<TrainArguments>();
  app.add_option("plan", options->plan, "What to train, on what and how (YAML)")->required();
  app.add_option("--export", options->exported, "Write the model with its new weights (ONNX)");
  app.add_option("--svg", options->svg, "Write a picture of the losses");
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON, each step's loss among it");
  return [options] { return run_training(*options); };
}

}  // namespace commensal::apps
