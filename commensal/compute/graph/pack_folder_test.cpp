// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <cstring>
#include <fstream>
#include <thread>

namespace commensal::graph {
namespace {

namespace fs = std::filesystem;
using tensor::Shape;
using tensor::Tensor;

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  std::vector<float> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = core::counter_symmetric_f32(seed, 0, i);
  return Tensor::of<float>(shape, data);
}

class PackFolderTest : public ::testing::Test {
 protected:
  PackFolderTest() { fs::remove_all(folder_); }
  ~PackFolderTest() override { fs::remove_all(folder_); }

  // MatMul by a constant of 1 MiB and more, as the model has it or as planned.
  static std::shared_ptr<const Graph> model(std::uint64_t seed = 1) {
    auto graph = std::make_shared<Graph>();
    graph->values = {{"x", {}}, {"w", {}}, {"y", {}}};
    graph->values[0].declared = {tensor::DType::kFloat32, true, {2, 600}, {"", ""}};
    graph->inputs = {0};
    graph->outputs = {2};
    graph->initialisers[1] = random_tensor({600, 500}, seed);
    graph->nodes.push_back({"y", *kernels::find_operator("", "MatMul", 13), 13, {}, {0, 1}, {2}});
    return graph;
  }
  std::vector<std::uint8_t> answer(const std::shared_ptr<const Graph>& graph,
                                   std::shared_ptr<const PackFolder> packs) {
    SessionOptions options;
    options.packs = std::move(packs);
    auto session = Session::create(graph, options);
    EXPECT_TRUE(session.has_value());
    const Tensor x = random_tensor({2, 600}, 9);
    auto outputs = session->run({&x, 1});
    EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
    const auto bytes = (*outputs)[0].bytes();
    return {bytes.begin(), bytes.end()};
  }
  std::shared_ptr<const PackFolder> packs(std::int64_t bytes_max = 1 << 30) const {
    return std::make_shared<const PackFolder>(folder_, bytes_max);
  }
  std::vector<core::Path> files() const {
    std::vector<core::Path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  const core::Path folder_ =
      fs::path(::testing::TempDir()) /
      fmt::format("packs_{}_{}", ::getpid(),
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PackFolderTest, SecondSessionFindsWhatTheFirstKept) {
  const auto expected = answer(model(), nullptr);
  EXPECT_EQ(answer(model(), packs()), expected);
  ASSERT_EQ(files().size(), 1);
  const auto before = fs::last_write_time(files()[0]) - std::chrono::seconds(10);
  fs::last_write_time(files()[0], before);
  EXPECT_EQ(answer(model(), packs()), expected);
  EXPECT_EQ(files().size(), 1);
  EXPECT_GT(fs::last_write_time(files()[0]), before);  // it was used
}

TEST_F(PackFolderTest, OtherWeightsAreOtherFiles) {
  EXPECT_NE(answer(model(1), packs()), answer(model(2), packs()));
  EXPECT_EQ(files().size(), 2);
  EXPECT_EQ(answer(model(2), packs()), answer(model(2), nullptr));
}

// Every part of a file, one byte after the other in turn of what matters: header, data, end.
TEST_F(PackFolderTest, AlteredAndCutFilesAreMadeAgain) {
  const auto expected = answer(model(), packs());
  const core::Path path = files().at(0);
  const core::Bytes good = *core::read_file(path);
  const auto put = [&](core::ByteView bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{9}, std::size_t{41}, std::size_t{50}, std::size_t{60},
        std::size_t{64}, good.size() / 2, good.size() - 1}) {
    core::Bytes bad = good;
    bad[at] ^= 1;
    put(bad);
    EXPECT_EQ(answer(model(), packs()), expected) << at;
    EXPECT_EQ(*core::read_file(path), good) << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, good.size() - 1}) {
    put(core::ByteView(good).first(size));
    EXPECT_EQ(answer(model(), packs()), expected) << size;
    EXPECT_EQ(*core::read_file(path), good) << size;
  }
}

TEST_F(PackFolderTest, NoFolderIsNoError) {
  const auto expected = answer(model(), nullptr);
  std::ofstream(folder_) << "a file where the folder should be";
  EXPECT_EQ(answer(model(), packs()), expected);
  fs::remove(folder_);
  EXPECT_EQ(answer(model(), std::make_shared<const PackFolder>("/proc/none")), expected);
}

TEST_F(PackFolderTest, TheOldestGoesFirst) {
  const std::int64_t room = 3 << 20;  // two files
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    answer(model(seed), packs(room));
    for (const auto& file : files()) {  // older than all that comes
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(10));
    }
    if (seed == 2) answer(model(1), packs(room));  // used: now the second is the oldest
  }
  EXPECT_EQ(files().size(), 2);
  std::vector<core::Path> kept = files();
  answer(model(1), packs(room));
  answer(model(3), packs(room));
  EXPECT_EQ(files(), kept);
  answer(model(4), packs(1 << 20));  // larger than all the room
  EXPECT_EQ(files(), kept);
}

TEST_F(PackFolderTest, ManyAtOnceDisturbNobody) {
  const auto graph = model();
  const auto expected = answer(graph, nullptr);
  const core::Path folder = folder_;
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        if (answer(graph, packs(t == 0 ? 1 : 1 << 30)) != expected) ++wrong;
        std::error_code ignored;
        if (t == 1) fs::remove_all(folder, ignored);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

// Whoever changes the layout of packed weights raises kernels::kPackVersion, and sees here that it
// has changed.
TEST_F(PackFolderTest, LayoutIsThatOfItsVersion) {
  const auto isas = kernels::available_isas();
  if (isas.empty() || isas.back() != kernels::Isa::kAvx512) GTEST_SKIP() << "written for AVX-512";
  answer(model(), packs());
  const core::Bytes file = *core::read_file(files().at(0));
  EXPECT_EQ(kernels::kPackVersion, 1);
  EXPECT_EQ(core::to_hex(crypto::sha256(file)),
            "11d664c5ebf459fe9a594e29b655a71c9a4cd0c57f9fe500aebf232af8170b5c");
}

}  // namespace
}  // namespace commensal::graph
