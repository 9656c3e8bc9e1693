// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/commensal/engine_runner.hpp>
#include <apps/commensal/provider_tune.hpp>
#include <apps/commensal/service.hpp>
#include <apps/common/progress.hpp>
#include <array>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/collocation/governor/rules.hpp>
#include <commensal/collocation/guest/lock.hpp>
#include <commensal/collocation/guest/memory.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/tuner/chosen.hpp>
#include <commensal/collocation/tuner/tuner.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr double kRequestsAStretch = 3;  // at least, of the slowest way

core::Path ways_file() { return state_folder("hosts") / "ways.json"; }

std::string machine_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Those that are named, else those that the provider has cached.
Result<std::vector<core::Path>> models_of(const TuneOptions& options) {
  std::vector<core::Path> made(options.models.begin(), options.models.end());
  if (!made.empty()) return made;
  std::error_code none;
  const core::Path folder = core::Path(options.folder) / "models";
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".onnx") made.push_back(entry.path());
  }
  std::ranges::sort(made);
  if (!made.empty()) return made;
  return fail(ErrorCode::kNotFound,
              "no model in {}: name a FILE.onnx, or let the provider serve one", folder.string());
}

/// Beside one host.
class TuneRun {
 public:
  TuneRun(const TuneOptions& options, std::string spec, std::unique_ptr<probe::Probe> probe,
          tuner::Chosen chosen)
      : options_(options),
        host_(guest::lasting_name(spec)),
        machine_(machine_name()),
        probe_(std::move(probe)),
        chosen_(std::move(chosen)) {}

  Result<int> run(const std::vector<core::Path>& models) {
    Json all = Json::array();
    for (const core::Path& model : models) {
      COMMENSAL_ASSIGN(Json one, tune(model));
      COMMENSAL_TRY(chosen_.save());
      all.push_back(std::move(one));
    }
    if (options_.json) fmt::print("{}\n", Json({{"models", all}}).dump());
    return 0;
  }

 private:
  Result<std::vector<std::unique_ptr<EngineRunner>>> start(const core::Path& model,
                                                           const std::vector<tuner::Way>& ways) {
    std::vector<std::unique_ptr<EngineRunner>> made;
    for (const tuner::Way& way : ways) {
      COMMENSAL_ASSIGN(auto one, EngineRunner::start(model, way, options_.backend.session()));
      made.push_back(std::move(one));
    }
    return made;
  }

