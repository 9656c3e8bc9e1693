// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/messages.hpp>
#include <deque>
#include <optional>

namespace commensal::guest {

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

/// What a guest has to do and has done so far.
struct Work {
  std::uint64_t waiting = 0;
  std::uint64_t served = 0;
  std::optional<double> earned{};  // in the ledger's unit; nothing where nobody pays, or not yet
};

/// What such figures say of a guest. Thread-safety: none.
class Facts {
 public:
  Report add(double now_s, const Work& work);

 private:
  std::optional<std::uint64_t> last_served_{};
  Pace served_{60};
  Pace earned_{3600};
};

}  // namespace commensal::guest
