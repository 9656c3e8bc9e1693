// SPDX-License-Identifier: Apache-2.0
// What `inspect` and `run --profile` tell of a model.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <apps/commensal/table.hpp>
#include <apps/common/outputs.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/graph/onnx/testing/model_files.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
namespace files = graph::onnx::testing;

struct Said {
  int status = 0;
  std::string out, err;
};

Said ask(const std::vector<std::string>& words) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Said said;
  said.status = CommandLine(commensal_program()).run(words);
  said.err = ::testing::internal::GetCapturedStderr();
  said.out = ::testing::internal::GetCapturedStdout();
  return said;
}

class Look : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = core::TemporaryFolder::make("commensal-look");
    ASSERT_TRUE(made);
    folder_ = std::make_unique<core::TemporaryFolder>(*std::move(made));
    const std::vector<float> six = {1, 2, 3, 4, 5, 6};
    const auto bytes = io::write_npy(tensor::Tensor::of<float>({2, 3}, six));
    ASSERT_TRUE(bytes);
    input_ = at("x.npy");
    ASSERT_TRUE(core::write_file_atomically(input_, *bytes));
  }
  std::string at(const char* name) const { return (folder_->path() / name).string(); }
  std::string model(const std::string& content) const {
    EXPECT_TRUE(core::write_file_atomically(at("m.onnx"), core::as_bytes(content)));
    return at("m.onnx");
  }
  Said inspect(const std::string& content, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"inspect", model(content)});
    return ask(more);
  }
  Said run(const std::string& content, const std::string& profile) const {
    return ask({"run", model(content), "--input", input_, profile});
  }

  std::unique_ptr<core::TemporaryFolder> folder_;
  std::string input_;
};

TEST_F(Look, InspectSaysThatAModelCannotRunAsRunSaysIt) {
  const std::string refused = files::refused_file();
  const std::string said = run(refused, "--hash").err;
  const std::string why = said.substr(said.find("node 'sum' (Add): "));
  const Said seen = inspect(refused);
  EXPECT_EQ(seen.status, 1);
  EXPECT_THAT(seen.out, HasSubstr("cannot run  " + why));
  EXPECT_EQ(Json::parse(inspect(refused, {"--json"}).out).at("refusal").get<std::string>() + "\n",
            why);
  EXPECT_THAT(inspect(files::relu_file()).out, Not(HasSubstr("cannot run")));
  EXPECT_EQ(inspect(files::relu_file()).status, 0);
}

TEST_F(Look, InspectNamesNodesThatTheirTypesMakeSlow) {
  if (kernels::available_isas().empty()) GTEST_SKIP() << "all is slow here";
  EXPECT_THAT(inspect(files::slow_file()).out,
              HasSubstr("slow        most (Max): plain loops, float32[2,3] to float32[2,3]"));
  EXPECT_THAT(inspect(files::relu_file()).out, Not(HasSubstr("slow")));
}

TEST_F(Look, InspectAndProfileNameTheNodesOfABodyAlike) {
  EXPECT_THAT(inspect(files::turns_file(3), {"--nodes"}).out,
              HasSubstr("loop/body/product (MatMul): "));
  EXPECT_THAT(run(files::turns_file(3), "--profile").err,
              HasSubstr("loop/body/product (MatMul, 3 turns) float32[4,4]"));
}

TEST_F(Look, InspectCountsTheWeightsInsideNodes) {
  const Json seen = Json::parse(inspect(files::nested_file(2, "n"), {"--json"}).out);
  EXPECT_EQ(seen.at("parameters"), 5);  // two of the file, three inside
  EXPECT_EQ(seen.at("parameter_bytes"), 8 + 1 + 12);
}

