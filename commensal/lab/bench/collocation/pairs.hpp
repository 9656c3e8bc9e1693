// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What runs beside what, by which rule, and in which order.
namespace commensal::lab::bench::collocation {

/// Where hosts and guests come from.
struct Place {
  core::Path hosts_folder;   // of the programs of hosts/
  core::Path models_folder;  // of NETWORK.onnx
};

struct Pair {
  std::string_view name;
  std::string_view host;                    // program in hosts/
  std::vector<std::string_view> arguments;  // of it
  std::string_view metric;   // of its work so far, as the probe for Prometheus names it
  std::string_view network;  // file without .onnx
  /// A server that waits for requests: it is started anew with the same requests in each slice of a
  /// block, and its 99th percentile counts too.
  bool is_server = false;
};
std::span<const Pair> collocation_pairs();

/// How the guest's threads stand in the system's queue.
enum class Rank { kPlain, kNice, kIdle };

enum class Law { kNone, kFull, kSuppressor, kTgs, kGovernor };

struct Arm {
  std::string_view name;
  Rank rank;
  Law law;
};
/// The control first, ours last.
std::span<const Arm> collocation_arms();

inline constexpr std::string_view kControlArm = "control";
inline constexpr std::string_view kOurArm = "commensal";

/// One slice to come.
struct Step {
  const Arm* arm = nullptr;
  int block = 0;
};

/// The order of a pair's slices: `blocks` couples of control and ours, each in random order, and
/// `others` slices of each of the other arms, shuffled among the couples. So each of ours has a
/// control beside it, and whatever drifts meets all arms alike. Of the arms in `arms`.
std::vector<Step> make_order(const std::vector<const Arm*>& arms, int blocks, int others,
                             core::Rng& rng);

}  // namespace commensal::lab::bench::collocation
