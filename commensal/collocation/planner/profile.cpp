// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/base/core/limits_planner.hpp>
#include <commensal/collocation/planner/profile.hpp>
#include <functional>
#include <set>

namespace commensal::planner {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr double kGibMax = 1 << 16;
constexpr double kRateMax = 1e15;
constexpr double kWeightMax = 1000;

/// One field: where it goes and what it may be.
struct Field {
  const char* name;
  bool must = false;
  std::function<Result<void>(const std::string&, Profile&)> read;
};

Result<void> to_number(const std::string& text, double least, double most, double& into) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && end == text.c_str() + text.size() && std::isfinite(value);
  if (!is_number || value < least || value > most) {
    return fail(ErrorCode::kInvalidArgument, "'{}', expected a number of {} to {}", text, least,
                most);
  }
  into = value;
  return {};
}

template <class Into>
Field number(const char* name, bool must, double least, double most, Into into) {
  return {name, must, [=](const std::string& text, Profile& profile) -> Result<void> {
            double value = 0;
            COMMENSAL_TRY(to_number(text, least, most, value));
            into(profile) = value;
            return {};
          }};
}

Field count(const char* name, int Kernel::*member) {
  return {name, false, [=](const std::string& text, Profile& profile) -> Result<void> {
            double value = 0;
            COMMENSAL_TRY(to_number(text, 0, 1 << 24, value));
            if (value != std::floor(value)) {
              return fail(ErrorCode::kInvalidArgument, "'{}', expected a whole number", text);
            }
            if (!profile.kernel) profile.kernel.emplace();
            *profile.kernel.*member = static_cast<int>(value);
            return {};
          }};
}

Field words(const char* name, bool must, std::string Profile::*member) {
  return {name, must, [=](const std::string& text, Profile& profile) -> Result<void> {
            const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' '; });
            if (text.empty() || text.size() > limits::kProfileTextBytesMax || !is_plain) {
              return fail(ErrorCode::kInvalidArgument, "expected a text of 1 to {} bytes",
                          limits::kProfileTextBytesMax);
            }
            profile.*member = text;
            return {};
          }};
}

Result<void> read_truth(const std::string& text, Profile& profile) {
  if (text != "true" && text != "false") {
    return fail(ErrorCode::kInvalidArgument, "'{}', expected true or false", text);
  }
  profile.movable = text == "true";
  return {};
}

const auto& fields() {
  static const std::array kFields = {
      words("name", true, &Profile::name),
      words("device", true, &Profile::device),
      number(
          "busy_share", false, 0, 1, [](Profile & p) -> auto& { return p.busy_share; }),
      number(
          "compute_share", true, 0, 1, [](Profile & p) -> auto& { return p.compute_share; }),
      number(
          "bandwidth_share", true, 0, 1, [](Profile & p) -> auto& { return p.bandwidth_share; }),
      number(
          "memory_gib", true, 0, kGibMax, [](Profile & p) -> auto& { return p.memory_gib; }),
      number(
          "device_memory_gib", false, 0, kGibMax,
          [](Profile & p) -> auto& { return p.device_memory_gib; }),
      number(
          "rate", false, 0, kRateMax, [](Profile & p) -> auto& { return p.rate; }),
      words("unit", false, &Profile::unit),
      number(
          "weight", false, 0.001, kWeightMax, [](Profile & p) -> auto& { return p.weight; }),
      words("trust", false, &Profile::trust),
      Field{"movable", false, read_truth},
      number(
          "occupancy", false, 0, 1, [](Profile & p) -> auto& { return p.occupancy; }),
      count("threads_per_block", &Kernel::threads),
      count("registers_per_thread", &Kernel::registers_per_thread),
      count("shared_bytes_per_block", &Kernel::shared_bytes),
  };
  return kFields;
}

