// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <optional>

namespace commensal::beacon {

/// Rounds 1, 2, ... of a value that nobody can choose, nor know while tickets of the round are
/// still made. Thread-safety: as each implementation says.
class Beacon {
 public:
  virtual ~Beacon() = default;
  /// What Job::beacons names.
  virtual core::Digest id() const = 0;
  /// The first round that tickets may still be made for.
  virtual core::Result<std::uint64_t> open_round() = 0;
  /// Nothing while the round is not drawn. Errors: those of where it comes from.
  virtual core::Result<std::optional<core::Digest>> value(std::uint64_t round) = 0;
};

}  // namespace commensal::beacon
