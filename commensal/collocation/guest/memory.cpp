// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/memory.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <nlohmann/json.hpp>

namespace commensal::guest {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr std::size_t kReadablePart = 80;  // of a file's name
constexpr double kHour = governor::Hour::kSeconds;

/// What a number of the file may be: what is written is bounded by what is read.
struct Bounds {
  const char* key;
  double least, most;
};
constexpr Bounds kAt{"at_s", 0, 1e12}, kSoFar{"so_far_s", 0, kHour}, kLost{"lost_s", -kHour, kHour},
    kVariance{"variance", 0, 1e12}, kRun{"run_s", 0, kHour}, kExplored{"explored_s", 0, kHour},
    kMinuteRun{"minute_run_s", 0, governor::Minute::kSeconds}, kRest{"rest_s", 0, kHour},
    kBackOff{"back_off_s", 0, kHour}, kCost{"cost", -10, 10}, kCostSd{"cost_sd", 0, 10},
    kLag{"lag", -10, 10}, kLagSd{"lag_sd", 0, 10}, kCorrelation{"correlation", -1, 1},
    kNoise{"noise", 0, 1e6}, kTried{"level_tried", 1e-9, 1};

void write(Json& to, const Bounds& bounds, double value) {
  to[bounds.key] =
      std::isfinite(value) ? std::clamp(value, bounds.least, bounds.most) : bounds.most;
}

/// FNV-1a, 64 bits: only names are told apart by it.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string file_name_of(std::string_view about) {
  std::string made(about.substr(0, kReadablePart));
  for (char& c : made) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain) c = '_';
  }
  return fmt::format("{}-{:016x}.json", made, hash_of(about));
}

/// What is read of a field; `is_sound` afterwards if all were numbers within their bounds.
struct Reader {
  const Json& from;
  bool is_sound = true;

  /// Of files that are older than the field: `absent`.
  double number(const Bounds& bounds, std::optional<double> absent = {}) {
    const auto found = from.find(bounds.key);
    if (found == from.end() && absent) return *absent;
    const double value = found != from.end() && found->is_number() ? found->get<double>() : 1e300;
    if (value >= bounds.least && value <= bounds.most) return value;
    is_sound = false;
    return 0;
  }
};

Json json_of(const governor::Learnt& learnt) {
  Json made = Json::object();
  write(made, kCost, learnt.cost);
  write(made, kCostSd, learnt.cost_sd);
  write(made, kLag, learnt.lag);
  write(made, kLagSd, learnt.lag_sd);
  write(made, kCorrelation, learnt.correlation);
  write(made, kNoise, learnt.noise);
  write(made, kTried, learnt.level_tried);
  return made;
}

}  // namespace

std::string lasting_name(const std::string& spec, const core::Path& proc) {
  const auto parsed = probe::parse_spec(spec);
  if (!parsed) return spec;
  if (parsed->kind == "process") {
    const auto comm =
        probe::read_small_file(proc / parsed->place / "comm", limits::kProcessStatBytesMax);
    return "process:" + (comm ? comm->substr(0, comm->find('\n')) : std::string("?"));
  }
  std::string made = probe::without_token(spec);
  if (parsed->process) made.resize(made.rfind('@'));
  return made;
}

std::string machine_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string about(const std::string& spec, const probe::Traits& traits) {
  constexpr std::array kDevices = {"", " on processors", " on a gpu"};
  return fmt::format("{}{} of {}", lasting_name(spec),
                     kDevices[static_cast<std::size_t>(traits.device)], machine_name());
}

Memory::Memory(core::Path folder, std::string about)
    : about_(probe::printable(about)),
      path_(folder.empty() ? core::Path() : folder / file_name_of(about_)) {}

