// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// This very program.
core::Result<core::Path> own_program();

/// A file of the source tree that this program was built in: the first folder above the program
/// that has it. Error: kNotFound.
core::Result<core::Path> source_file(const core::Path& name);

/// Where exported networks are kept: $COMMENSAL_TORCHVISION, else commensal/torchvision below
/// $XDG_CACHE_HOME or ~/.cache.
core::Path default_models_folder();

/// Those of `models` that have no file there and that can be exported. Error: kNotFound (one that
/// cannot: it is none of the project's networks).
core::Result<std::vector<std::string>> missing_of(const core::Path& folder,
                                                  const std::vector<std::string>& models);
/// Makes them by models/torchvision/export_torchvision.py. Errors besides, with a line that says
/// what to run: kNotFound (the script), kFailedPrecondition.
core::Result<void> export_missing(const core::Path& folder, const std::vector<std::string>& models);

/// The command that starts ONNX Runtime's worker. Error: kFailedPrecondition (it is not installed;
/// says what to run).
core::Result<std::vector<std::string>> onnxruntime_command();

/// Exit status of a command, -1 where it cannot be started. Its standard output goes to standard
/// error, or into a file, its standard error nowhere then.
int run_to_end(std::vector<std::string> command, const core::Path& output = {});

}  // namespace commensal::apps
