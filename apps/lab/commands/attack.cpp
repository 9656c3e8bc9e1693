// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <commensal/lab/attack/report.hpp>
#include <memory>

namespace commensal::apps {

using core::Result;

namespace {

struct AttackArguments {
  attack::Options attack;
  bool all = false;
  bool lists = false;
  std::string models;
  bool json = false;
};

/// models/ of the source tree, or of an installation.
Result<core::Path> models_folder(const std::string& asked) {
  if (!asked.empty()) return core::Path(asked);
  for (const char* place : {"models", "share/commensal/models"}) {
    const auto found = source_file(core::Path(place) / "digits" / "digits.onnx");
    if (found) return found->parent_path().parent_path();
  }
  return core::fail(core::ErrorCode::kNotFound,
                    "models/digits is not beside the program; --models names the folder models");
}

Result<int> attack_all(AttackArguments& options) {
  if (options.lists) {
    fmt::print("{}", attack::list_text());
    return 0;
  }
  if (options.all == !options.attack.names.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "names of attacks or --all is expected; --list lists them");
  }
  COMMENSAL_ASSIGN(const core::Path folder, models_folder(options.models));
  COMMENSAL_ASSIGN(const auto models, attack::Models::load(folder));
  Progress progress("attack");
  options.attack.progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  COMMENSAL_ASSIGN(const auto findings, attack::run_attacks(*models, options.attack));
  progress.clear();
  return print_report(attack::report_of(findings, options.attack), options.json);
}

}  // namespace

Run declare_attack(CLI::App& app) {
  const auto options = std::make_shared<AttackArguments>();
  app.add_option("NAME", options->attack.names, "Attacks to try");
  app.add_flag("--all", options->all, "Try all of them");
  app.add_flag("--list", options->lists, "Say what each does and what is against it");
  app.add_option("--trials", options->attack.trials, "Trials of each attack")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options->attack.seed, "Everything follows from it")
      ->capture_default_str();
  app.add_option("--models", options->models,
                 "The folder with digits and letters (default: beside the program)");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return attack_all(*options); };
}

}  // namespace commensal::apps
