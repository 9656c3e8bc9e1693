// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/governor.hpp>
#include <optional>
#include <string>

namespace commensal::keeper {

/// Whether guests that stand still should say so. The stretches without them by which the governor
/// measures are not worth a word where they are short: who waits for an answer would hardly know.
/// Thread-safety: none.
class Standstill {
 public:
  /// Why they stand still; "" while they run, or have only just stopped and may go on any moment.
  /// `level` is theirs; `status` that of their governor, where it is known. To be asked several
  /// times a second.
  std::string why(double level, const std::optional<governor::Status>& status, double now_s);

 private:
  std::optional<double> since_s_;
};

}  // namespace commensal::keeper
