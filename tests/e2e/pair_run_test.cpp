// SPDX-License-Identifier: Apache-2.0
// Real hosts beside a real guest, for seconds; what the figures are is the benchmark's business.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <commensal/lab/bench/collocation/pair_run.hpp>
#include <fstream>

namespace commensal::lab::bench::collocation {
namespace {

const Arm& arm(std::string_view name) {
  for (const Arm& one : collocation_arms()) {
    if (one.name == name) return one;
  }
  return collocation_arms().front();
}

Place place() { return {COMMENSAL_HOSTS, core::Path(COMMENSAL_SOURCE_DIR) / "models/digits"}; }

TEST(SlowPairRun, MeasuresHostAndGuestByEveryRule) {
  const Pair pair{
      "small", "equihash", {"--n", "96", "--k", "5"}, "equihash_bucket_passes_total", "digits"};
  const core::SystemClock clock;
  core::CounterRng rng(1), coins(2);
  PairRun run(pair, place(), clock, rng, coins);
  const auto alone = run.measure_alone(0.5);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_GT(alone->images_per_s, 0);
  int let = 0, stopped = 0;
  double full = 0;  // images
  for (const Arm& one : collocation_arms()) {
    const auto slice = run.measure({&one, 0}, 3, 1);
    ASSERT_TRUE(slice) << slice.error().message;
    EXPECT_EQ(slice->points.size(), 12U);
    ASSERT_EQ(slice->epochs.size(), 3U);
    const bool is_off = one.law == Law::kNone || one.law == Law::kTgs || one.law == Law::kGovernor;
    for (const Epoch& epoch : slice->epochs) {
      EXPECT_GT(epoch.work, 0) << one.name;
      EXPECT_GT(epoch.work_s, 0) << one.name;
      EXPECT_GT(epoch.to_s, epoch.from_s) << one.name;
      EXPECT_TRUE(epoch.latencies_ms.empty());
      // The first seconds of TGS and of ours are the host's alone.
      if (is_off || !epoch.is_let) {
        EXPECT_EQ(epoch.images, 0) << one.name;
      } else if (one.law == Law::kFull) {
        full += epoch.images;
      }
      ++(epoch.is_let ? let : stopped);
    }
  }
  EXPECT_GT(full, 0);
  EXPECT_GT(let, 5);
  EXPECT_GT(stopped, 5);
}

TEST(PairRun, StartsAServerAnewInEachSlice) {
  const Pair pair{"server", "server", {}, "server_steps_total/server_busy_seconds_total",
                  "digits", true};
  const core::SystemClock clock;
  core::CounterRng rng(1), coins(2);
  PairRun run(pair, place(), clock, rng, coins);
  for (int block = 0; block < 2; ++block) {
    const auto slice = run.measure({&arm("sched_idle"), block}, 4, 2);
    ASSERT_TRUE(slice) << slice.error().message;
    ASSERT_EQ(slice->epochs.size(), 2U);
    for (const Epoch& epoch : slice->epochs) {
      EXPECT_THAT(epoch.latencies_ms, testing::Each(testing::Gt(0)));
      EXPECT_EQ(epoch.unhindered_ms.size(), epoch.latencies_ms.size());
      // Of its stretch alone: some forty to two hundred requests come in a second.
      EXPECT_GT(epoch.latencies_ms.size(), 5U);
      EXPECT_LT(epoch.latencies_ms.size(), 500U);
      EXPECT_GT(epoch.work, 0);
    }
  }
}

bool is_alive(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string number, name, state;
  return (stat >> number >> name >> state) && state != "Z";
}

// A benchmark that is killed leaves no host behind.
TEST(HostProgram, EndsWithWhoStartedIt) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto host = HostProgram::start(core::Path(COMMENSAL_HOSTS) / "server", {});
    const pid_t pid = host ? (*host)->pid() : 0;
    (void)!::write(ends[1], &pid, sizeof pid);
    ::_exit(0);
  }
  pid_t host = 0;
  ASSERT_EQ(::read(ends[0], &host, sizeof host), static_cast<ssize_t>(sizeof host));
  ASSERT_GT(host, 0);
  (void)::waitpid(child, nullptr, 0);
  for (int i = 0; i < 500 && is_alive(host); ++i) ::usleep(20'000);
  EXPECT_FALSE(is_alive(host));
  (void)::close(ends[0]);
  (void)::close(ends[1]);
}

TEST(PairRun, SaysWhatIsMissing) {
  const Pair pair{"none", "no_such_host", {}, "x_total", "digits"};
  const core::SystemClock clock;
  core::CounterRng rng(1), coins(2);
  PairRun run(pair, place(), clock, rng, coins);
  const auto slice = run.measure({&arm("control"), 0}, 1);
  ASSERT_FALSE(slice);
  EXPECT_THAT(slice.error().message, testing::HasSubstr("no_such_host' cannot be started"));
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
