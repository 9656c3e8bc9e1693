// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <filesystem>
#include <fstream>

namespace commensal::graph::onnx::testing {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;

/// A model in a folder of its own, whose initialiser w = {1, 2, 3} lies in a file.
class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) /
            fmt::format("commensal_external_{}_{}", info->name(), ::getpid());
    std::filesystem::create_directories(root_ / "model");
    write(root_ / "model" / "weights.bin");
    write(root_ / "outside.bin");
  }
  ~ExternalData() override { std::filesystem::remove_all(root_); }

  static void write(const std::filesystem::path& path) {
    const float values[] = {0, 1, 2, 3};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof values);
  }

  core::Result<std::shared_ptr<const Graph>> import_with(const std::string& location,
                                                         const std::string& offset = "4",
                                                         const std::string& length = "12") {
    auto model = empty_model();
    add_node(model, "Add", {"x", "w"}, {"y"});
    auto* w = add_initialiser(model, "w", {3});
    w->set_data_location(::onnx::TensorProto::EXTERNAL);
    const auto entry = [w](const char* key, const std::string& value) {
      auto* added = w->add_external_data();
      added->set_key(key);
      added->set_value(value);
    };
    entry("location", location);
    if (!offset.empty()) entry("offset", offset);
    if (!length.empty()) entry("length", length);
    const std::string text = model.SerializeAsString();
    std::ofstream(root_ / "model" / "model.onnx", std::ios::binary) << text;
    return import_file(root_ / "model" / "model.onnx");
  }

  void expect_refused(const core::Result<std::shared_ptr<const Graph>>& made, ErrorCode code,
                      const std::string& says) {
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(core::name_of(made.error().code), core::name_of(code)) << made.error().message;
    EXPECT_THAT(made.error().message, HasSubstr(says));
  }

  std::filesystem::path root_;
};

TEST_F(ExternalData, IsMappedFromTheModelsFolder) {
  for (const char* length : {"12", ""}) {
    const auto graph = import_with("weights.bin", "4", length);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_THAT((*graph)->initialisers.begin()->second.data<float>(),
                ::testing::ElementsAre(1, 2, 3));
  }
}

TEST_F(ExternalData, OutsideTheFolderIsRefused) {
  const auto code = ErrorCode::kPermissionDenied;
  expect_refused(import_with("../outside.bin"), code, "outside the model's folder");
  expect_refused(import_with((root_ / "outside.bin").string()), code, "outside");
  expect_refused(import_with("a/../../outside.bin"), code, "outside");
  std::filesystem::create_symlink(root_ / "outside.bin", root_ / "model" / "link.bin");
  expect_refused(import_with("link.bin"), code, "outside");
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  expect_refused(import_with("up/outside.bin"), code, "outside");
  expect_refused(import_with(""), code, "outside");
  expect_refused(import_with("."), code, "outside");
}

TEST_F(ExternalData, ExtentsAreChecked) {
  expect_refused(import_with("weights.bin", "8"), ErrorCode::kInvalidArgument, "beyond");
  expect_refused(import_with("weights.bin", "99"), ErrorCode::kInvalidArgument, "beyond");
  expect_refused(import_with("weights.bin", "-1"), ErrorCode::kInvalidArgument, "bad offset");
  expect_refused(import_with("weights.bin", "4", "18446744073709551615"),
                 ErrorCode::kInvalidArgument, "beyond");
  expect_refused(import_with("weights.bin", "0", "16"), ErrorCode::kInvalidArgument,
                 "needs 12 bytes of data, but has 16");
  expect_refused(import_with("missing.bin"), ErrorCode::kNotFound, "missing.bin");
}

TEST_F(ExternalData, IsRefusedForModelsFromMemory) {
  ASSERT_TRUE(import_with("weights.bin"));
  std::ifstream file(root_ / "model" / "model.onnx", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  expect_refused(import_text(text), ErrorCode::kPermissionDenied, "outside");
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
