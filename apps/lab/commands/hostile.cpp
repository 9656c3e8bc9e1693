// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/common/command.hpp>
#include <commensal/lab/hostile/siege.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;
namespace hostile = lab::hostile;

struct HostileArguments {
  hostile::SiegeOptions siege;
  std::string daemons;
  bool all = false;
  bool lists = false;
  bool json = false;
  // For the programs that it starts itself:
  std::string play;
  hostile::Target target;
};

void list_attacks() {
  for (const auto* const row : hostile::all_attacks()) {
    fmt::print("{:<26} {}\n", row->name, row->does);
  }
}

Result<int> play(const HostileArguments& options, const CLI::App& app) {
  const auto& siege = options.siege;
  if (options.play.empty() && app.count("--play") > 0) {
    fmt::print("0 0 {}\n", hostile::burn(siege.seconds, siege.cpu_share).cpu_share);
    return 0;
  }
  COMMENSAL_ASSIGN(const auto* const attack, hostile::find_attack(options.play));
  COMMENSAL_ASSIGN(
      const hostile::Deeds deeds,
      hostile::run_attack(*attack, options.target, siege.seconds, siege.cpu_share, siege.seed));
  fmt::print("{} {} {}\n", deeds.acts, deeds.effects, deeds.cpu_share);
  return 0;
}

Result<int> run(HostileArguments& options, const CLI::App& app) {
  if (options.lists) {
    list_attacks();
    return 0;
  }
  if (app.count("--play") > 0) return play(options, app);
  if (options.all == !options.siege.names.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "names of attacks or --all is expected; --list lists them");
  }
  COMMENSAL_ASSIGN(options.siege.attackers, own_program());
  options.siege.daemons = options.daemons.empty()
                              ? options.siege.attackers.parent_path() / "commensal"
                              : core::Path(options.daemons);
  COMMENSAL_ASSIGN(options.siege.model, source_file("models/digits/digits.onnx"));
  options.siege.progress = [](std::string_view name) { fmt::print(stderr, "{}\n", name); };
  COMMENSAL_ASSIGN(const auto report, hostile::besiege(options.siege));
  return print_report(report, options.json);
}

}  // namespace

Run declare_hostile(CLI::App& app) {
  const auto options = std::make_shared<HostileArguments>();
  app.add_option("NAME", options->siege.names, "Attacks to suffer");
  app.add_flag("--all", options->all, "Suffer all of them");
  app.add_flag("--list", options->lists, "Say what each does");
  app.add_option("--seconds", options->siege.seconds, "For all of them together")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--cpu-share", options->siege.cpu_share,
                 "Of one processor, for the attackers and for what they are compared with")
      ->check(CLI::Range(0.01, 64.0))
      ->capture_default_str();
  app.add_option(
      "--daemons", options->daemons,
      "The program commensal to attack, of a sanitizer's build perhaps (default: the one "
      "beside this)");
  app.add_option("--seed", options->siege.seed, "What attackers draw from")->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON");
  // Not shown: how it starts itself as an attacker.
  app.add_option("--play", options->play)->group("");
  app.add_option("--http-port", options->target.http_port)->group("");
  app.add_option("--provider-port", options->target.provider_port)->group("");
  app.add_option("--grpc-port", options->target.grpc_port)->group("");
  app.add_option("--writer-http-port", options->target.writer_http_port)->group("");
  app.add_option("--writer-provider-port", options->target.writer_provider_port)->group("");
  app.add_option("--token", options->target.token)->group("");
  app.add_option("--other-token", options->target.other_token)->group("");
  app.add_option("--model", options->target.model)->group("");
  const CLI::App* const self = &app;
  return [options, self] { return run(*options, *self); };
}

}  // namespace commensal::apps
