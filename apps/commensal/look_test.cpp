// SPDX-License-Identifier: Apache-2.0
// What `inspect` and `run --profile` tell of a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/table.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/graph/onnx/testing/model_files.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/kernels/operator.hpp>
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
  EXPECT_EQ(seen.status, 0);
  EXPECT_THAT(seen.out, HasSubstr("cannot run  " + why));
  EXPECT_EQ(Json::parse(inspect(refused, {"--json"}).out).at("refusal").get<std::string>() + "\n",
            why);
  EXPECT_THAT(inspect(files::relu_file()).out, Not(HasSubstr("cannot run")));
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

TEST_F(Look, OutputsOutliveAProfileThatCannotBeWritten) {
  const Said said = run(files::relu_file(), "--profile=" + at("none") + "/trace.json");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err, HasSubstr("between nodes"));
  EXPECT_THAT(said.err, HasSubstr("none/trace.json"));
  EXPECT_THAT(said.out, HasSubstr("y float32[2,3]"));
}

TEST_F(Look, AProfilesFileBehindASpaceIsExplained) {
  const Said said =
      ask({"run", model(files::relu_file()), "--input", input_, "--profile", "trace.json"});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.err,
              HasSubstr("'trace.json' is more than is expected; what '--profile' takes is "
                        "joined to it: --profile=VALUE"));
}

}  // namespace
}  // namespace commensal::apps
