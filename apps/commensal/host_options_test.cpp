// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/host_options.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

core::Result<guest::GuestProcessOptions> parse(const std::string& line) {
  CLI::App app;
  HostOptions options;
  options.declare(app);
  try {
    app.parse(line);
  } catch (const CLI::Error& error) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{}", error.what());
  }
  return options.settle();
}

TEST(HostOptions, PromiseWhatTheOwnerSays) {
  const auto asked = [](const std::string& line) {
    return parse("--host auto " + line).value().client.guest.asked;
  };
  EXPECT_FALSE(asked(""));
  EXPECT_FALSE(asked("--host-income-per-hour 5"));
  EXPECT_EQ(asked("--host-loss-max 0.5% --host-loss-minute-max 0.06"),
            (guest::Promise{0.005, 0.06, {}}));
  EXPECT_EQ(asked("--host-loss-minute-max 2%"), (guest::Promise{0.01, 0.02, {}}));
  EXPECT_EQ(asked("--host-loss-max 5%"), (guest::Promise{0.05, 0.05, {}}));
  const auto income = asked("--host-kept-min 90% --host-income-per-hour 5").value();
  EXPECT_NEAR(income.hour, 0.1, 1e-12);
  EXPECT_EQ(income.minute, income.hour);
  EXPECT_EQ(income.income, 5);
}

TEST(HostOptions, RefuseByOneLine) {
  for (const auto& [line, part] : {
           std::pair("--host-loss-max lots", "'lots' is no share"),
           {"--host-loss-max 0", "'0' is no share"},
           {"--host-loss-max=-1%", "'-1%' is no share"},
           {"--host-loss-max 101%", "'101%' is no share"},
           {"--host-loss-max nan", "'nan' is no share"},
           {"--host-loss-max 1", "'1' is no share"},
           {"--host-loss-minute-max 3%%", "'3%%' is no share"},
           {"--host-loss-max 4% --host-loss-minute-max 3%", "less than what an hour may lose"},
           {"--host-kept-min 90%", "needs to know what the host earns: --host-income-per-hour"},
           {"--host-kept-min 100% --host-income-per-hour 1", "leaves guests nothing"},
           {"--host-kept-min 90% --host-income-per-hour 1 --host-loss-max 1%", "one of them"},
       }) {
    const auto made = parse("--host auto " + std::string(line));
    ASSERT_FALSE(made) << line;
    EXPECT_THAT(made.error().message, HasSubstr(part));
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  }
}

// Nor is a host that is none (an empty one: tests/e2e/newcomer_test.cpp).
TEST(HostOptions, RefuseAHostThatIsNotThere) {
  const auto made = parse("--host process:999999999");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("no process 999999999"));
  EXPECT_EQ(parse("--host process:xmrig").error().message,
            "--host 'process:xmrig', expected process:PID, a number");
}

// Nothing about a host is ignored where there is none: its owner would believe it to be protected.
TEST(HostOptions, AreAboutAHost) {
  for (const char* line :
       {"--host-loss-max 0.1%", "--host-loss-minute-max 3%", "--host-income-per-hour 5",
        "--host-kept-min 90% --host-income-per-hour 5", "--weight 3"}) {
    const auto made = parse(line);
    ASSERT_FALSE(made) << line;
    EXPECT_THAT(made.error().message, HasSubstr(" is about a host: --host says which"));
    EXPECT_TRUE(parse(std::string(line) + " --host auto")) << line;
  }
  EXPECT_TRUE(parse(""));
  EXPECT_TRUE(parse("--guest-memory-max 1GiB")) << "a limit of this process alone";
}

}  // namespace
}  // namespace commensal::apps
