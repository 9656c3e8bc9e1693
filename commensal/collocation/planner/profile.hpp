// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/planner/occupancy.hpp>
#include <optional>
#include <string>

namespace commensal::planner {

/// What a program asks of a device when it runs there alone. Shares are means over time, of what
/// the whole device can do.
struct Profile {
  std::string name;
  std::string device;          // one of devices(), or "cpu"
  double busy_share = 1;       // of the time, with anything of it running there
  double compute_share = 0;    // of arithmetic throughput; at most busy_share
  double bandwidth_share = 0;  // of memory bandwidth; at most busy_share
  double memory_gib = 0;
  std::optional<double> device_memory_gib{};  // of the machine; needed for "cpu" only
  std::optional<double> rate{};               // work per second, alone
  std::string unit;                           // of work
  double weight = 1;                          // what its work is worth beside others'
  std::string trust;     // programs of one domain may share a fault domain; empty: nobody's
  bool movable = false;  // it may be stopped once, so that the device is configured anew
  std::optional<double> occupancy{};  // of warps: said, not used by the model
  std::optional<Kernel> kernel{};     // its main one: said, checked against the device
};

/// From YAML, of at most kProfileBytesMax bytes: a map of the fields of Profile by their names, of
/// which name, device, compute_share, bandwidth_share and memory_gib must be there. Unknown fields
/// are refused. Errors: kInvalidArgument, one line that names the field.
core::Result<Profile> parse_profile(std::string_view yaml);
/// Errors besides: those of core::read_file. The path is in front of the message.
core::Result<Profile> read_profile(const core::Path& path);
/// What parse_profile reads back. `comment`: lines in front, each of which gets its #.
std::string profile_yaml(const Profile& profile, std::string_view comment);

}  // namespace commensal::planner