TEST_F(Look, InspectShortensNamesOfGraphsInGraphs) {
  const std::string nested = files::nested_file(5, std::string(4'000, 'n'));
  const Json seen = Json::parse(inspect(nested, {"--json", "--nodes"}).out);
  for (const Json& node : seen.at("nodes")) {
    EXPECT_LE(node.at("name").get<std::string>().size(), 256u);
  }
  EXPECT_FALSE(Json::parse(inspect(nested, {"--json"}).out).contains("nodes"));
}

TEST_F(Look, ATraceThatCannotBeWrittenIsRefusedBeforeTheRuns) {
  const Said said = run(files::relu_file(), "--profile=" + at("none") + "/trace.json");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("none/trace.json"));
  EXPECT_THAT(said.err, Not(HasSubstr("between nodes")));
  EXPECT_EQ(said.out, "");
}

TEST_F(Look, ATraceMayBeABareNameInThisFolder) {
  const core::Path before = std::filesystem::current_path();
  std::filesystem::current_path(at("."));
  const Said said = run(files::relu_file(), "--profile=new.json");
  std::filesystem::current_path(before);
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_TRUE(std::filesystem::exists(at("new.json")));
}

TEST_F(Look, StandardErrorThatIsFullIsAFailureAndNoCrash) {
  const std::string relu = model(files::relu_file());
  const int kept = ::dup(STDERR_FILENO), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  ::dup2(full, STDERR_FILENO);
  ::testing::internal::CaptureStdout();
  const int lacking = CommandLine(commensal_program()).run({"inspect", at("none.onnx")});
  const int profiled =
      CommandLine(commensal_program()).run({"run", relu, "--input", input_, "--profile"});
  ::testing::internal::GetCapturedStdout();
  ::dup2(kept, STDERR_FILENO);
  std::clearerr(stderr);
  ::close(kept), ::close(full);
  EXPECT_EQ(lacking, 1);
  EXPECT_EQ(profiled, 1);
}

TEST_F(Look, ATraceReplacesNothingThatIsRead) {
  const auto before = core::read_file(input_, 1 << 20);
  for (const std::string& file :
       {input_, at("m.onnx"), std::string("true"), std::string("false")}) {
    const Said said = run(files::relu_file(), "--profile=" + file);
    EXPECT_EQ(said.status, 1) << file;
    EXPECT_THAT(said.err, HasSubstr("--profile=FILE.json for a trace")) << file;
  }
  EXPECT_EQ(*core::read_file(input_, 1 << 20), *before);
  const std::string called_json = at("m.json");
  ASSERT_TRUE(core::write_file_atomically(called_json, core::as_bytes(files::relu_file())));
  const Said said =
      ask({"run", called_json, "--input", input_, "--profile=" + at(".") + "/m.json"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("is read: a trace would replace it"));
}

// The fault: a model whose output was called as the input's file wrote over it.
TEST_F(Look, OutputsReplaceNothingThatIsRead) {
  const auto read = [&](const std::string& name) { return *core::read_file(at(name.c_str())); };
  const core::Bytes before = read("x.npy");
  std::filesystem::rename(at("x.npy"), at("y.npy"));
  const auto run = [&](const std::string& folder) {
    return ask({"run", model(files::relu_file()), "--input", at("y.npy"), "--output-dir", folder});
  };
  const Said said = run(folder_->path().string());
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("would be written over the input"));
  EXPECT_EQ(read("y.npy"), before);
  EXPECT_EQ(run(at("out")).status, 0);
}

TEST_F(Look, MistakesAboutOutputsAreFoundBeforeTheRun) {
  ASSERT_TRUE(core::write_file_atomically(at("two.txt"), core::as_bytes("a\nb\n")));
  const auto with = [&](const std::string& content, std::vector<std::string> more) {
    // The input is not even looked for.
    more.insert(more.begin(), {"run", model(content), "--input", at("none.npy")});
    return ask(more);
  };
  const Said folder = with(files::relu_file(), {"--output-dir", input_ + "/out"});
  EXPECT_EQ(folder.status, 1);
  EXPECT_THAT(folder.err, HasSubstr("cannot create the folder '"));
  const Said labels = with(files::relu_file(), {"--labels", at("two.txt")});
  EXPECT_EQ(labels.status, 1);
  EXPECT_THAT(labels.err, HasSubstr("2 labels, which fits no output"));
}

TEST_F(Look, WhatCannotBeWrittenIsPrintedAllTheSame) {
  std::filesystem::create_directories(at("out") + "/y.npy");  // in the output's way
  const Said said =
      ask({"run", model(files::relu_file()), "--input", input_, "--output-dir", at("out")});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("sha256"));
  EXPECT_THAT(said.err, HasSubstr("y.npy"));
}

TEST(Outputs, NothingHasAShareBesideAnInfinity) {
  ::testing::internal::CaptureStdout();
  const std::vector<float> values = {std::numeric_limits<float>::infinity(), 1};
  Reading reading;
  reading.softmax = true;
  print_outputs({{"y", tensor::Tensor::of<float>({2}, values)}}, reading);
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("[0] inf  -\n"));
  EXPECT_THAT(said, Not(HasSubstr("nan %")));
}

TEST(Outputs, TwoNamesThatAreOneFilesAreBothKept) {
  const auto folder = core::TemporaryFolder::make("commensal-outputs");
  ASSERT_TRUE(folder);
  const std::vector<float> one = {1}, two = {2};
  ASSERT_TRUE(write_outputs(
      {{"a/b", tensor::Tensor::of<float>({1}, one)}, {"a_b", tensor::Tensor::of<float>({1}, two)}},
      folder->path()));
  const auto first = io::read_npy_file(folder->path() / "a_b.npy");
  const auto second = io::read_npy_file(folder->path() / "a_b.2.npy");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->data<float>()[0], 1);
  EXPECT_EQ(second->data<float>()[0], 2);
}

TEST_F(Look, AnEmptyProfileIsRefused) {
  const Said said = run(files::relu_file(), "--profile=");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("'--profile=' has nothing behind it"));
}

TEST_F(Look, AProfilesFileBehindASpaceIsExplained) {
  const std::string relu = model(files::relu_file());
  const Said said = ask({"run", relu, "--input", input_, "--profile", "trace.json"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err,
              HasSubstr("'trace.json' is more than is expected; what '--profile' takes is "
                        "joined to it: --profile=VALUE"));
  EXPECT_THAT(ask({"run", relu, "trace.json", "--input", input_, "--profile"}).err,
              HasSubstr("'trace.json' is more than is expected ("));
}

TEST_F(Look, AnInputWithoutItsOptionIsNoTrace) {
  const std::string relu = model(files::relu_file());
  for (const auto& words : {std::vector<std::string>{"run", relu, "x.npy", "--profile"},
                            std::vector<std::string>{"run", relu, "--profile", "x.npy"}}) {
    const Said said = ask(words);
    EXPECT_EQ(said.status, 1);
    EXPECT_THAT(said.err, HasSubstr("did you mean '--input x.npy'?"));
    EXPECT_THAT(said.err, Not(HasSubstr("=VALUE")));
  }
}

TEST_F(Look, TwoWaysToPrintAreRefused) {
  const std::string relu = model(files::relu_file());
  EXPECT_EQ(ask({"run", relu, "--input", input_, "--json", "--hash"}).status, 1);
  EXPECT_EQ(ask({"operators", "--json", "--markdown"}).status, 1);
}

TEST_F(Look, OperatorsSaysWhatIsFast) {
  const std::string list = ask({"operators"}).out;
  EXPECT_THAT(list, HasSubstr(" fast since "));
  EXPECT_THAT(list, HasSubstr(" slow since "));
  EXPECT_THAT(list, Not(HasSubstr(" \n")));
}

}  // namespace
}  // namespace commensal::apps
