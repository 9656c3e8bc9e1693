// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/repository.hpp>

namespace commensal::gateway {
namespace {

core::Bytes bytes_of(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

class RepositoryTest : public ::testing::Test {
 protected:
  /// As after a new start.
  Repository again() { return Repository(store_); }

  store::MemoryStore store_;
  Repository repository_{store_};
};

TEST_F(RepositoryTest, AnAliasOutlivesTheGateway) {
  ASSERT_TRUE(repository_.set_alias("simple", "alice/simple"));
  EXPECT_EQ(*repository_.resolve("simple"), "alice/simple");
  EXPECT_EQ(*repository_.resolve("alice/simple"), "alice/simple");
  Repository other = again();
  EXPECT_EQ(*other.resolve("simple"), "alice/simple");
  ASSERT_TRUE(other.set_alias("simple", "bob/simple"));
  EXPECT_EQ(*other.resolve("simple"), "bob/simple");
  ASSERT_TRUE(other.remove_alias("simple"));
  EXPECT_EQ(other.remove_alias("simple").error().code, core::ErrorCode::kNotFound);
  EXPECT_EQ(*again().resolve("simple"), "simple");
}

TEST_F(RepositoryTest, AnAliasIsOneShortName) {
  const std::string long_name(65, 'a');
  for (const std::string name : {"", "a/b", ".a", "a b", "ready", "stats", "config"})
    EXPECT_FALSE(repository_.set_alias(name, "alice/m")) << name;
  EXPECT_FALSE(repository_.set_alias(long_name, "alice/m"));
  EXPECT_TRUE(repository_.set_alias("a.b-C_9", "alice/m"));
}

TEST_F(RepositoryTest, ConfigurationsAreOfVersions) {
  EXPECT_TRUE((*repository_.config("alice/m", 1))->config.empty());
  const ServingConfig said{
      .config = bytes_of("{}"), .override = {}, .files = {{"labels.txt", bytes_of("cat")}}};
  ASSERT_TRUE(repository_.set_config("alice/m", 2, said));
  EXPECT_TRUE((*repository_.config("alice/m", 1))->config.empty());
  const auto kept = *again().config("alice/m", 2);
  EXPECT_EQ(kept->config, said.config);
  ASSERT_EQ(kept->files.size(), 1u);
  EXPECT_EQ(kept->files[0].name, "labels.txt");
  const auto before = *repository_.config("alice/m", 2);
  EXPECT_EQ(before, *repository_.config("alice/m", 2));
  ASSERT_TRUE(repository_.set_config("alice/m", 2, {}));
  EXPECT_NE(before, *repository_.config("alice/m", 2));
}

TEST_F(RepositoryTest, AVersionIsOfTheClassThatWasSaidLast) {
  const auto classes = [](Repository& repository) {
    std::vector<std::string> all;
    for (std::uint32_t version = 1; version <= 4; ++version)
      all.push_back((*repository.config("alice/m", version))->privacy_class);
    return all;
  };
  const auto are = [&](std::vector<std::string> all) {
    Repository other = again();
    EXPECT_EQ(classes(repository_), all);
    EXPECT_EQ(classes(other), all);
  };
  const ServingConfig said{.config = bytes_of("{}"), .override = {}, .files = {}};
  are({"", "", "", ""});
  ASSERT_TRUE(repository_.set_config("alice/m", 2, said, "medical"));
  are({"", "medical", "medical", "medical"});
  ASSERT_TRUE(repository_.set_config("alice/m", 2, {}));  // which says nothing of it
  ASSERT_TRUE(repository_.set_config("alice/m", 3, said));
  are({"", "medical", "medical", "medical"});
  ASSERT_TRUE(repository_.set_config("alice/m", 3, said, "legal"));
  are({"", "medical", "legal", "legal"});
  ASSERT_TRUE(repository_.set_config("alice/m", 4, said, ""));
  ASSERT_TRUE(repository_.set_config("alice/m", 1, said, "tax"));
  are({"tax", "medical", "legal", ""});
  for (const char* other : {"alice/m2", "alice/", "alice/n", "a/m"})
    EXPECT_EQ((*repository_.config(other, 4))->privacy_class, "") << other;
}

TEST_F(RepositoryTest, WhatIsUnloadedStaysSo) {
  EXPECT_TRUE(*repository_.is_loaded("alice/m"));
  ASSERT_TRUE(repository_.set_loaded("alice/m", false));
  EXPECT_FALSE(*again().is_loaded("alice/m"));
  EXPECT_TRUE(*again().is_loaded("alice/n"));
  ASSERT_TRUE(repository_.set_loaded("alice/m", true));
  EXPECT_TRUE(*again().is_loaded("alice/m"));
}

}  // namespace
}  // namespace commensal::gateway