  Result<Json> tune(const core::Path& model) {
    COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(model, limits::kModelBytesMax));
    const core::Digest digest = crypto::sha256(bytes);
    const auto before = chosen_.beside(host_, machine_);
    const auto known = before.find(digest);
    const tuner::Way present =
        known == before.end() ? tuner::Way{options_.backend.threads, 1, {}} : known->second;
    const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto ways = tuner::ways_beside(present, std::max(processors, present.threads),
                                         options_.at_once_max, tuner::placements());
    COMMENSAL_ASSIGN(const auto owned, start(model, ways));
    COMMENSAL_ASSIGN(const tuner::Tuning tuned, compare(owned));
    const tuner::Way& best = ways[tuned.choice()];
    chosen_.add({host_, machine_, digest, best, 1e-3 * static_cast<double>(clock_.wall_ms())});
    if (!options_.json) show(model, ways, tuned);
    return json_of(model, digest, ways, tuned);
  }

  Result<tuner::Tuning> compare(const std::vector<std::unique_ptr<EngineRunner>>& owned) {
    const governor::Rules rules;
    tuner::TunerOptions tuner{.minute_max = rules.minute_promise, .stretch_s = options_.stretch_s};
    tuner.rules = {.rounds_max = options_.rounds,
                   .budget_s = rules.explore * rules.promise * 3600,
                   .set_point = rules.set_point,
                   .draw_max = rules.draw_max};
    std::vector<tuner::Runner*> runners;
    for (const auto& one : owned) {
      runners.push_back(one.get());
      tuner.stretch_s = std::max(tuner.stretch_s, kRequestsAStretch * one->request_s());
    }
    Progress progress("tune");
    tuner.progress = [&](const tuner::Tuning& so_far) {
      std::size_t done = 0;
      for (std::size_t way = 0; way < so_far.ways(); ++way) {
        done += static_cast<std::size_t>(so_far.figures(way).stretches);
      }
      progress.show(done, so_far.ways() * static_cast<std::size_t>(options_.rounds));
    };
    const auto wait = [](double seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      return true;
    };
    return tuner::tune({clock_, rng_, *probe_, wait}, runners, tuner);
  }

  void show(const core::Path& model, const std::vector<tuner::Way>& ways,
            const tuner::Tuning& tuned) const {
    fmt::print("{} beside {}\n{:<50}{:>10}{:>28}{:>12}\n", model.filename().string(), host_,
               "  way", "answers/s", "the host loses", "ms/answer");
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const tuner::WayFigures one = tuned.figures(i);
      const auto loss = fmt::format("{:.2f} % ({:.2f}..{:.2f})", 100 * one.loss.mean,
                                    100 * one.loss.low, 100 * one.loss.high);
      fmt::print("{} {:<48}{:>10.2f}{:>28}{:>12.3f}\n", i == tuned.choice() ? "*" : " ",
                 tuner::words(ways[i]), one.answers_per_s, loss,
                 1000 * one.loss.mean / one.answers_per_s);
    }
    fmt::print("{}; it cost the host {:.1f} s of its work\n",
               tuned.choice() == 0 ? "no other way is shown to be better: as it was"
                                   : "* is shown to be better, and kept",
               tuned.lost_s());
  }

  static Json json_of(const tuner::Interval& interval) {
    const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    return {
        {"mean", interval.mean}, {"low", finite(interval.low)}, {"high", finite(interval.high)}};
  }

  Json json_of(const core::Path& model, const core::Digest& digest,
               const std::vector<tuner::Way>& ways, const tuner::Tuning& tuned) const {
    Json rows = Json::array();
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const tuner::WayFigures one = tuned.figures(i);
      rows.push_back({{"threads", ways[i].threads},
                      {"at_once", ways[i].at_once},
                      {"processors", ways[i].processors},
                      {"stretches", one.stretches},
                      {"answers_per_s", one.answers_per_s},
                      {"host_loss", json_of(one.loss)},
                      {"answers_per_s_borne", json_of(one.worth)}});
    }
    return {
        {"file", model.string()}, {"model", core::to_hex(digest)}, {"host", host_},
        {"machine", machine_},    {"chosen", tuned.choice()},      {"host_lost_s", tuned.lost_s()},
        {"ways", std::move(rows)}};
  }

  const TuneOptions& options_;
  const core::SystemClock clock_;
  core::SystemRng rng_;
  const std::string host_, machine_;
  std::unique_ptr<probe::Probe> probe_;
  tuner::Chosen chosen_;
};

}  // namespace

Result<std::map<core::Digest, tuner::Way>> tuned_ways(const std::string& host) {
  COMMENSAL_ASSIGN(const auto chosen, tuner::Chosen::read(ways_file()));
  return chosen.beside(host == "auto" ? "" : guest::lasting_name(host), machine_name());
}

CLI::App* TuneOptions::declare(CLI::App& provider) {
  CLI::App* app = provider.add_subcommand(
      "tune", "Try ways of running models beside a host, and keep what costs it least");
  folder = state_folder("provider").string();
  app->add_option("--host", host, "The probe, or auto, as the provider's")->required();
  app->add_option("models", models, "Files; default: those that the provider has cached");
  app->add_option("--data-dir", folder, "The provider's state")->capture_default_str();
  backend.declare(*app);
  app->add_option("--batch-max", at_once_max, "Requests that are computed together, at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--rounds", rounds, "Stretches of each way, at most")
      ->check(CLI::Range(6, 1000))
      ->capture_default_str();
  app->add_option("--stretch-seconds", stretch_s,
                  "Of a stretch; longer where the probe, or the model, needs it")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  app->add_flag("--json", json, "Print JSON");
  return app;
}

Result<int> TuneOptions::run() const {
  COMMENSAL_TRY(backend.check());
  COMMENSAL_ASSIGN(const auto files, models_of(*this));
  COMMENSAL_ASSIGN(const auto lock, guest::Lock::try_take(guest::runtime_folder()));
  if (!lock) {
    return fail(ErrorCode::kFailedPrecondition,
                "guests run here, whose cost would be taken for this one's: end providers first");
  }
  const core::SystemClock clock;
  COMMENSAL_ASSIGN(const std::string spec,
                   probe::choose(host, {clock}, [](const std::string& line) {
                     fmt::print(stderr, "{}\n", line);
                   }));
  COMMENSAL_ASSIGN(auto probe, probe::open(spec, {clock}));
  COMMENSAL_ASSIGN(auto chosen, tuner::Chosen::read(ways_file()));
  return TuneRun(*this, spec, std::move(probe), std::move(chosen)).run(files);
}

}  // namespace commensal::apps
