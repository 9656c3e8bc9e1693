// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <apps/commensal/older_build.hpp>
#include <apps/common/bench_files.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::fail;
using core::Path;
using core::Result;

namespace {

// No build knows it: a program that is none of ours ends, or answers something else.
constexpr const char* kQuestion = R"({"do":"nothing"})";
constexpr const char* kAnswer = R"({"error":"no request 'nothing'"})";

// One line each: hash and name.
Result<std::string> hashes_of(const Path& program, std::vector<std::string> arguments,
                              const Path& folder) {
  const Path file = folder / "hashes";
  arguments.insert(arguments.begin(), program.string());
  if (run_to_end(std::move(arguments), file) != 0) {
    return fail(ErrorCode::kUnavailable, "'{} run' failed on the model", program.string());
  }
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file));
  std::string text(bytes.begin(), bytes.end());
  while (text.ends_with('\n')) text.pop_back();
  std::ranges::replace(text, '\n', ',');
  return text;
}

}  // namespace

Result<std::vector<std::string>> older_build_command(const Path& program) {
  const std::string name = program.string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(program, ignored) || ::access(name.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kFailedPrecondition,
                "no program '{}'; --peer is onnxruntime or the path of another build of commensal",
                name);
  }
  // Without its complaints: what is wrong is said here, in one line.
  COMMENSAL_ASSIGN(const auto channel, lab::bench::start_process(
                                           {"/bin/sh", "-c", "exec \"$0\" bench worker 2>/dev/null",
                                            std::filesystem::absolute(program)}));
  const auto answer = channel->ask(kQuestion);
  if (answer && *answer == kAnswer) {
    return std::vector<std::string>{std::filesystem::absolute(program), "bench", "worker"};
  }
  return fail(ErrorCode::kFailedPrecondition, "'{}' is no build of commensal that can be measured",
              name);
}

Result<void> same_outputs(const Path& ours, const Path& theirs, const Path& model,
                          const std::vector<lab::bench::InputFile>& inputs, int threads) {
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-bench"));
  std::vector<std::string> arguments = {"run", model.string(), "--threads", std::to_string(threads),
                                        "--hash"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    COMMENSAL_ASSIGN(const tensor::Tensor input, lab::bench::read_input(inputs[i]));
    COMMENSAL_ASSIGN(const core::Bytes npy, io::write_npy(input));
    const Path file = folder.path() / fmt::format("{}.npy", i);
    COMMENSAL_TRY(core::write_file_atomically(file, npy));
    arguments.push_back("--input");
    arguments.push_back(fmt::format("{}={}", inputs[i].name, file.string()));
  }
  COMMENSAL_ASSIGN(const auto mine, hashes_of(ours, arguments, folder.path()));
  COMMENSAL_ASSIGN(const auto other, hashes_of(theirs, arguments, folder.path()));
  if (mine == other) return {};
  return fail(ErrorCode::kDataLoss, "the builds' outputs differ: ours {}, theirs {}", mine, other);
}

}  // namespace commensal::apps
