// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/common/command.hpp>
#include <cmath>
#include <commensal/base/core/clock.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

struct ProbeArguments {
  std::string spec;
  double seconds = 10;
  double every = 1;
  bool json = false;
};

constexpr std::string_view name_of(probe::Quantity quantity) {
  return quantity == probe::Quantity::kRate ? "rate" : "work";
}

Json json_of(const std::string& spec, const probe::Traits& traits) {
  return {{"probe", probe::without_token(spec)},
          {"unit", traits.unit},
          {"quantity", name_of(traits.quantity)},
          {"resolution_s", traits.resolution_s},
          {"averaging_s", traits.averaging_s},
          {"stale_after_s", traits.stale_after_s},
          {"signals", traits.signals},
          {"samples", Json::array()}};
}

Json json_of(const probe::Sample& sample, double at_s,
             const std::optional<probe::RateSample>& reading) {
  Json json = {{"at_s", at_s},
               {"value", sample.state == probe::State::kInvalid ? Json() : Json(sample.value)},
               {"state", probe::name_of(sample.state)},
               {"rate", reading ? Json(reading->rate) : Json()}};
  if (reading) {
    json["by"] = probe::name_of(reading->signal);
    json["rate_by_clock"] = reading->rate_by_clock;
    json["given"] = reading->given;
  }
  if (!sample.why.empty()) json["why"] = sample.why;
  if (!sample.by_clock.empty()) json["why_by_clock"] = sample.by_clock;
  return json;
}

void print_head(const std::string& spec, const probe::Traits& traits) {
  const bool is_rate = traits.quantity == probe::Quantity::kRate;
  fmt::print("{}: {}, {}, renewed every {} s", probe::without_token(spec), traits.unit,
             is_rate ? "a rate" : "work so far", traits.resolution_s);
  if (traits.averaging_s > 0) fmt::print(", a mean over {} s", traits.averaging_s);
  fmt::print(", stale after {} s; signals: {}\n{:>10} {:>16} {:>16}  state\n", traits.stale_after_s,
             traits.signals, "seconds", name_of(traits.quantity), "per second");
}

void print_line(const probe::Sample& sample, double at_s,
                const std::optional<probe::RateSample>& reading) {
  const bool has_value = sample.state != probe::State::kInvalid;
  fmt::print("{:>10.2f} {:>16} {:>16}  {}{}{}\n", at_s,
             has_value ? fmt::format("{:.8g}", sample.value) : "-",
             reading ? fmt::format("{:.6g}", reading->rate) : "-", probe::name_of(sample.state),
             sample.why.empty() ? "" : ": ", sample.why);
  (void)std::fflush(stdout);
}

Result<int> run(const ProbeArguments& options) {
  const core::SystemClock clock;
  const probe::Dependencies deps{clock};
  const auto say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  COMMENSAL_ASSIGN(const std::string spec, probe::choose(options.spec, deps, say));
  COMMENSAL_ASSIGN(const auto host, probe::open(spec, deps));
  const probe::Traits& traits = host->traits();
  probe::Meter meter(traits, std::max(options.every, traits.resolution_s));
  Json json = json_of(spec, traits);
  if (!options.json) print_head(spec, traits);
  const std::int64_t began_ns = clock.monotonic_ns();
  const auto every_ns = static_cast<std::int64_t>(options.every * 1e9);
  const auto last = static_cast<std::int64_t>(std::floor(options.seconds / options.every));
  bool was_fresh = false;
  std::string by_clock;  // why, as was said
  for (std::int64_t i = 0; i <= last; ++i) {
    const std::int64_t wait_ns = began_ns + i * every_ns - clock.monotonic_ns();
    if (wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
    const probe::Sample sample = host->sample();
    auto reading = meter.add(sample);
    if (!reading && sample.is_fresh() && traits.quantity == probe::Quantity::kRate) {
      // What the program says, until there is a mean by the time that it needed.
      reading = {.rate = sample.value, .rate_by_clock = sample.value};
    }
    const double at_s = static_cast<double>(sample.at_ns - began_ns) * 1e-9;
    was_fresh = was_fresh || sample.is_fresh();
    if (!sample.by_clock.empty() && sample.by_clock != by_clock) {
      by_clock = sample.by_clock;
      say(by_clock);
    }
    if (options.json) {
      json["samples"].push_back(json_of(sample, at_s, reading));
    } else {
      print_line(sample, at_s, reading);
    }
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
  return was_fresh ? 0 : 1;
}

}  // namespace

Run declare_probe(CLI::App& app) {
  auto options = std::make_shared<ProbeArguments>();
  app.add_option("probe", options->spec,
                 "KIND:WHERE, or auto: xmrig, lolminer, trex, nbminer, gminer or "
                 "excavator:http://HOST:PORT, excavator:tcp://HOST:PORT, "
                 "prometheus:http://HOST:PORT/metrics#METRIC, log:FILE#REGEX, counter:FILE, "
                 "process:PID. @PID at the end, or @listener for who listens at HOST:PORT of "
                 "this machine, reads beside it the time that the host's process needed; a "
                 "listener is found again after a restart, a PID is not")
      ->required();
  app.add_option("--seconds", options->seconds, "How long to look")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  app.add_option("--every", options->every, "Seconds between looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON, at the end");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
