// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/engine_runner.hpp>
#include <apps/commensal/host_options.hpp>
#include <apps/commensal/provider_tune.hpp>
#include <apps/common/progress.hpp>
#include <apps/common/service.hpp>
#include <cmath>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/crypto/sha256.hpp>
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

constexpr double kRequestsAStretch = 3;  // at least, of every way that is tried
constexpr double kStretchMaxS = 6;       // a minute bears a third of the host's work for so long
constexpr double kMinuteS = 60;

core::Path hosts_folder() { return state_folder("hosts"); }
core::Path ways_file() { return hosts_folder() / "ways.json"; }

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
              "no model in {}: name a FILE.onnx, or give the provider's --data-dir",
              folder.string());
}

governor::Rules rules_of(const TuneOptions& options) {
  const governor::Rules usual;
  const double hour = options.loss_max.value_or(usual.promise);
  return governor::promising(hour, std::max(hour, usual.minute_promise));
}

/// One that says something now, and soon enough.
Result<std::unique_ptr<probe::Probe>> open_host(const std::string& spec, double stretch_s,
                                                const core::Clock& clock) {
  COMMENSAL_ASSIGN(auto probe, probe::open(spec, {clock}));
  const double needed_s = tuner::stretch_of(*probe, stretch_s);
  if (needed_s > kStretchMaxS) {
    return fail(ErrorCode::kUnsupported,
                "{} averages over {:.0f} s: stretches of {:.0f} s would cost the host more than a "
                "minute may; expected a probe that counts work, such as prometheus:...#..._total",
                spec, probe->traits().averaging_s, needed_s);
  }
  const probe::Sample sample = probe->sample();
  if (sample.is_fresh()) return probe;
  return fail(ErrorCode::kUnavailable, "no signal of the host: {}", sample.why);
}

/// Beside one host, within what its books leave.
class TuneRun {
 public:
  TuneRun(const TuneOptions& options, const std::string& spec, std::unique_ptr<probe::Probe> probe,
          tuner::Chosen chosen)
      : options_(options),
        rules_(rules_of(options)),
        host_(guest::lasting_name(spec)),
        machine_(guest::machine_name()),
        probe_(std::move(probe)),
        chosen_(std::move(chosen)),
        memory_(hosts_folder(), guest::about(spec, probe_->traits())) {}

  Result<int> run(const std::vector<core::Path>& models) {
    if (const auto read = memory_.read(); !read) fmt::print(stderr, "{}\n", read.error().message);
    Json all = Json::array();
    int status = 0;
    for (const core::Path& model : models) {
      if (&model != &models.front()) rest(kMinuteS);  // each begins with a minute of its own
      auto one = tune(model);
      if (one) {
        all.push_back(*std::move(one));
        continue;
      }
      fmt::print(stderr, "{}: {}\n", model.string(), one.error().message);
      status = 1;
    }
    if (options_.json) fmt::print("{}\n", Json({{"models", all}}).dump());
    return status;
  }

 private:
  using Runners = std::vector<std::unique_ptr<EngineRunner>>;
  struct Trial {
    std::vector<tuner::Way> ways{};
    Runners runners{};
    double stretch_s = 0;
  };

  static bool rest(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return true;
  }
  double wall_s() const { return 1e-3 * static_cast<double>(clock_.wall_ms()); }

  tuner::Way present_of(const core::Digest& model) const {
    const bool is_told = options_.app->count("--threads") + options_.app->count("--batch-max") > 0;
    const auto known = chosen_.beside(host_, machine_);
    const auto found = known.find(model);
    const tuner::Way told{options_.backend.threads, options_.at_once, {}};
    return is_told || found == known.end() ? told : found->second;
  }

  /// The present way, and those of its neighbours whose requests fit into its stretches.
  Result<Trial> start(const core::Path& model, const tuner::Way& present) {
    const auto allowed = tuner::allowed_processors();
    const int threads_max = std::max({1, static_cast<int>(allowed.size()), present.threads});
    Trial made{.stretch_s = options_.stretch_s};
    for (const tuner::Way& way :
         tuner::ways_beside(present, threads_max, std::max(options_.at_once_max, present.at_once),
                            tuner::placements(allowed))) {
      COMMENSAL_ASSIGN(auto runner, EngineRunner::start(model, way, options_.backend.session()));
      const double needed_s = kRequestsAStretch * runner->request_s();
      const bool is_present = made.ways.empty();
      if (is_present) made.stretch_s = std::max(made.stretch_s, needed_s);
      if (made.stretch_s > kStretchMaxS) {
        return fail(ErrorCode::kUnsupported,
                    "a request takes {:.1f} s, expected at most {:.0f}: longer ones cannot be told "
                    "apart at a price that the host bears",
                    runner->request_s(), kStretchMaxS / kRequestsAStretch);
      }
      if (needed_s > made.stretch_s) continue;
      made.ways.push_back(way);
      made.runners.push_back(std::move(runner));
    }
    if (made.ways.size() > 1) return made;
    return fail(ErrorCode::kUnsupported, "there is one way alone to run it here");
  }

