// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <deque>
#include <optional>

namespace commensal::apps {

/// How fast something grows, over the newest `window_s` seconds or as long as it is known.
class Pace {
 public:
  explicit Pace(double window_s) : window_s_(window_s) {}
  void add(double now_s, double value);
  /// Nothing within the first second.
  std::optional<double> per_s() const;

 private:
  struct Point {
    double at_s;
    double value;
  };
  double window_s_;
  std::deque<Point> points_;  // about sixty
  Point last_{};
};

/// What a provider's own state says of it as a guest.
class GuestFacts {
 public:
  guest::Report add(double now_s, const provider::ProviderStatus& status);

 private:
  Pace served_{60};
  Pace earned_{3600};
};

}  // namespace commensal::apps
