// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <apps/common/bench_files.hpp>
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
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (output.empty()) {
    ::posix_spawn_file_actions_adddup2(&actions, 2, 1);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  pid_t pid = -1;
  int status = -1;
  const bool started =
      ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  if (!started || ::waitpid(pid, &status, 0) != pid) return -1;
  return status;
}

Path default_models_folder() {
  if (const char* folder = std::getenv("COMMENSAL_TORCHVISION")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    return Path(cache) / "commensal/torchvision";
  }
  const char* home = std::getenv("HOME");
  return Path(home == nullptr ? "." : home) / ".cache/commensal/torchvision";
}

Result<void> export_missing(const Path& folder, const std::vector<std::string>& models) {
  std::vector<std::string> missing;
  for (const std::string& model : models) {
    if (!std::filesystem::exists(folder / (model + ".onnx"))) missing.push_back(model);
  }
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
  COMMENSAL_ASSIGN(const Path worker, source_file("tests/peer/bench_worker.mjs"));
  if (std::filesystem::exists(worker.parent_path() / "node_modules/onnxruntime-node")) {
    return std::vector<std::string>{"node", worker.string()};
  }
  return fail(ErrorCode::kFailedPrecondition,
              "ONNX Runtime is not installed; run: npm ci --ignore-scripts --prefix {}",
              worker.parent_path().string());
}

}  // namespace commensal::apps
