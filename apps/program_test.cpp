// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/table.hpp>
#include <apps/common/program.hpp>
#include <apps/lab/table.hpp>
#include <filesystem>
#include <new>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

std::string said_by(const Program& program, const std::vector<std::string>& words) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CommandLine(program).run(words), 1);
  return ::testing::internal::GetCapturedStderr();
}

Run declare_greedy(CLI::App&) {
  return []() -> core::Result<int> { throw std::bad_alloc(); };
}

TEST(Program, MemoryThatIsNotThereIsOneLine) {
  constexpr Command kGreedy[] = {
      {"greedy", kEverybody, "take all", "Take all", "", declare_greedy}};
  const Program program{"p", "a program", "1", kGreedy};
  EXPECT_EQ(said_by(program, {"greedy"}), "p greedy: out of memory\n");
}

TEST(Program, AnOperatorThatIsNotMeasuredIsGuessed) {
  const auto say = [](const char* op) {
    return said_by(lab_program(), {"bench", "operators", "--operators", op});
  };
  EXPECT_THAT(say("relu"), HasSubstr("no case measures 'relu'; did you mean 'Relu'?"));
  EXPECT_THAT(say("Conv2D"), HasSubstr("no case measures 'Conv2D'; did you mean 'Conv'?"));
  EXPECT_THAT(say("Frobnicate"), HasSubstr("`commensal operators` lists names"));
  EXPECT_THAT(say("Scaler"), HasSubstr("ai.onnx.ml"));
}

TEST(Program, MistakesInBenchRuntimeAreAnsweredAtOnce) {
  const auto say = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"bench", "runtime"});
    return said_by(commensal_program(), words);
  };
  const std::string folder = ::testing::TempDir() + "commensal_no_such_folder";
  for (const char* name : {"cnn", "cnn.onnx"}) {
    EXPECT_THAT(say({"--models-dir", folder, "--models", name}),
                HasSubstr("no 'cnn.onnx' in '" + folder + "'\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_THAT(say({"--skip-load", "--skip-latency"}), HasSubstr("--skip-l"));
  for (const char* shape : {"x", "x=", "x=1,", "x=1,,2", "x=0", "x=a", "x=1;2"}) {
    EXPECT_THAT(say({"--shape", shape}), HasSubstr("expected NAME=1,3,224,224")) << shape;
  }
}

}  // namespace
}  // namespace commensal::apps
