// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/limits_probes.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/testing/fake_server.hpp>

namespace commensal::probe {
namespace {

using namespace testing;
using ::testing::HasSubstr;

void put(const core::Path& path, const std::string& text, bool at_end = false) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, at_end ? std::ios::app : std::ios::trunc) << text;
}

class LocalProbes : public ::testing::Test {
 protected:
  std::unique_ptr<Probe> made(const std::string& spec) {
    auto probe = open(spec, deps_);
    EXPECT_TRUE(probe) << probe.error().message;
    return std::move(*probe);
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("probe");
  const core::Path file_ = folder_.path() / "file";
  core::ManualClock clock_;
  const Dependencies deps_{clock_, folder_.path() / "proc"};
};

TEST_F(LocalProbes, ReadACounter) {
  const auto probe = made("counter:" + file_.string());
  EXPECT_THAT(probe->sample().why, HasSubstr("cannot read"));
  put(file_, "12345\n");
  const Sample sample = probe->sample();
  EXPECT_TRUE(sample.is_fresh());
  EXPECT_EQ(sample.value, 12345);
  for (const char* bad : {"", "\n", "12 13", "0x12", "-3", "nan", "inf", "1e400", "many"}) {
    put(file_, bad);
    EXPECT_EQ(probe->sample().state, State::kInvalid) << bad;
    EXPECT_THAT(probe->sample().why, HasSubstr("the counter is")) << bad;
  }
  put(file_, std::string(limits::kProbeCounterBytesMax + 1, '1'));
  EXPECT_THAT(probe->sample().why, HasSubstr("more than"));
  EXPECT_THAT(made("counter:" + folder_.path().string())->sample().why,
              HasSubstr("no regular file"));
}

TEST_F(LocalProbes, TellWhatStandsStill) {
  put(file_, "7");
  const auto probe = made("counter:" + file_.string());
  const double limit_s = probe->traits().stale_after_s;
  EXPECT_TRUE(probe->sample().is_fresh());
  clock_.advance_ms(static_cast<std::int64_t>(limit_s * 1000));
  EXPECT_TRUE(probe->sample().is_fresh());
  clock_.advance_ms(1000);
  const Sample still = probe->sample();
  EXPECT_EQ(still.state, State::kStale);
  EXPECT_EQ(still.value, 7);
  EXPECT_THAT(still.why, HasSubstr("has not moved for 31 s"));
  put(file_, "8");
  EXPECT_TRUE(probe->sample().is_fresh());
}

TEST_F(LocalProbes, FollowALog) {
  const auto probe = made("log:" + file_.string() + "#step (\\d+)");
  EXPECT_THAT(probe->sample().why, HasSubstr("cannot read"));
  put(file_, "loading\n");
  EXPECT_THAT(probe->sample().why, HasSubstr("no line"));
  put(file_, recorded("training.log"), true);
  EXPECT_EQ(probe->sample().value, 200);
  put(file_, "step 300 loss 1.9\nstep 4", true);
  EXPECT_EQ(probe->sample().value, 300) << "half a line is none";
  put(file_, "00 loss 1.8\n", true);
  EXPECT_EQ(probe->sample().value, 400);
  // Rotated: what was written to the old file at its end counts before the new one.
  put(file_, "step 450\n", true);
  std::filesystem::rename(file_, folder_.path() / "file.1");
  EXPECT_EQ(probe->sample().value, 450);
  put(folder_.path() / "file.1", "step 470\n", true);
  put(file_, "hello\n");
  EXPECT_EQ(probe->sample().value, 470);
  put(file_, "step 500\n", true);
  EXPECT_EQ(probe->sample().value, 500);
  put(file_, "step 600 \xE9\r\n", true);
  EXPECT_EQ(probe->sample().value, 600) << "any encoding, either end of line";
  put(file_, "step 1\n");  // truncated in place, and shorter
  EXPECT_EQ(probe->sample().value, 1);
}

TEST_F(LocalProbes, BoundWhatALogMayAsk) {
  put(file_, "step 1\n" + std::string(3 * limits::kProbeLogBytesMax, 'x') + "\nstep 2\n");
  const auto probe = made("log:" + file_.string() + "#step (\\d+)");
  EXPECT_EQ(probe->sample().value, 2);
  put(file_, "step 3" + std::string(10 * limits::kProbeLineBytesMax, ' ') + "\n", true);
  EXPECT_EQ(probe->sample().value, 3) << "the beginning of a long line counts";
  put(file_, std::string(2 * limits::kProbeLogBytesMax, 'x') + "step 4\n", true);
  EXPECT_EQ(probe->sample().value, 3) << "a line without its beginning does not";
  put(file_, std::string(limits::kProbeLineBytesMax, 'x') + "y\n");
  const auto slow = made("log:" + file_.string() + "#^(x+x+)+z");
  EXPECT_THAT(slow->sample().why, HasSubstr("no line")) << "in linear time, or never";
  put(file_, "rate 12.5/s\nrate none/s\n");
  const auto rate = made("log:" + file_.string() + "#rate:rate (\\S+)/s");
  EXPECT_EQ(rate->traits().quantity, Quantity::kRate);
  EXPECT_THAT(rate->sample().why, HasSubstr("the log's figure is 'none'"));
}

TEST_F(LocalProbes, SeeLifeInALineThatRepeats) {
  put(file_, "rate 12.5\n");
  const auto probe = made("log:" + file_.string() + "#rate:rate (\\S+)");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(probe->sample().is_fresh());
    clock_.advance_ms(50'000);
    put(file_, "rate 12.5\n", true);
  }
  clock_.advance_ms(50'000);
  EXPECT_TRUE(probe->sample().is_fresh());
  clock_.advance_ms(61'000);
  EXPECT_EQ(probe->sample().state, State::kStale);
}

TEST_F(LocalProbes, ReadAProcess) {
  const core::Path stat = folder_.path() / "proc/4711/stat";
  const auto probe = made("process:4711");
  EXPECT_THAT(probe->sample().why, HasSubstr("no process 4711"));
  put(stat, recorded("stat.txt"));
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_TRUE(probe->sample().is_fresh());
  EXPECT_DOUBLE_EQ(probe->sample().value, 300 / ticks);
  put(stat, bent(recorded("stat.txt"), " R ", " Z "));
  EXPECT_THAT(probe->sample().why, HasSubstr("has ended"));
  put(stat, bent(recorded("stat.txt"), "123456", "123457"));
  EXPECT_THAT(probe->sample().why, HasSubstr("another's now"));
  put(stat, "rubbish");
  EXPECT_EQ(probe->sample().state, State::kInvalid);
}

TEST_F(LocalProbes, ReadThisProcess) {
  const Dependencies deps{clock_};
  const auto probe = *open("process:" + std::to_string(getpid()), deps);
  const Sample first = probe->sample();
  ASSERT_TRUE(first.is_fresh()) << first.why;
  volatile double work = 0;
  while (probe->sample().value <= first.value) {
    for (int i = 0; i < 1'000'000; ++i) work = work + i;
  }
  EXPECT_LT(probe->sample().value, first.value + 60);
}

TEST(Specs, RefuseInOneLine) {
  const core::ManualClock clock{};
  const Dependencies deps{clock};
  const std::pair<std::string, const char*> cases[] = {
      {"", "expected KIND:WHERE"},
      {"xmrig", "expected KIND:WHERE"},
      {":x", "expected KIND:WHERE"},
      {"cgminer:http://127.0.0.1:1", "there are xmrig, lolminer"},
      {"xmrig:127.0.0.1:4067", "expected http://HOST:PORT"},
      {"xmrig:https://127.0.0.1:4067", "expected http://HOST:PORT"},
      {"xmrig:http://127.0.0.1", "expected http://HOST:PORT"},
      {"xmrig:http://127.0.0.1:0", "expected http://HOST:PORT"},
      {"xmrig:http://127.0.0.1:65536", "expected http://HOST:PORT"},
      {"xmrig:http://miner.example:80", "numeric HOST"},
      {"xmrig:http://127.0.0.1:80/a b", "expected http://HOST:PORT"},
      {"xmrig:http://127.0.0.1:80\r\nX: y", "expected http://HOST:PORT"},
      {"xmrig:tcp://127.0.0.1:4067", "speaks HTTP"},
      {"xmrig:http://127.0.0.1:4067#x", "nothing after '#'"},
      {"prometheus:http://127.0.0.1:9100", "#METRIC"},
      {"prometheus:http://127.0.0.1:9100#{", "expected a metric"},
      {"log:/x", "expected log:PATH#REGEX"},
      {"log:/x#step", "has no group"},
      {"log:/x#(", "no regular expression: missing )"},
      {"log:/x#(a)\\1", "no regular expression"},
      {"log:/x#((a{999}){999})", "no regular expression"},
      {"log:/x#(" + std::string(300, 'a') + ")", "at most 256 bytes"},
      {"counter:/x#y", "nothing after '#'"},
      {"process:0", "expected process:PID"},
      {"process:1x", "expected process:PID"},
      {"counter:" + std::string(2000, 'x'), "at most 1024 bytes"},
  };
  for (const auto& [spec, why] : cases) {
    const auto probe = open(spec, deps);
    ASSERT_FALSE(probe) << spec;
    EXPECT_EQ(probe.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_THAT(probe.error().message, HasSubstr(why)) << spec;
    EXPECT_EQ(probe.error().message.find('\0'), std::string::npos);
  }
  for (const char* good : {"xmrig:http://localhost:4067", "xmrig:http://[::1]:4067/x",
                           "excavator:tcp://10.0.0.1:3456", "log:/x#a (b)", "counter:x"})
    EXPECT_TRUE(open(good, deps)) << good;
}

TEST(Meter, MakesRatesOfCounters) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Meter meter({"steps", Quantity::kWork, 1, 0, 30}, 10);
  const auto add = [&](std::int64_t s, double value, State state = State::kFresh) {
    return meter.add({s * kSecond, value, state, {}});
  };
  for (std::int64_t s = 0; s < 10; ++s) EXPECT_FALSE(add(s, 5.0 * static_cast<double>(s)));
  auto reading = add(10, 50);
  ASSERT_TRUE(reading);
  EXPECT_DOUBLE_EQ(reading->rate, 5);
  EXPECT_DOUBLE_EQ(reading->over_s, 10);
  EXPECT_DOUBLE_EQ(reading->at_s, 10);
  EXPECT_FALSE(add(10, 50)) << "the same moment again";
  EXPECT_DOUBLE_EQ(add(15, 125)->rate, 10);  // since 5 s: (125 - 25) / 10
  EXPECT_FALSE(add(16, 3)) << "the counter began anew";
  EXPECT_FALSE(add(25, 93));
  EXPECT_DOUBLE_EQ(add(26, 103)->rate, 10);
  EXPECT_FALSE(add(27, 113, State::kStale));
  EXPECT_FALSE(add(28, 123)) << "and after a stale one";
}

TEST(Meter, SpansNoHole) {
  Meter meter({"steps", Quantity::kWork, 1, 0, 30}, 1);
  const auto add = [&](std::int64_t s, double value) {
    return meter.add({s * 1'000'000'000, value, State::kFresh, {}});
  };
  EXPECT_FALSE(add(0, 0));
  EXPECT_DOUBLE_EQ(add(29, 58)->rate, 2);
  EXPECT_FALSE(add(61, 90)) << "nobody looked for longer than a figure lives";
  EXPECT_DOUBLE_EQ(add(62, 95)->rate, 5);
}

TEST(Meter, CountsByTheProgramsOwnTime) {
  Meter meter({"steps", Quantity::kWork, 1, 0, 30}, 1);
  const auto add = [&](std::int64_t s, double value, double own_s) {
    return meter.add({s * 1'000'000'000, value, State::kFresh, {}, own_s});
  };
  EXPECT_FALSE(add(0, 0, 0));
  const auto reading = add(1, 10, 0.5);
  ASSERT_TRUE(reading);
  EXPECT_DOUBLE_EQ(reading->rate, 20);
  EXPECT_DOUBLE_EQ(reading->over_s, 1);
  EXPECT_FALSE(add(2, 10, 0.5)) << "nothing was worked on";
}

TEST(Meter, CountsByTheTimeTheHostNeeded) {
  Meter meter({"steps", Quantity::kWork, 1, 0, 30}, 1);
  const auto add = [&](std::int64_t s, double value, std::optional<HostSeconds> host) {
    return meter.add({s * 1'000'000'000, value, State::kFresh, {}, {}, false, host});
  };
  EXPECT_FALSE(add(0, 0, HostSeconds{10, 0}));
  const auto reading = add(2, 10, HostSeconds{11, 0.25});
  ASSERT_TRUE(reading);
  EXPECT_DOUBLE_EQ(reading->rate, 8);
  EXPECT_DOUBLE_EQ(reading->given, 0.8);
  EXPECT_DOUBLE_EQ(reading->rate_by_clock, 5);
  EXPECT_DOUBLE_EQ(reading->over_s, 2);
  EXPECT_FALSE(add(3, 20, std::nullopt)) << "from now on by the clock";
  EXPECT_DOUBLE_EQ(add(4, 30, std::nullopt)->rate, 10);
  EXPECT_FALSE(add(5, 40, HostSeconds{1, 1}));
  EXPECT_FALSE(add(6, 50, HostSeconds{0.5, 0})) << "another process";
}

// A miner's mean of ten seconds, of which it was given half.
TEST(Meter, ConvertsRatesByTheClock) {
  Meter meter({"hashes", Quantity::kRate, 1, 10, 30}, 0.25);
  for (std::int64_t s = 0; s <= 20; ++s) {
    const double run_s = static_cast<double>(s) * 2;  // four threads, of which two run
    const auto reading =
        meter.add({s * 1'000'000'000, 12, State::kFresh, {}, {}, false, HostSeconds{run_s, run_s}});
    ASSERT_EQ(reading.has_value(), s >= 10);
    if (!reading) continue;
    EXPECT_DOUBLE_EQ(reading->rate, 3);
    EXPECT_DOUBLE_EQ(reading->rate_by_clock, 12);
    EXPECT_DOUBLE_EQ(reading->given, 0.5);
    EXPECT_EQ(reading->over_s, 10);
  }
}

TEST(Meter, PassesRatesOn) {
  Meter meter({"hashes", Quantity::kRate, 1, 60, 30}, 10);
  const auto reading = meter.add({5'000'000'000, 12, State::kFresh, {}});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->rate, 12);
  EXPECT_EQ(reading->over_s, 60);
  EXPECT_FALSE(meter.add({6'000'000'000, 0, State::kInvalid, "gone"}));
}

}  // namespace
}  // namespace commensal::probe
