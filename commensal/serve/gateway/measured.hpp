// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/health.hpp>
#include <map>
#include <optional>
#include <string>

namespace commensal::gateway {

/// The way to one provider, as a gateway sees it: what it signed for comes back after a round trip,
/// and what is large takes longer by its bytes. Fades as Speeds do. A value; time comes from
/// outside, in monotonic milliseconds.
class Link {
 public:
  /// A delivery of so many bytes came so long after its countersignature was sent.
  void on_delivery(double took_ms, std::uint64_t bytes, std::int64_t now_ms);
  /// How long so many bytes are on the way, there and back; 0: not known, or too little to matter.
  double ms_for(std::uint64_t bytes, std::int64_t now_ms) const;
  /// The last large deliveries' pace; 0: there was none.
  double bytes_per_ms() const { return bytes_per_ms_; }
  /// How long it may take to fetch a model of so many bytes.
  double fetch_ms(double bytes) const {
    constexpr double kBytesPerMs = 4'096;  // where nobody knows
    return bytes / (bytes_per_ms_ > 0 ? bytes_per_ms_ : kBytesPerMs);
  }

 private:
  double round_trip_ms_ = -1;  // negative: not known
  double bytes_per_ms_ = 0;
  std::int64_t last_ms_ = 0;
};

/// How long one provider's jobs of each model take, from the offer to the commitment, without the
/// way: of limits::kSpeedsMax models, those measured last. It takes a few answers to say anything,
/// and says less as time goes by: who is not asked is not measured, and who was slow once is not
/// slow for ever. A value; time comes from outside, in monotonic milliseconds.
class Speeds {
 public:
  struct Known {
    double ms = 0;      // that a job would take
    double weight = 0;  // from 1, if it was measured now, to 0; by limits::kSpeedFadesMs to 1/e
  };
  /// One job of `model` with so much input took so long behind `ahead` others.
  void on_answer(const std::string& model, double took_ms, std::uint32_t ahead, std::uint64_t bytes,
                 std::int64_t now_ms);
  /// Of one with so much input.
  Known known(const std::string& model, std::uint64_t bytes, std::int64_t now_ms) const;
  std::size_t size() const { return speeds_.size(); }
  struct Measured {
    double ms = 0;
    std::uint32_t answers = 0;
  };
  /// For people: of one job of usual input, and by how many. None: it was not measured.
  std::optional<Measured> measured(const std::string& model) const;

 private:
  struct Speed {
    UsualTime time;
    std::uint32_t answers = 0;
    std::int64_t last_ms = 0;
  };
  std::map<std::string, Speed> speeds_;
};

}  // namespace commensal::gateway
