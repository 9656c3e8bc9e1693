// SPDX-License-Identifier: Apache-2.0
// Deletion means deletion: rows at once, files once nobody needs them, and nobody pays for others.
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/hub.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using store::testing::Fault;

constexpr std::int64_t kNamedMs = 1'000'000;

/// Of another content, without another meaning: a field that nobody knows, behind the others.
core::Bytes digits(std::uint8_t variant) {
  core::Bytes bytes =
      *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
  // Field 1000, of one byte's length.
  for (const std::uint8_t byte : {std::uint8_t{0xc2}, std::uint8_t{0x3e}, std::uint8_t{1}, variant})
    bytes.push_back(byte);
  return bytes;
}

class Deletion : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) / (std::string("commensal_gone_") + test->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t files() const {
    std::error_code missing;
    std::filesystem::directory_iterator at(folder_, missing), end;
    return missing ? 0 : static_cast<std::size_t>(std::distance(at, end));
  }
  /// So many turns until nothing is left to purge.
  static int purge(ModelHub& hub) {
    int turns = 0;
    for (; hub.is_purging(); ++turns) EXPECT_TRUE(hub.purge());
    return turns;
  }
  void look(ModelHub& hub) {
    EXPECT_TRUE(hub.remove_files(
        {.is_needed = [this](const core::Digest& content) { return needed_.contains(content); },
         .named_ms = kNamedMs}));
  }
  std::size_t rows(std::string_view space) {
    std::size_t count = 0;
    EXPECT_TRUE(
        store_.scan(space, {}, [&](core::ByteView, core::ByteView) { return ++count > 0; }));
    return count;
  }

  const Account alice_{"alice", Role::kConsumer}, bob_{"bob", Role::kConsumer};
  core::ManualClock clock_;
  core::Path folder_;
  store::MemoryStore store_;
  std::set<core::Digest> needed_;
};

TEST_F(Deletion, TakesRowsAtOnceAndTheFileOnceNobodyNeedsIt) {
  ModelHub hub(store_, folder_, clock_);
  const auto pushed = hub.push(alice_, "alice/m", digits(1), {.privacy_class = "medical"});
  ASSERT_TRUE(pushed) << pushed.error().message;
  ASSERT_TRUE(hub.repository().set_config("alice/m", 1, {}, std::nullopt));
  ASSERT_TRUE(hub.repository().set_loaded("alice/m", false));
  EXPECT_EQ(*hub.remove(alice_, "alice/m"), 1u);
  EXPECT_FALSE(hub.find(&alice_, "alice/m"));
  EXPECT_FALSE(hub.find(&alice_, "alice/m", 1));
  EXPECT_EQ(purge(hub), 1);
  for (const char* space : {"models", "model_configs", "model_classes", "models_unloaded"})
    EXPECT_EQ(rows(space), 0u) << space;
  needed_ = {pushed->content};
  look(hub);
  EXPECT_EQ(files(), 1u);  // just now
  clock_.advance_ms(limits::kDroppedFileMs);
  look(hub);
  EXPECT_EQ(files(), 1u);  // needed
  needed_.clear();
  look(hub);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(rows("model_files_dropped"), 0u);
  // Its name is known until nothing that is kept names it.
  EXPECT_EQ(*hub.first_version("alice/m"), 2u);
  clock_.advance_ms(kNamedMs + limits::kFormerModelMs);
  look(hub);
  EXPECT_FALSE(hub.has_removals());
  EXPECT_EQ(rows("models_removed"), 0u);
  EXPECT_EQ(hub.push(alice_, "alice/m", digits(1), {})->version, 1u);
}

// What was said of a model that is gone does not hold for what comes under its name.
TEST_F(Deletion, WhatIsPushedAgainIsAnotherModel) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(hub.push(alice_, "alice/m", digits(1), {.privacy_class = "medical"}));
  ASSERT_TRUE(hub.repository().set_loaded("alice/m", false));
  ASSERT_TRUE(hub.remove(alice_, "alice/m"));
  EXPECT_TRUE(*hub.repository().is_loaded("alice/m"));
  EXPECT_EQ(hub.push(alice_, "alice/m", digits(1), {})->version, 2u);
  EXPECT_EQ((*hub.repository().config("alice/m", 2))->privacy_class, "");
  EXPECT_EQ(purge(hub), 1);
  EXPECT_EQ((*hub.repository().config("alice/m", 2))->privacy_class, "");
  EXPECT_TRUE(hub.find(&alice_, "alice/m", 2));
  EXPECT_FALSE(hub.find(&alice_, "alice/m", 1));
  clock_.advance_ms(kNamedMs + limits::kFormerModelMs + limits::kDroppedFileMs);
  look(hub);
  EXPECT_EQ(files(), 1u);  // its own
  EXPECT_EQ(*hub.first_version("alice/m"), 2u);
}

