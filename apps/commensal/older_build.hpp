// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/runner.hpp>

/// Another build of this program as the peer of `bench runtime`.
namespace commensal::apps {

/// What starts one of ours in that program; it was asked, and answers as one.
/// Error: kFailedPrecondition (there is none, or it is not ours).
core::Result<std::vector<std::string>> older_build_command(const core::Path& program);

/// Both programs run `model` once on `inputs`, on as many threads: their outputs must be the same
/// bits. Errors: kDataLoss (they are not; the message has both), kUnavailable (a run failed).
core::Result<void> same_outputs(const core::Path& ours, const core::Path& theirs,
                                const core::Path& model,
                                const std::vector<lab::bench::InputFile>& inputs, int threads);

}  // namespace commensal::apps
