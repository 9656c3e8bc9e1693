// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <apps/common/inputs.hpp>
#include <commensal/compute/io/npy.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Inputs : public ::testing::Test {
 protected:
  Inputs() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) /
              fmt::format("commensal_inputs_{}_{}", info->name(), ::getpid());
    std::filesystem::create_directories(folder_);
    const Tensor x = Tensor::of<float>({2}, std::vector<float>{1, 2});
    EXPECT_TRUE(core::write_file_atomically(folder_ / "x=1.npy", *io::write_npy(x)));
    EXPECT_TRUE(core::write_file_atomically(folder_ / "x.npy", *io::write_npy(x)));
  }
  ~Inputs() override { std::filesystem::remove_all(folder_); }

  std::string file(const char* name) const { return (folder_ / name).string(); }

  static graph::Graph graph_of(const std::vector<std::string>& names) {
    graph::Graph graph;
    for (const std::string& name : names) {
      graph.inputs.push_back(static_cast<graph::ValueId>(graph.values.size()));
      graph.values.push_back({name, {tensor::DType::kFloat32, true, {2}, {""}}});
    }
    return graph;
  }

  core::Path folder_;
};

TEST_F(Inputs, OneInputNeedsNoName) {
  const auto graph = graph_of({"x"});
  for (const std::string& given : {file("x.npy"), "x=" + file("x.npy"), "x=" + file("x=1.npy")}) {
    const auto inputs = read_inputs(graph, {given}, {});
    ASSERT_TRUE(inputs) << inputs.error().message;
    EXPECT_THAT((*inputs)[0].data<float>(), ElementsAre(1, 2));
  }
}

TEST_F(Inputs, NamesMayContainWhatTheModelLikes) {
  const auto inputs = read_inputs(graph_of({"a/b:0", "a=b"}),
                                  {"a=b=" + file("x.npy"), "a/b:0=" + file("x.npy")}, {});
  EXPECT_TRUE(inputs) << inputs.error().message;
}

TEST_F(Inputs, BadRequestsSayWhatIsExpected) {
  const auto graph = graph_of({"x", "y"});
  const struct {
    std::vector<std::string> given;
    std::string says;
  } cases[] = {
      {{}, "no --input for 'x'; the model expects x float32[2], y float32[2]"},
      {{file("x.npy")}, "names no input"},
      {{"z=" + file("x.npy")}, "names no input"},
      {{"x=" + file("x.npy"), "x=" + file("x.npy")}, "given twice"},
      {{"x=" + file("x.npy"), "y=" + file("x.txt")}, "is not .npy"},
      {{"x=" + file("x.npy"), "y=" + file("none.npy")}, "input 'y': cannot open"},
      {{file("none.npz")}, "input 'x': cannot open"},
      {{file("none.npz"), "x=" + file("x.npy")}, "input 'y': cannot open"},
      {{"x=" + file("x.npy"), "y=" + file("none.jpg")}, "a picture fills float32[1,C,H,W]"},
  };
  for (const auto& row : cases) {
    const auto inputs = read_inputs(graph, row.given, {});
    ASSERT_FALSE(inputs.has_value()) << row.says;
    EXPECT_THAT(inputs.error().message, HasSubstr(row.says));
  }
}

TEST_F(Inputs, PicturesAreReadByTheRuleAndEmptyBatchesRefused) {
  for (const char* name : {"three.pgm", "THREE.PGM"}) {
    ASSERT_TRUE(core::write_file_atomically(folder_ / name, core::as_bytes("P2 2 1 16 3 16")));
  }
  const Tensor none = Tensor::of<float>({0, 2}, std::vector<float>());
  ASSERT_TRUE(core::write_file_atomically(folder_ / "none.npy", *io::write_npy(none)));
  auto graph = graph_of({"x"});
  const struct {
    std::vector<std::int64_t> dims;
    const char* file;
    io::PictureRule rule;
    std::string says;  // empty: it is read
  } cases[] = {
      {{1, 1, 1, 2}, "three.pgm", {}, ""},
      {{1, 1, 1, 2}, "THREE.PGM", {}, ""},
      {{-1, 1, -1, -1}, "three.pgm", {}, ""},
      {{1, 1, 2, 2}, "three.pgm", {}, "three.pgm': the picture is 2 x 1, the model wants 2 x 2"},
      {{1, 1, 2, 2}, "three.pgm", {}, "(--image-resize, --image-convert)"},
      {{1, 1, 2, 2}, "three.pgm", {.resize = io::Resize::kPad}, ""},
      {{-1, 2}, "none.npy", {}, "input 'x': float32[0,2] is a batch of 0"},
      {{0, 2}, "none.npy", {}, ""},
  };
  for (const auto& row : cases) {
    graph.values[0].declared.dims = row.dims;
    graph.values[0].declared.symbols.resize(row.dims.size());
    const auto inputs = read_inputs(graph, {file(row.file)}, row.rule);
    EXPECT_EQ(inputs.has_value(), row.says.empty()) << row.says;
    if (inputs.has_value()) continue;
    EXPECT_THAT(inputs.error().message, HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace commensal::apps