// The fault: all versions of a model went in one turn of the loop, and others waited.
TEST_F(Deletion, OfManyVersionsGoesInPortionsAndAcrossStarts) {
  constexpr std::size_t kVersions = 3 * limits::kRemovalRowsMax + 5;
  std::optional<ModelHub> hub(std::in_place, store_, folder_, clock_);
  const ModelFile file = *hub->stage(digits(1));
  for (std::size_t i = 0; i < kVersions; ++i) {
    ASSERT_TRUE(
        hub->push(alice_, "alice/m", file, {.is_private = i % 2 == 1, .allowed_providers = {}}));
  }
  EXPECT_EQ(*hub->remove(alice_, "alice/m"), kVersions);
  for (std::size_t left = kVersions; left > 0;) {
    hub.emplace(store_, folder_, clock_);  // a start
    ASSERT_TRUE(hub->find_strays());
    EXPECT_TRUE(hub->list(nullptr)->empty());
    EXPECT_FALSE(hub->find(&alice_, "alice/m", 1));
    ASSERT_TRUE(hub->is_purging());
    const std::size_t before = rows("models");
    ASSERT_TRUE(hub->purge());
    left = rows("models");
    EXPECT_EQ(before - left, std::min(before, limits::kRemovalRowsMax));
  }
  EXPECT_EQ(rows("model_files_dropped"), 1u);
}

TEST_F(Deletion, CountsForItsOwnerUntilTheFileIsGone) {
  const auto size = static_cast<std::int64_t>(digits(1).size());
  ModelHub hub(store_, folder_, clock_, {.models_max = 3, .bytes_max = 3 * size});
  const auto room = [&](const Account& whose) {
    std::int64_t most = 0;
    for (int i = 1; i <= 3; ++i) {
      if (!hub.reserve(whose, whose.name + "/a", i * size)) break;
      hub.release(whose, i * size);
      most = i;
    }
    return most;
  };
  ASSERT_TRUE(hub.push(alice_, "alice/a", digits(1), {}));
  ASSERT_TRUE(hub.push(alice_, "alice/a", digits(2), {}));
  EXPECT_EQ(room(alice_), 1);
  ASSERT_TRUE(hub.remove(alice_, "alice/a"));
  EXPECT_EQ(room(alice_), 1);
  purge(hub);
  EXPECT_EQ(room(alice_), 1);
  // The fault: whoever pushed the same content again had others pay for it for ever.
  ASSERT_TRUE(hub.push(bob_, "bob/copy", digits(1), {}));
  EXPECT_EQ(room(alice_), 2);
  EXPECT_EQ(room(bob_), 2);
  clock_.advance_ms(limits::kDroppedFileMs);
  look(hub);
  EXPECT_EQ(room(alice_), 3);
  EXPECT_EQ(files(), 1u);
  const ModelHub::Needs none{.is_needed = [](const core::Digest&) { return false; }};
  ModelHub later(store_, folder_, clock_, {.models_max = 1, .bytes_max = 3 * size});
  EXPECT_FALSE(later.reserve(alice_, "alice/b", 1));  // a deleted name counts for a while
  clock_.advance_ms(limits::kFormerModelMs);
  ASSERT_TRUE(later.remove_files(none));
  EXPECT_TRUE(later.reserve(alice_, "alice/b", 1));
  EXPECT_TRUE(core::read_file(later.path_of(later.find(&bob_, "bob/copy")->content)));
}

// The fault: the file went between the look whether it is there and the version that has it.
TEST_F(Deletion, SparesWhatIsPushedAgainJustNow) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(hub.push(alice_, "alice/m", digits(1), {}));
  ASSERT_TRUE(hub.remove(alice_, "alice/m"));
  purge(hub);
  clock_.advance_ms(limits::kDroppedFileMs);
  {
    const ModelFile file = *hub.stage(digits(1));
    look(hub);
    ASSERT_TRUE(hub.push(bob_, "bob/m", file, {}));
  }
  look(hub);
  EXPECT_EQ(*core::read_file(hub.path_of(hub.find(&bob_, "bob/m")->content)), digits(1));
  // Whoever stages it and pushes nothing holds nothing up.
  ASSERT_TRUE(hub.remove(bob_, "bob/m"));
  purge(hub);
  clock_.advance_ms(limits::kDroppedFileMs);
  ASSERT_TRUE(hub.stage(digits(1)));
  look(hub);
  EXPECT_EQ(files(), 0u);
}

