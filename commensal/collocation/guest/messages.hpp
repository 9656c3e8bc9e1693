// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/collocation/governor/governor.hpp>
#include <commensal/collocation/guest/promise.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What guests and the governor of a machine say to each other: a JSON object a line
/// (a level every half second, a report every second). What is not known is null.
namespace commensal::guest {

inline constexpr double kWeightMax = 10'000;
inline constexpr int kThreadsMax = 4096;

/// A guest comes.
struct Join {
  int pid = 0;
  std::string name;
  double weight = 1;
  int threads = 1;
  std::optional<Promise> asked{};  // nothing: whatever is promised
};
/// ... says how it does: by itself and over its last minute.
struct Report {
  bool wants = false;        // it has something to do
  std::uint64_t served = 0;  // requests so far
  std::optional<double> served_per_s{};
  std::optional<double> earned_per_hour{};  // in the ledger's unit

  bool operator==(const Report&) const = default;
};
/// Anybody asks how things are.
struct Ask {};
using ToGovernor = std::variant<Join, Report, Ask>;

/// Errors: kInvalidArgument, one line.
core::Result<ToGovernor> parse_to_governor(const std::string& line);
std::string line_of(const Join& join);
std::string line_of(const Report& report);
std::string line_of(const Ask& ask);

/// The governor welcomes a guest, and tells it anew where another one asked for a stricter promise.
struct Joined {
  std::string host;   // the probe's spec
  Promise promise{};  // in force, and not to be loosened while there is a guest that heard it
};
/// ... says how fast it may run from now on.
struct Level {
  double level = 0;
};
using ToGuest = std::variant<Joined, Level>;
core::Result<ToGuest> parse_to_guest(const std::string& line);
std::string line_of(const Joined& joined);
std::string line_of(const Level& level);

struct GuestStatus {
  Join guest;
  Report report;
  double level = 0;
};
/// What is earned on a machine an hour, in one unit.
struct Incomes {
  std::optional<double> host{};            // alone, as its owner says
  std::optional<double> host_loses{};      // by guests at full speed: believed, and a deviation
  std::optional<double> guests{};          // altogether, over their last hour
  std::optional<double> guests_at_full{};  // ... were they at full speed
};
/// All that there is to see.
struct Status {
  std::string host;
  std::string unit;    // of the host's work
  std::string signal;  // why there is none; empty while there is one
  Promise promise{};   // in force
  double confidence = 0;
  governor::Status governor;
  Incomes incomes{};
  bool has_energy = false;           // the machine counts it
  std::optional<double> energy_j{};  // of all packages since the governor began
  std::optional<double> power_w{};
  std::vector<GuestStatus> guests;
};
/// {"status": {...}}
std::string line_of(const Status& status);

}  // namespace commensal::guest