Result<void> Memory::read() {
  if (path_.empty()) return {};
  const auto bytes = core::read_file(path_, limits::kGovernorMemoryBytesMax);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return {};
  if (bytes && parse(core::as_text(*bytes))) return {};
  at_s_ = 0;
  hour_ = {};
  known_.clear();
  return core::fail(ErrorCode::kDataLoss,
                    "{} is damaged or of another host: what guests cost is learnt anew",
                    path_.string());
}

Result<void> Memory::parse(std::string_view text) {
  const auto refuse = [] { return core::fail(ErrorCode::kDataLoss, "it is no such file"); };
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object() || all.value("about", Json()) != about_) return refuse();
  const Json hour = all.value("hour", Json()), guests = all.value("guests", Json());
  if (!hour.is_object() || !guests.is_array() || guests.size() > kGuestsMax) return refuse();
  Reader reader{hour};
  at_s_ = reader.number(kAt);
  hour_.hour_s = reader.number(kSoFar);
  hour_.hour = {reader.number(kLost), reader.number(kVariance), reader.number(kRun),
                reader.number(kExplored)};
  hour_.minute_run_s = reader.number(kMinuteRun, 0);
  hour_.rest_s = reader.number(kRest, 0);
  hour_.back_off_s = reader.number(kBackOff, 0);
  bool is_sound = reader.is_sound;
  for (const Json& one : guests) {
    if (!one.is_object() || !one.value("guest", Json()).is_string()) return refuse();
    Reader of{one};
    Known known{one["guest"], of.number(kAt), {}};
    known.learnt = {of.number(kCost),  of.number(kCostSd),         of.number(kLag),
                    of.number(kLagSd), of.number(kCorrelation, 0), of.number(kNoise),
                    of.number(kTried)};
    is_sound = is_sound && of.is_sound;
    known_.push_back(std::move(known));
  }
  return is_sound ? Result<void>() : refuse();
}

governor::Carried Memory::recall(std::string_view guest, double now_s,
                                 const governor::Rules& rules) const {
  governor::Carried made = governor::later(hour_, std::max(0.0, now_s - at_s_), rules);
  const auto found = std::ranges::find(known_, probe::printable(guest), &Known::guest);
  if (found == known_.end()) return made;
  const double age_s = std::max(0.0, now_s - found->at_s);
  made.learnt = governor::later({.learnt = found->learnt}, age_s, rules).learnt;
  return made;
}

void Memory::note(std::string_view guest, const governor::Carried& carried, double now_s) {
  at_s_ = now_s;
  hour_ = carried;
  hour_.learnt.reset();
  hour_ = governor::later(hour_, 0, {});  // one that is over is empty
  if (carried.learnt) {
    const std::string name = probe::printable(guest);
    std::erase_if(known_, [&](const Known& one) { return one.guest == name; });
    if (known_.size() >= kGuestsMax) known_.erase(known_.begin());
    known_.push_back({name, now_s, *carried.learnt});
  }
}

std::string Memory::text() const {
  Json guests = Json::array();
  for (const Known& one : known_) {
    Json row = {{"guest", one.guest}};
    write(row, kAt, one.at_s);
    row.update(json_of(one.learnt));
    guests.push_back(std::move(row));
  }
  Json hour = Json::object();
  write(hour, kAt, at_s_);
  write(hour, kSoFar, hour_.hour_s);
  write(hour, kLost, hour_.hour.lost_s);
  write(hour, kVariance, hour_.hour.variance);
  write(hour, kRun, hour_.hour.run_s);
  write(hour, kExplored, hour_.hour.explored_s);
  write(hour, kMinuteRun, hour_.minute_run_s);
  write(hour, kRest, hour_.rest_s);
  write(hour, kBackOff, hour_.back_off_s);
  const Json all = {{"about", about_}, {"hour", hour}, {"guests", guests}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> Memory::save(const std::string& text) const {
  if (path_.empty()) return {};
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  return core::write_file_atomically(path_, core::as_bytes(text), 0600);
}

}  // namespace commensal::guest