// The fault: what was staged and never became a version lay there for ever, and counted for nobody.
TEST_F(Deletion, FilesThatNeverBecameVersionsCountAndGo) {
  const auto size = static_cast<std::int64_t>(digits(1).size());
  ModelHub hub(store_, folder_, clock_, {.models_max = 3, .bytes_max = size});
  ASSERT_TRUE(hub.drop(alice_, *hub.stage(digits(1))));
  EXPECT_FALSE(hub.reserve(alice_, "alice/a", 1));
  EXPECT_TRUE(hub.stage(digits(2)));  // and a kill
  ASSERT_TRUE(core::write_file_atomically(folder_ / (core::to_hex(core::Digest{}) + ".onnx.Ab12"),
                                          digits(3)));
  ASSERT_TRUE(core::write_file_atomically(folder_ / "readme", digits(3)));
  EXPECT_EQ(files(), 4u);
  ModelHub later(store_, folder_, clock_, {.models_max = 3, .bytes_max = size});
  int told = 0;
  later.on_removals([&] { ++told; });
  ASSERT_TRUE(later.find_strays());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(files(), 3u);
  EXPECT_FALSE(later.reserve(alice_, "alice/a", 1));
  EXPECT_TRUE(later.reserve(bob_, "bob/a", size));
  clock_.advance_ms(limits::kDroppedFileMs);
  look(later);
  EXPECT_EQ(files(), 1u);  // what is not ours
  EXPECT_TRUE(later.reserve(alice_, "alice/a", size));
}

TEST_F(Deletion, LooksAtSoManyFilesAtATimeAndAtAllInTheEnd) {
  constexpr std::size_t kFiles = 2 * limits::kRemovalFilesMax + 3;
  ModelHub hub(store_, folder_, clock_);
  for (std::size_t i = 0; i < kFiles; ++i) {
    core::Digest content{};
    content[0] = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(core::write_file_atomically(
        [&] {
          std::filesystem::create_directories(folder_);
          return hub.path_of(content);
        }(),
        digits(1)));
    if (i < limits::kRemovalFilesMax + 1) needed_.insert(content);
  }
  ASSERT_TRUE(hub.find_strays());
  clock_.advance_ms(limits::kDroppedFileMs);
  look(hub);
  EXPECT_EQ(files(), kFiles);  // those that are needed came first
  look(hub);
  EXPECT_GT(files(), needed_.size());
  look(hub);
  EXPECT_EQ(files(), needed_.size());
}

TEST_F(Deletion, AKillAtAnyWriteLeavesNoVersionWithoutItsFile) {
  for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t at = 0;; ++at) {
      std::filesystem::remove_all(folder_);
      store::MemoryStore disk;
      store::testing::FaultStore breaking(disk, at, fault);
      const auto work = [&](core::Store& store) {
        ModelHub hub(store, folder_, clock_);
        if (!hub.find_strays()) return;
        (void)hub.push(alice_, "alice/m", digits(1), {});
        (void)hub.push(alice_, "alice/m", digits(2), {});
        (void)hub.push(bob_, "bob/m", digits(2), {});
        (void)hub.remove(alice_, "alice/m");
        while (hub.is_purging()) {
          if (!hub.purge()) break;
        }
        clock_.advance_ms(limits::kDroppedFileMs);
        (void)hub.remove_files({.is_needed = [](const core::Digest&) { return false; }});
        (void)hub.push(alice_, "alice/m", digits(1), {});
      };
      work(breaking);
      ModelHub hub(disk, folder_, clock_);
      ASSERT_TRUE(hub.find_strays());
      while (hub.is_purging()) ASSERT_TRUE(hub.purge());
      clock_.advance_ms(limits::kDroppedFileMs);
      ASSERT_TRUE(hub.remove_files({.is_needed = [](const core::Digest&) { return false; }}));
      std::set<core::Digest> contents;
      const auto listed = hub.list(nullptr);
      ASSERT_TRUE(listed);
      for (const ModelPtr& model : *listed) {
        EXPECT_TRUE(core::read_file(hub.path_of(model->content))) << at;
        contents.insert(model->content);
        for (std::uint32_t version = 1; version < model->version; ++version) {
          if (const auto old = hub.find(nullptr, model->name, version))
            contents.insert(old->content);
        }
      }
      EXPECT_EQ(files(), contents.size()) << at;
      if (!breaking.crashed()) break;
    }
  }
}

}  // namespace
}  // namespace commensal::gateway
