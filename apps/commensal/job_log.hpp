// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/batches.hpp>
#include <commensal/serve/provider/job_end.hpp>
#include <string>

namespace commensal::apps {

/// One line of JSON without its end, {"time", "request_id", "trace_id", "job", ...}. Pure.
std::string job_line(const provider::JobEnd& end);

/// Such a line on stderr for each job, written on a thread of its own: the provider's loop does not
/// wait for it. What does not fit is left out.
class JobLog {
 public:
  JobLog();
  /// Any thread.
  void add(const provider::JobEnd& end) { lines_.push(end); }

 private:
  observe::Batches<provider::JobEnd> lines_;
};

}  // namespace commensal::apps
