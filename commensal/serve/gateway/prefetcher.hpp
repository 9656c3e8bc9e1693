// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <map>
#include <string>
#include <utility>

namespace commensal::gateway {

/// Requests a second, of late: what lies back counts less, to 1/e after so long. A value; time
/// comes from outside, in monotonic milliseconds.
class DemandRate {
 public:
  static constexpr double kWindowMs = 5'000;

  void on_request(std::int64_t now_ms) {
    count_ = count_at(now_ms) + 1;
    last_ms_ = now_ms;
  }
  std::int64_t last_ms() const { return last_ms_; }
  double per_s(std::int64_t now_ms) const { return 1'000 * count_at(now_ms) / kWindowMs; }

 private:
  double count_at(std::int64_t now_ms) const {
    return count_ * std::exp(static_cast<double>(last_ms_ - now_ms) / kWindowMs);
  }
  double count_ = 0;
  std::int64_t last_ms_ = 0;
};

/// At how many providers a model should be that is asked for so often, of which a request takes so
/// long (0: not known): each of them is busy half of the time at most, and one of them may leave.
std::size_t providers_wanted(double per_s, double usual_ms);

/// Has providers fetch what is asked for often before they are asked for it, where too few have it:
/// who has answered before, is there and may run it, says that it has room (rpc::Load), fetches
/// nothing else just now, and was not told so of this model within limits::kPrefetchAgainMs; it
/// lets go of nothing for that. Models beyond limits::kPrefetchModelsMax that are asked for less
/// are not looked at. Thread-safety: the loop's thread.
class Prefetcher {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    Roster& roster;
    const Lottery& lottery;
  };
  explicit Prefetcher(const Dependencies& deps) : deps_(deps) {}

  /// One more request for the model, of which one usually takes so long; 0: not known.
  void on_request(const ModelVersion& model, double usual_ms);
  std::size_t under_way() const { return under_way_.size(); }

 private:
  struct Wanted {
    ModelVersion model;
    DemandRate rate;
    double usual_ms = 0;
    std::int64_t not_before_ms = 0;
  };
  struct Fetch {
    core::Digest model{};
    Roster::StreamId stream = 0;
    std::int64_t until_ms = 0;
  };
  void make_room();
  void look_later();
  void look();
  void end_fetches();
  std::size_t having(const core::Digest& model) const;
  void spread(Wanted& wanted);
  bool may_fetch(const Candidate& one, const ModelVersion& model) const;
  void tell(const Candidate& one, const ModelVersion& model);
  std::int64_t now_ms() const { return deps_.clock.monotonic_ns() / 1'000'000; }

  Dependencies deps_;
  std::map<std::string, Wanted> wanted_;        // by name and version
  std::map<crypto::Address, Fetch> under_way_;  // one of each provider
  using Told = std::pair<crypto::Address, core::Digest>;
  std::map<Told, std::int64_t> told_;  // when
  bool looks_ = false;                 // look() is due
};

}  // namespace commensal::gateway
