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
  const governor::Rules usual;
  const auto none = parse("--host auto").value().client;
  EXPECT_DOUBLE_EQ(none.rules.promise, usual.promise);
  EXPECT_DOUBLE_EQ(none.rules.minute_promise, usual.minute_promise);
  EXPECT_DOUBLE_EQ(none.rules.set_point, usual.set_point);
  EXPECT_FALSE(none.is_for_income);
  const auto half = parse("--host-loss-max 0.5% --host-loss-minute-max 0.06").value().client;
  EXPECT_DOUBLE_EQ(half.rules.promise, 0.005);
  EXPECT_DOUBLE_EQ(half.rules.minute_promise, 2 * usual.minute_promise);
  EXPECT_DOUBLE_EQ(half.rules.set_point, usual.set_point / 2);
  const auto income = parse("--host-kept-min 90% --host-income-per-hour 5").value().client;
  EXPECT_TRUE(income.is_for_income);
  EXPECT_NEAR(income.rules.promise, 0.1, 1e-12);
  EXPECT_GE(income.rules.minute_promise, usual.minute_promise);
}

TEST(HostOptions, RefuseByOneLine) {
  for (const auto& [line, part] : {
           std::pair("--host-loss-max lots", "'lots' is no share"),
           {"--host-loss-max 0", "'0' is no share"},
           {"--host-loss-max=-1%", "'-1%' is no share"},
           {"--host-loss-max 101%", "'101%' is no share"},
           {"--host-loss-max nan", "'nan' is no share"},
           {"--host-loss-minute-max 3%%", "'3%%' is no share"},
           {"--host-loss-max 4% --host-loss-minute-max 3%", "less than what an hour may lose"},
           {"--host-kept-min 90%", "--host-income-per-hour"},
           {"--host-kept-min 100% --host-income-per-hour 1", "leaves guests nothing"},
           {"--host-kept-min 90% --host-income-per-hour 1 --host-loss-max 1%", "one of them"},
       }) {
    const auto made = parse(line);
    ASSERT_FALSE(made) << line;
    EXPECT_THAT(made.error().message, HasSubstr(part));
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace commensal::apps
