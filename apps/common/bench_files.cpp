// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <apps/common/bench_files.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/spawn.hpp>
#include <commensal/lab/bench/runtime/bench.hpp>
#include <cstdlib>

namespace commensal::apps {

using core::ErrorCode;
using core::fail;
using core::Path;
using core::Result;

namespace {

constexpr const char* kPython = "/usr/bin/python3";  // Debian's: the one that has torchvision

}  // namespace

Result<Path> own_program() {
  std::error_code error;
  Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return program;
  return fail(ErrorCode::kNotFound, "/proc/self/exe does not name this program");
}

Result<Path> source_file(const Path& name) {
  COMMENSAL_ASSIGN(const Path program, own_program());
  for (Path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return fail(ErrorCode::kNotFound, "no '{}' in any folder above '{}'; run a build in a clone",
              name.string(), program.string());
}

int run_to_end(std::vector<std::string> command, const Path& output) {
  const core::Descriptor file(
      output.empty() ? -1 : ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output.empty() && !file.valid()) return -1;
  std::vector<int> files = {STDIN_FILENO, STDERR_FILENO, STDERR_FILENO};
  if (file.valid()) files = {STDIN_FILENO, file.get(), core::Spawn::kNothing};
  const auto pid = core::spawn({.command = std::move(command), .files = std::move(files)});
  int status = -1;
  return pid && ::waitpid(*pid, &status, 0) == *pid ? status : -1;
}

Path default_models_folder() {
  if (const char* folder = std::getenv("COMMENSAL_TORCHVISION")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    return Path(cache) / "commensal/torchvision";
  }
  const char* home = std::getenv("HOME");
  return Path(home == nullptr ? "." : home) / ".cache/commensal/torchvision";
}

Result<std::vector<std::string>> missing_of(const Path& folder,
                                            const std::vector<std::string>& models) {
  std::vector<std::string> missing;
  for (const std::string& model : models) {
    if (!std::filesystem::exists(folder / (model + ".onnx"))) missing.push_back(model);
  }
  const auto networks = lab::bench::bench_networks();
  const auto other = std::ranges::find_if(missing, [&](const std::string& model) {
    return std::ranges::find(networks, model) == networks.end();
  });
  if (other != missing.end())
    return fail(ErrorCode::kNotFound, "no '{}.onnx' in '{}'", *other, folder.string());
  return missing;
}

Result<void> export_missing(const Path& folder, const std::vector<std::string>& models) {
  COMMENSAL_ASSIGN(const auto missing, missing_of(folder, models));
  if (missing.empty()) return {};
  COMMENSAL_ASSIGN(const Path script, source_file("models/torchvision/export_torchvision.py"));
  std::vector<std::string> command = {kPython, script.string(), folder.string()};
  command.insert(command.end(), missing.begin(), missing.end());
  if (run_to_end(command) == 0) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "'{}' is not in '{}' and cannot be exported; apt-get install python3-torchvision "
              "python3-onnx libopenblas0-pthread, then: {} {} {}",
              missing.front(), folder.string(), kPython, script.string(), folder.string());
}

Result<std::vector<std::string>> onnxruntime_command() {
  COMMENSAL_ASSIGN(const Path subject, source_file("tests/peer/bench_subject.mjs"));
  if (std::filesystem::exists(subject.parent_path() / "node_modules/onnxruntime-node")) {
    return std::vector<std::string>{"node", subject.string()};
  }
  return fail(ErrorCode::kFailedPrecondition,
              "ONNX Runtime is not installed; run: npm ci --ignore-scripts --prefix {}",
              subject.parent_path().string());
}

}  // namespace commensal::apps
