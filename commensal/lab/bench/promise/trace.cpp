// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <commensal/lab/bench/promise/trace.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace commensal::lab::bench::promise {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr double kLookEveryMinS = 0.25, kLookEveryMaxS = 1;  // as the product's own

Result<probe::RateSample> sample_of(const Json& line) {
  const auto number = [&line](const char* name) {
    const auto found = line.find(name);
    return found != line.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  probe::RateSample sample;
  sample.at_s = number("at_s");
  sample.over_s = number("over_s");
  sample.rate = number("rate");
  sample.is_throttled = line.is_object() && line.value("throttled", false);
  if (std::isfinite(sample.at_s) && sample.over_s > 0 && sample.rate >= 0) return sample;
  return fail(ErrorCode::kInvalidArgument,
              R"(expected {{"at_s": ..., "over_s": ..., "rate": ...}})");
}

}  // namespace

std::string to_text(const Trace& trace) {
  std::string text =
      Json{{"host", trace.host}, {"unit", trace.unit}, {"averaging_s", trace.averaging_s}}.dump() +
      "\n";
  for (const probe::RateSample& sample : trace.samples) {
    Json line = {{"at_s", sample.at_s}, {"over_s", sample.over_s}, {"rate", sample.rate}};
    if (sample.is_throttled) line["throttled"] = true;
    text += line.dump() + "\n";
  }
  return text;
}

Result<Trace> read_trace(const core::Path& path) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(path, limits::kTraceBytesMax));
  std::istringstream text{std::string(core::as_text(bytes))};
  Trace trace;
  std::string line;
  for (long number = 1; std::getline(text, line); ++number) {
    const Json json = Json::parse(line, nullptr, false);
    if (number == 1 && json.is_object() && json.contains("host")) {
      trace.host = json.value("host", "");
      trace.unit = json.value("unit", "");
      trace.averaging_s = json.value("averaging_s", 0.0);
      continue;
    }
    const auto sample = json.is_object() ? sample_of(json) : sample_of(Json::object());
    const bool is_later =
        sample && (trace.samples.empty() || sample->at_s > trace.samples.back().at_s);
    if (!is_later) {
      return fail(ErrorCode::kInvalidArgument, "'{}' line {}: {}", path.string(), number,
                  sample ? "it is not later than the one before" : sample.error().message);
    }
    trace.samples.push_back(*sample);
  }
  if (trace.samples.size() >= 2) return trace;
  return fail(ErrorCode::kInvalidArgument, "'{}' has {} samples, expected two at least",
              path.string(), trace.samples.size());
}

Result<Trace> record(const std::string& spec, const core::Clock& clock, double seconds) {
  COMMENSAL_ASSIGN(const auto probe, probe::open(spec, {.clock = clock}));
  const probe::Traits& traits = probe->traits();
  const double every_s = std::clamp(traits.resolution_s, kLookEveryMinS, kLookEveryMaxS);
  probe::Meter meter(traits, kLookEveryMinS / 2);
  Trace trace{.host = probe::without_token(spec),
              .unit = std::string(traits.unit),
              .averaging_s = traits.averaging_s,
              .samples = {}};
  std::string why = "it said nothing";
  const std::int64_t begun_ns = clock.monotonic_ns();
  const double begun_s = static_cast<double>(begun_ns) * 1e-9;
  while (static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-9 < seconds) {
    const probe::Sample sample = probe->sample();
    if (!sample.is_fresh()) why = sample.why;
    if (auto rate = meter.add(sample)) {
      rate->at_s -= begun_s;
      trace.samples.push_back(*rate);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(every_s));
  }
  if (trace.samples.size() >= 2) return trace;
  return fail(ErrorCode::kUnavailable, "{}: {}", probe::without_token(spec), why);
}

SimulatedHost host_of(const Trace& trace, double cost) {
  SimulatedHost host;
  host.noise = 0;  // the trace has its own
  host.slope = constant(cost);
  host.averaging_s = trace.averaging_s;
  const auto samples = std::make_shared<const std::vector<probe::RateSample>>(trace.samples);
  const double first_s = samples->front().at_s;
  const double length_s = samples->back().at_s - first_s;
  host.alone = [=](double now_s) {
    const double at_s = first_s + std::fmod(now_s, length_s);
    const auto found = std::ranges::lower_bound(*samples, at_s, {}, &probe::RateSample::at_s);
    return std::max(found->rate, 1e-9);
  };
  return host;
}

}  // namespace commensal::lab::bench::promise
