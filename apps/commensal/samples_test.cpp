// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/commensal/samples.hpp>
#include <apps/common/feeds.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/io/npy.hpp>

namespace commensal::apps {
namespace {

using tensor::Tensor;

class Samples : public ::testing::Test {
 protected:
  Samples() {
    add("x", {-1, 2});
    add("y", {});
    graph_.outputs = {graph_.inputs[1], graph_.inputs[0]};
    write("x.npy", Tensor::of<float>({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}));
    write("y.npy", Tensor::of<float>({3}, std::vector<float>{7, 8, 9}));
    write("two.npy", Tensor::of<float>({2}, std::vector<float>{7, 8}));
    write("labels.npy", Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{4, 5, 6}));
    std::filesystem::create_directories(folder_ / "many");
    for (const char* name : {"many/1.npy", "many/0.npy", "many/2.npy"}) {
      const auto value = static_cast<float>(name[5]);
      write(name, Tensor::of<float>({1, 2}, std::vector<float>{value, 0}));
    }
  }
  ~Samples() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& name, const std::vector<std::int64_t>& dims) {
    graph_.inputs.push_back(static_cast<graph::ValueId>(graph_.values.size()));
    graph_.values.push_back(
        {name, {tensor::DType::kFloat32, true, dims, std::vector<std::string>(dims.size())}});
  }
  void write(const std::string& name, const Tensor& tensor) {
    ASSERT_TRUE(core::write_file_atomically(folder_ / name, *io::write_npy(tensor)));
  }
  auto read(const std::string& x, const std::string& y, std::size_t samples_max = 10) {
    return read_samples(graph_, {"x=" + (folder_ / x).string(), "y=" + (folder_ / y).string()}, {},
                        samples_max);
  }

  graph::Graph graph_;
  core::Path folder_ = *core::make_temporary_folder("commensal-samples");
};

TEST_F(Samples, AreRowsOfAnArray) {
  const auto all = read("x.npy", "y.npy");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1][0].type().text(), "float32[1,2]");
  EXPECT_EQ((*all)[1][0].data<float>()[1], 4);
  EXPECT_EQ((*all)[2][1].type().text(), "float32[]");
  EXPECT_EQ((*all)[2][1].data<float>()[0], 9);
  EXPECT_EQ(read("x.npy", "y.npy", 2)->size(), 2u);
}

TEST_F(Samples, AreTheFilesOfAFolderByName) {
  const auto all = read("many", "y.npy");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((*all)[0][0].data<float>()[0], '0');
  EXPECT_EQ((*all)[2][0].data<float>()[0], '2');
}

TEST_F(Samples, OfDifferentNumberOrMissingAreRefused) {
  EXPECT_EQ(read("x.npy", "two.npy").error().message, "2 samples of 'y', expected 3 as of 'x'");
  EXPECT_EQ(read_samples(graph_, {"x=" + (folder_ / "x.npy").string()}, {}, 9).error().message,
            "no --data for 'y' float32[]");
}

TEST_F(Samples, LabelsAreIntegers) {
  EXPECT_EQ(*read_labels((folder_ / "labels.npy").string(), 2), (std::vector<std::int64_t>{4, 5}));
  EXPECT_FALSE(read_labels((folder_ / "x.npy").string(), 2));
}

TEST_F(Samples, FeedsAreReadByName) {
  const auto feeds = read_feeds(graph_, {"y=y", "x=x"});
  ASSERT_TRUE(feeds);
  EXPECT_EQ(*feeds, (std::vector<protocol::Feed>{{1, 0}, {0, 1}}));
  EXPECT_EQ(read_feeds(graph_, {"y"}).error().message, "--state 'y', expected OUTPUT=INPUT");
  EXPECT_EQ(read_feeds(graph_, {"z=x"}).error().message,
            "the model has no output 'z'; it has y, x");
  EXPECT_EQ(read_feeds(graph_, {"x=x", "y=x"}).error().message,
            "--state names the input 'x' twice");
}

}  // namespace
}  // namespace commensal::apps
