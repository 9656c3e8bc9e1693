// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace commensal::core {

/// Where guest work yields to the host. The executor calls it between pieces of work; the
/// governor's implementation may block there, so that the host comes first.
class Pacer {
 public:
  virtual ~Pacer() = default;
  /// `work_ops` floating-point operations are about to run. False: give up, the guest must stop.
  /// Thread-safety: called from the threads that run the graph, never from several at once.
  virtual bool pace(std::int64_t work_ops) = 0;
  /// Between pieces of one kernel, each of at most some milliseconds. Thread-safety: called by all
  /// threads that run the graph, at once. False: give up, what is computed is thrown away.
  virtual bool yield() { return true; }
};

}  // namespace commensal::core