  Result<Json> tune(const core::Path& model) {
    COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(model, limits::kModelBytesMax));
    const core::Digest digest = crypto::sha256(bytes);
    COMMENSAL_ASSIGN(const Trial trial, start(model, present_of(digest)));
    const double all_s = static_cast<double>(trial.ways.size()) * options_.rounds * 2 *
                         (tuner::stretch_of(*probe_, trial.stretch_s) + 0.1);
    if (!options_.json) {
      fmt::print(stderr, "{}: {} ways, {:.0f} minutes at most\n", model.filename().string(),
                 trial.ways.size(), std::ceil(all_s / 60));
    }
    COMMENSAL_ASSIGN(const tuner::Tuning tuned, compare(trial));
    if (tuned.choice() != 0) {
      chosen_.add({host_, machine_, digest, trial.ways[tuned.choice()]});
      COMMENSAL_TRY(chosen_.save());
    }
    if (!options_.json) show(model, trial, tuned);
    return json_of(model, digest, trial, tuned);
  }

  /// What it costs is in the host's books, as what any guest costs.
  Result<tuner::Tuning> compare(const Trial& trial) {
    const double hour_s = governor::Hour::kSeconds;
    const governor::Carried books = memory_.recall({}, wall_s(), rules_);
    const double left_s = rules_.explore * rules_.promise * hour_s - books.hour.explored_s;
    if (left_s <= 0 || books.hour.lost_s >= rules_.promise * hour_s) {
      return fail(ErrorCode::kUnavailable, "this hour may cost the host no more: try again later");
    }
    tuner::TunerOptions tuner{.minute_max = rules_.minute_promise, .stretch_s = trial.stretch_s};
    tuner.rules = {.rounds_max = options_.rounds,
                   .budget_s = left_s,
                   .set_point = rules_.set_point,
                   .draw_max = rules_.draw_max};
    std::vector<tuner::Runner*> runners;
    for (const auto& one : trial.runners) runners.push_back(one.get());
    Progress progress("tune");
    const double begin_s = wall_s();
    core::Result<void> booked;
    tuner.progress = [&](const tuner::Tuning& so_far) {
      std::size_t done = 0;
      for (std::size_t way = 0; way < so_far.ways(); ++way) {
        done += static_cast<std::size_t>(so_far.figures(way).stretches);
      }
      progress.show(done, so_far.ways() * static_cast<std::size_t>(options_.rounds));
      // At once: it may be broken off any moment.
      governor::Carried now = books;
      now.hour.lost_s += so_far.lost_s();
      now.hour.explored_s += so_far.lost_s();
      now.hour_s = std::min(hour_s, books.hour_s + wall_s() - begin_s);
      memory_.note({}, now, wall_s());
      booked = memory_.save(memory_.text());
    };
    auto tuned = tuner::tune({clock_, rng_, *probe_, rest}, runners, tuner);
    COMMENSAL_TRY(booked);
    return tuned;
  }

  void show(const core::Path& model, const Trial& trial, const tuner::Tuning& tuned) const {
    fmt::print("{} beside {}\n{:<50}{:>9}{:>11}{:>27}{:>11}\n", model.filename().string(), host_,
               "  way", "stretches", "answers/s", "the host loses", "ms/answer");
    for (std::size_t i = 0; i < trial.ways.size(); ++i) {
      const tuner::WayFigures one = tuned.figures(i);
      const auto loss = fmt::format("{:.2f} % ({:.2f}..{:.2f})", 100 * one.loss.mean,
                                    100 * one.loss.low, 100 * one.loss.high);
      fmt::print("{} {:<48}{:>9}{:>11.2f}{:>27}{:>11.3f}\n", i == tuned.choice() ? "*" : " ",
                 tuner::words(trial.ways[i]), one.stretches, one.answers_per_s.mean, loss,
                 1000 * one.loss.mean / one.answers_per_s.mean);
    }
    const char* said = "no other way is shown to be better: it stays as it was";
    if (tuned.choice() != 0) said = "* is shown to be better, and kept for the next start";
    if (tuned.is_cut_short()) said = "the budget was spent before anything could be told";
    fmt::print("{}; stretches of {:.1f} s, which cost the host {:.1f} s of its work\n", said,
               trial.stretch_s, tuned.lost_s());
  }

  static Json json_of(const tuner::Interval& interval) {
    const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    return {
        {"mean", interval.mean}, {"low", finite(interval.low)}, {"high", finite(interval.high)}};
  }

  Json json_of(const core::Path& model, const core::Digest& digest, const Trial& trial,
               const tuner::Tuning& tuned) const {
    Json rows = Json::array();
    for (std::size_t i = 0; i < trial.ways.size(); ++i) {
      const tuner::WayFigures one = tuned.figures(i);
      rows.push_back({{"threads", trial.ways[i].threads},
                      {"at_once", trial.ways[i].at_once},
                      {"processors", trial.ways[i].processors},
                      {"stretches", one.stretches},
                      {"answers_per_s", json_of(one.answers_per_s)},
                      {"host_loss", json_of(one.loss)},
                      {"answers_per_s_borne", one.worth}});
    }
    return {{"file", model.string()},
            {"model", core::to_hex(digest)},
            {"host", host_},
            {"machine", machine_},
            {"chosen", tuned.choice()},
            {"is_cut_short", tuned.is_cut_short()},
            {"stretch_s", trial.stretch_s},
            {"host_lost_s", tuned.lost_s()},
            {"ways", std::move(rows)}};
  }

  const TuneOptions& options_;
  const governor::Rules rules_;
  const core::SystemClock clock_;
  core::SystemRng rng_;
  const std::string host_, machine_;
  std::unique_ptr<probe::Probe> probe_;
  tuner::Chosen chosen_;
  guest::Memory memory_;
};

}  // namespace

