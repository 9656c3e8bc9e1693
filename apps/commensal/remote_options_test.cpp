// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/commensal/remote_training.hpp>

namespace commensal::apps {
namespace {

std::string refusal(const std::string& line) {
  CLI::App app;
  RemoteTraining remote;
  remote.connection.declare(app);
  remote.declare(app);
  app.parse(line);
  const auto fits = remote.check(false);
  return fits ? "" : fits.error().message;
}

// The fault: the line named no option, and came after the training had been read.
TEST(RemoteOptions, NameTheOptionWhoseAddressIsNone) {
  EXPECT_EQ(refusal("--allow 0x52908400098527886E0F7030069857D2E4169EE7"), "");
  EXPECT_EQ(refusal("--allow 0x52908400098527886E0F7030069857D2E4169EE7 --allow 0x52"),
            "--allow: expected an address of '0x' and 40 hexadecimal digits, found '0x52'");
  EXPECT_EQ(refusal("--public"), "");
}

}  // namespace
}  // namespace commensal::apps