/// What fields say of each other.
Result<void> check(const Profile& profile) {
  const Device* device = find_device(profile.device);
  if (device == nullptr && profile.device != "cpu") {
    return fail(ErrorCode::kInvalidArgument,
                "device: '{}', expected cpu or one that 'commensal profile --list' prints",
                profile.device);
  }
  for (const auto& [name, share] : {std::pair("compute_share", profile.compute_share),
                                    {"bandwidth_share", profile.bandwidth_share}}) {
    if (share <= profile.busy_share) continue;
    return fail(ErrorCode::kInvalidArgument, "{}: {}, expected at most busy_share ({})", name,
                share, profile.busy_share);
  }
  if (profile.device == "cpu" && !profile.device_memory_gib) {
    return fail(ErrorCode::kInvalidArgument, "device_memory_gib: expected where device is cpu");
  }
  if (!profile.kernel) return {};
  if (device == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "threads_per_block: a cpu runs no kernels of CUDA");
  }
  const auto fits = occupancy_of(*profile.kernel, device->architecture);
  if (!fits) return core::in_context("kernel", fits.error());
  return {};
}

Result<Profile> read_map(const YAML::Node& map) {
  if (!map.IsMap()) return fail(ErrorCode::kInvalidArgument, "expected a map of fields");
  Profile profile;
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) {
      return fail(ErrorCode::kInvalidArgument, "a field's name is no text");
    }
    const std::string name = entry.first.Scalar();
    const auto field = std::ranges::find(fields(), std::string_view(name),
                                         [](const Field& one) { return one.name; });
    if (field == fields().end()) {
      return fail(ErrorCode::kInvalidArgument, "{}: there is no such field",
                  name.substr(0, limits::kProfileTextBytesMax));
    }
    if (!seen.insert(name).second) {
      return fail(ErrorCode::kInvalidArgument, "{}: it is there twice", name);
    }
    if (!entry.second.IsScalar()) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected one value", name);
    }
    if (const auto read = field->read(entry.second.Scalar(), profile); !read) {
      return core::in_context(name, read.error());
    }
  }
  for (const Field& field : fields()) {
    if (!field.must || seen.contains(field.name)) continue;
    return fail(ErrorCode::kInvalidArgument, "{}: expected, and not there", field.name);
  }
  COMMENSAL_TRY(check(profile));
  return profile;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

Result<Profile> parse_profile(std::string_view yaml) {
  if (yaml.size() > limits::kProfileBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "more than {} bytes", limits::kProfileBytesMax);
  }
  // The parser refuses what nests deeply by itself, and aliases are references, not copies.
  try {
    return read_map(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalidArgument, "line {}: {}", error.mark.line + 1,
                one_line(error.msg));
  }
}

Result<Profile> read_profile(const core::Path& path) {
  COMMENSAL_ASSIGN(const core::Bytes bytes,
                   core::read_file(path, static_cast<std::int64_t>(limits::kProfileBytesMax)));
  auto profile = parse_profile(core::as_text(bytes));
  if (!profile) return core::in_context(path.string(), profile.error());
  return profile;
}

std::string profile_yaml(const Profile& profile, std::string_view comment) {
  YAML::Emitter out;
  const auto put = [&](const char* name, const auto& value) {
    out << YAML::Key << name << YAML::Value << value;
  };
  out.SetDoublePrecision(6);
  out << YAML::BeginMap;
  put("name", profile.name);
  put("device", profile.device);
  put("busy_share", profile.busy_share);
  put("compute_share", profile.compute_share);
  put("bandwidth_share", profile.bandwidth_share);
  put("memory_gib", profile.memory_gib);
  if (profile.device_memory_gib) put("device_memory_gib", *profile.device_memory_gib);
  if (profile.rate) put("rate", *profile.rate);
  if (!profile.unit.empty()) put("unit", profile.unit);
  put("weight", profile.weight);
  if (!profile.trust.empty()) put("trust", profile.trust);
  put("movable", profile.movable);
  if (profile.occupancy) put("occupancy", *profile.occupancy);
  if (profile.kernel) {
    put("threads_per_block", profile.kernel->threads);
    put("registers_per_thread", profile.kernel->registers_per_thread);
    put("shared_bytes_per_block", profile.kernel->shared_bytes);
  }
  out << YAML::EndMap;
  std::string text;
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    text += "# " + std::string(comment.substr(0, end)) + "\n";
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
  return text + out.c_str() + "\n";
}

}  // namespace commensal::planner