Result<Ways> tuned_ways(const std::string& host) {
  COMMENSAL_ASSIGN(const auto chosen, tuner::Chosen::read(ways_file()));
  return chosen.beside(host == "auto" ? "" : guest::lasting_name(host), guest::machine_name());
}

CLI::App* TuneOptions::declare(CLI::App& provider) {
  CLI::App* const made = provider.add_subcommand(
      "tune", "Try ways of running models beside a host, and keep what costs it least");
  folder = state_folder("provider").string();
  made->add_option("--host", host, "The probe, or auto, as the provider's")->required();
  made->add_option("models", models, "Files; default: those that the provider has cached");
  made->add_option("--data-dir", folder, "The provider's state")->capture_default_str();
  backend.declare(*made);
  const CLI::Range at_once_range(1, limits::kRequestsAtOnceMax);
  made->add_option("--batch-max", at_once, "As the provider has it now")
      ->check(at_once_range)
      ->capture_default_str();
  made->add_option("--batch-tried-max", at_once_max, "Requests together that are tried, at most")
      ->check(at_once_range)
      ->capture_default_str();
  made->add_option("--rounds", rounds, "Stretches of each way, at most")
      ->check(CLI::Range(6, 1000))
      ->capture_default_str();
  made->add_option("--stretch-seconds", stretch_s, "Of a stretch; longer where the model needs it")
      ->check(CLI::Range(0.1, kStretchMaxS))
      ->capture_default_str();
  made->add_option_function<std::string>(
          "--host-loss-max",
          [this](const std::string& text) {
            const auto read = share_from_text(text);
            if (!read) throw CLI::ValidationError("--host-loss-max", read.error().message);
            loss_max = *read;
          },
          "As the provider's: a third of that may be spent on trying (default: 1%)")
      ->type_name("SHARE");
  made->add_flag("--forget", forget, "Try nothing, and run all models as the provider is told to");
  made->add_flag("--json", json, "Print JSON");
  app = made;
  return made;
}

Result<int> TuneOptions::run() const {
  COMMENSAL_TRY(backend.check());
  const core::SystemClock clock;
  COMMENSAL_ASSIGN(auto chosen, tuner::Chosen::read(ways_file()));
  if (forget) {
    const std::string name = host == "auto" ? "" : guest::lasting_name(host);
    const std::size_t count = chosen.forget(name, guest::machine_name());
    COMMENSAL_TRY(chosen.save());
    fmt::print("{} forgotten\n", count);
    return 0;
  }
  COMMENSAL_ASSIGN(const auto lock, guest::Lock::try_take(guest::runtime_folder()));
  if (!lock) {
    return fail(ErrorCode::kFailedPrecondition,
                "guests run here, whose cost would be taken for this one's: end providers first");
  }
  const auto say_found = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  COMMENSAL_ASSIGN(const std::string spec, probe::choose(host, {clock}, say_found));
  COMMENSAL_ASSIGN(auto probe, open_host(spec, stretch_s, clock));
  COMMENSAL_ASSIGN(const auto files, models_of(*this));
  return TuneRun(*this, spec, std::move(probe), std::move(chosen)).run(files);
}

}  // namespace commensal::apps
