// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/testing/samples.hpp>
#include <memory>

/// The samples' calls, sized up until they take long: by repeating what inputs hold along an axis,
/// and by multiplying numbers that say how large an output is.
namespace commensal::kernels::testing {

class LongCall {
 public:
  enum class By { kRef, kCpu };

  LongCall(Sample sample, By by, std::string how);

  /// As a session runs it: inferred, its constants packed, computed. False: the sizes do not fit.
  /// Throws Stopped.
  bool run(ThreadPool& threads) const;
  std::string text() const;
  std::int64_t bytes() const;  // of the inputs

 private:
  std::shared_ptr<SampleCall> call_;
  By by_;
  std::string how_;
};

/// What the sample can be sized up to in all ways that infer admits, each to where it takes `ms`
/// milliseconds or some hundred MiB: the first `most` of those that take at least `ms`.
std::vector<LongCall> long_calls(const Sample& sample, LongCall::By by, double ms,
                                 std::size_t most);

}  // namespace commensal::kernels::testing
