// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace commensal::gateway {

/// The jobs of streams that pause, one by one, to be looked at once each: streams take turns, so
/// that who pauses again and again, or has much in hand, holds up nobody else's. Thread-safety:
/// none.
class Leaving {
 public:
  using StreamId = std::uint64_t;
  using JobsOf = std::function<std::vector<core::Digest>(StreamId)>;
  struct Turn {
    StreamId stream = 0;
    core::Digest job;
    friend bool operator==(const Turn&, const Turn&) = default;
  };
  /// @param jobs_of all that are to be looked at of a stream; asked for when its turn comes
  explicit Leaving(JobsOf jobs_of) : jobs_of_(std::move(jobs_of)) {}

  bool empty() const { return first_.empty() && streams_.empty(); }
  /// All jobs of the stream; where some still wait, once more after these.
  void add(StreamId stream);
  /// This one before all that were not added so.
  void add_first(const Turn& turn) { first_.push_back(turn); }
  /// The next; none: whose turn it was has no more.
  std::optional<Turn> next();

 private:
  struct Waiting {
    StreamId stream = 0;
    std::vector<core::Digest> jobs;
    bool is_due = false;  // jobs_of() is to be asked once these are through
  };

  JobsOf jobs_of_;
  std::deque<Turn> first_;
  std::deque<Waiting> streams_;
};

}  // namespace commensal::gateway
