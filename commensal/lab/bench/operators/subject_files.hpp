// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/operators/cases.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>

namespace commensal::lab::bench::operators {

struct SubjectFiles {
  core::Path model;
  std::vector<InputFile> inputs;
};
/// Its model and what it is fed, in `folder`, over those of the one before.
core::Result<SubjectFiles> write_subject(const Subject& subject, const core::Path& folder);

}  // namespace commensal::lab::bench::operators
