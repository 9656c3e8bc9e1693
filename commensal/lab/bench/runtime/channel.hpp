// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace commensal::lab::bench {

/// A process that answers each line with a line.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Errors: kUnavailable (it ended, or is silent for ten minutes).
  virtual core::Result<std::string> ask(const std::string& line) = 0;
  /// The most memory that it has ever had in RAM (VmHWM), mapped files included.
  virtual core::Result<std::int64_t> peak_bytes() const = 0;
  /// Lets it run on one processor only, from now on: the `turn`-th of those that this process may
  /// use, counted round and round. Where the system cannot do that it runs where it did.
  virtual void keep_to_one_cpu(int turn) = 0;
};

/// Starts a program, its standard input and output being the channel; killed with the object.
core::Result<std::unique_ptr<Channel>> start_process(const std::vector<std::string>& command);

}  // namespace commensal::lab::bench
