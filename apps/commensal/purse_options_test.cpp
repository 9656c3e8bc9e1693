// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <apps/commensal/money_options.hpp>

namespace commensal::apps {
namespace {

provider::PurseConfig parsed(const std::string& line) {
  CLI::App app;
  provider::PurseConfig purse;
  declare_purse(app, purse);
  app.parse(line);
  return purse;
}

// The library's default is for who plays all parties.
TEST(PurseOptions, AProviderIsStrictAboutEscrowsUnlessItsOwnerSaysOtherwise) {
  EXPECT_TRUE(parsed("").wants_penalty_cover);
  EXPECT_FALSE(parsed("").accepts_uncovered);
  EXPECT_TRUE(parsed("--accept-uncovered").accepts_uncovered);
}

}  // namespace
}  // namespace commensal::apps
