// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/host_time.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/testing/fake_server.hpp>

namespace commensal::probe {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr int kPid = 4711;
const double kTicks = static_cast<double>(sysconf(_SC_CLK_TCK));

class HostTimes : public ::testing::Test {
 protected:
  HostTimes() { put_stat(300); }

  static void put(const core::Path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void put_stat(int ticks, const std::string& start = "123456") {
    std::string text = bent(recorded("stat.txt"), "123456", start);
    put(process_ / "stat", bent(text, " 250 50 ", fmt::format(" {} 50 ", ticks - 50)));
  }
  void put_thread(int id, double run_s, double wait_s, int slices = 5) {
    put(process_ / "task" / std::to_string(id) / "schedstat",
        fmt::format("{:.0f} {:.0f} {}\n", run_s * 1e9, wait_s * 1e9, slices));
  }
  void end_thread(int id) { std::filesystem::remove_all(process_ / "task" / std::to_string(id)); }
  /// A socket that listens at 127.0.0.1:4067, or another port, and the process that has it.
  void put_listener(int port = 4067) {
    put(proc_ / "uptime", "1235.00 1.00\n");  // it began at 1234.56 s, of 100 ticks
    const std::string at = fmt::format("{:04X}", port);
    const std::string rest = "00000000:00000000 00:00000000 00000000 0 0";
    put(proc_ / "net/tcp",
        "  sl  local_address rem_address   st\n"
        "   0: 0200007F:" +
            at + " 00000000:0000 0A " + rest + " 75 1\n" + "   1: 0100007F:" + at +
            " 00000000:0000 0A " + rest + " 77 1\n" + "   2: 0100007F:" + at +
            " 0100007F:BBF8 01 " + rest + " 76 1\n");
    std::filesystem::create_directories(process_ / "fd");
    std::filesystem::create_symlink("socket:[77]", process_ / "fd/3");
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("hosttime");
  const core::Path proc_ = folder_.path() / "proc";
  const core::Path process_ = proc_ / std::to_string(kPid);
  core::ManualClock clock_;
  const Dependencies deps_{clock_, proc_};
};

TEST_F(HostTimes, AddThreadsAndKeepWhatEndedOnesHad) {
  HostTime time(proc_, kPid);
  put_thread(1, 1, 7);
  put_thread(2, 1.5, 8);
  auto made = *time.read();
  EXPECT_TRUE(time.has_waits());
  EXPECT_DOUBLE_EQ(made.run_s, 300 / kTicks) << "what it did before is of the process";
  EXPECT_EQ(made.wait_s, 0);
  put_thread(1, 1.5, 7.25);
  put_thread(2, 2, 8.5);
  put_thread(3, 0.25, 0.125);
  made = *time.read();
  EXPECT_NEAR(made.run_s, 300 / kTicks + 1.25, 1e-9);
  EXPECT_NEAR(made.wait_s, 0.875, 1e-9);
  EXPECT_NEAR(made.needed_s(), 300 / kTicks + 2.125, 1e-9);
  end_thread(2);
  put_thread(3, 0.125, 0.0625);  // another one has its number
  made = *time.read();
  EXPECT_NEAR(made.run_s, 300 / kTicks + 1.375, 1e-9);
  EXPECT_NEAR(made.wait_s, 0.9375, 1e-9);
}

TEST_F(HostTimes, CountThreadsThatNobodySaw) {
  HostTime time(proc_, kPid);
  put_thread(1, 1, 0);
  ASSERT_TRUE(time.read());
  put_stat(302);
  EXPECT_DOUBLE_EQ(time.read()->run_s, 300 / kTicks) << "ticks are coarse";
  put_stat(400);
  EXPECT_DOUBLE_EQ(time.read()->run_s, 400 / kTicks);
}

TEST_F(HostTimes, KnowNoWaitsWhereTheKernelKeepsNone) {
  for (const bool has_files : {false, true}) {
    HostTime time(proc_, kPid);
    if (has_files) put_thread(1, 0, 0, 0);
    put_stat(300);
    EXPECT_DOUBLE_EQ(time.read()->run_s, 300 / kTicks);
    put_stat(301);
    EXPECT_DOUBLE_EQ(time.read()->run_s, 301 / kTicks);
    EXPECT_FALSE(time.has_waits());
    const auto probe = *open("process:" + std::to_string(kPid), deps_);
    EXPECT_FALSE(probe->sample().host);
  }
}

TEST_F(HostTimes, AreOfOneProcess) {
  HostTime time(proc_, kPid);
  ASSERT_TRUE(time.read());
  put_stat(300, "123457");
  EXPECT_THAT(time.read().error().message, HasSubstr("another's now"));
  std::filesystem::remove_all(process_);
  EXPECT_THAT(time.read().error().message, HasSubstr("process 4711 has ended"));
}

TEST_F(HostTimes, MakeAProcesssRateTheShareItGot) {
  const auto probe = *open("process:" + std::to_string(kPid), deps_);
  Meter meter(probe->traits(), 1);
  put_thread(1, 1, 0);
  EXPECT_FALSE(meter.add(probe->sample()));
  clock_.advance_ms(4000);
  put_thread(1, 2.5, 0.5);
  const auto rate = meter.add(probe->sample());
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->rate, 0.75, 1e-9);
  EXPECT_NEAR(rate->given, 0.75, 1e-9);
  EXPECT_NEAR(rate->rate_by_clock, 0.375, 1e-9);
  EXPECT_EQ(rate->signal, Signal::kNeededTime);
  EXPECT_THAT(std::string(probe->traits().signals), HasSubstr("not how fast it worked"));
}

TEST_F(HostTimes, StandBesideACounter) {
  const core::Path file = folder_.path() / "steps";
  const auto probe = *open("counter:" + file.string() + "@4711", deps_);
  Meter meter(probe->traits(), 1);
  put(file, "100");
  put_thread(1, 1, 0);
  EXPECT_FALSE(meter.add(probe->sample()));
  clock_.advance_ms(2000);
  put(file, "140");
  put_thread(1, 1.4, 0.1);
  auto rate = meter.add(probe->sample());
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->rate, 80, 1e-6);
  EXPECT_NEAR(rate->given, 0.8, 1e-9);
  EXPECT_NEAR(rate->rate_by_clock, 20, 1e-6);
  // Once it has ended, the counter goes on by the clock, and begins anew.
  std::filesystem::remove_all(process_);
  clock_.advance_ms(1000);
  EXPECT_FALSE(meter.add(probe->sample()));
  clock_.advance_ms(1000);
  put(file, "170");
  rate = meter.add(probe->sample());
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->signal, Signal::kClock);
  EXPECT_NEAR(rate->rate, 30, 1e-6);
}

TEST_F(HostTimes, AreFoundByTheSocketThatListens) {
  EXPECT_FALSE(busy_listener_at(proc_, "127.0.0.1", 4067));
  put_listener();
  EXPECT_EQ(busy_listener_at(proc_, "127.0.0.1", 4067), kPid);
  EXPECT_FALSE(busy_listener_at(proc_, "127.0.0.1", 4068));
  EXPECT_FALSE(busy_listener_at(proc_, "::1", 4067));
  put(proc_ / "uptime", "9000000.00 1.00\n");
  EXPECT_FALSE(busy_listener_at(proc_, "127.0.0.1", 4067)) << "it hardly works";
}

// Ended connections stay in the table for a minute: thousands of them beside a server's tests.
TEST_F(HostTimes, AreFoundAmongManyConnections) {
  put_listener();
  std::ofstream table(proc_ / "net/tcp", std::ios::app);
  for (int i = 0; i < 20'000; ++i)
    table
        << "   3: 0100007F:0FE3 0100007F:BBF8 06 00000000:00000000 03:00000000 00000000 0 0 0 3\n";
  table.close();
  EXPECT_EQ(busy_listener_at(proc_, "127.0.0.1", 4067), kPid);
}

TEST_F(HostTimes, SayWhyTheyAreByTheClock) {
  const core::Path file = folder_.path() / "steps";
  put(file, "100");
  EXPECT_EQ((*open("counter:" + file.string() + "@999999", deps_))->sample().by_clock,
            "no process 999999: by the clock");
  const auto probe = *open("counter:" + file.string() + "@4711", deps_);
  put_thread(1, 1, 0);
  EXPECT_EQ(probe->sample().by_clock, "");
  std::filesystem::remove_all(process_);
  clock_.advance_ms(100);
  EXPECT_EQ(probe->sample().by_clock, "process 4711 has ended: by the clock");
  clock_.advance_ms(100);  // not looked at again yet
  EXPECT_EQ(probe->sample().by_clock, "process 4711 has ended: by the clock");
}

// The listener's process ends, and another one takes its place.
TEST_F(HostTimes, OfAListenerComeBackWithIt) {
  const FakeServer server(
      [](int socket, const std::string&) { FakeServer::put(socket, http_text("steps 7\n")); });
  const auto probe = *open("prometheus:" + server.url() + "/metrics#steps@listener", deps_);
  const std::string nobody = fmt::format(
      "no process that works and listens at port {} may be looked at: by the clock", server.port());
  EXPECT_EQ(probe->sample().by_clock, nobody);
  put_listener(server.port());
  put_thread(1, 1, 0);
  clock_.advance_ms(4'000);
  EXPECT_FALSE(probe->sample().host) << "it is not looked for all the time";
  clock_.advance_ms(2'000);
  EXPECT_TRUE(probe->sample().host);
  std::filesystem::remove_all(process_);
  clock_.advance_ms(1'000);
  EXPECT_EQ(probe->sample().by_clock, "process 4711 has ended: by the clock");
  put_stat(300, "200000");
  put_listener(server.port());
  put_thread(1, 1, 0);
  clock_.advance_ms(6'000);
  const Sample back = probe->sample();
  EXPECT_TRUE(back.host);
  EXPECT_EQ(back.by_clock, "");
}

TEST_F(HostTimes, AreNoListenersElsewhere) {
  for (const char* bad : {"xmrig:http://10.0.0.1:4067@listener", "counter:/x@listener"}) {
    const auto probe = open(bad, deps_);
    ASSERT_FALSE(probe) << bad;
    EXPECT_THAT(probe.error().message, HasSubstr("needs an endpoint on loopback"));
  }
  EXPECT_THAT(open("process:1@2", deps_).error().message, HasSubstr("already"));
  EXPECT_TRUE(open("xmrig:http://token@127.0.0.1:4067", deps_));
  EXPECT_TRUE(open("prometheus:http://127.0.0.1:9100#steps_total@listener", deps_));
}

/// A child that spins, or listens at a socket and spins, on one processor.
class Spinner {
 public:
  explicit Spinner(int processor) : pid_(::fork()) {
    core::check(pid_ >= 0, "there is room for a process");
    if (pid_ != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    for (volatile unsigned work = 0;;) work = work + 1;
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() {
    (void)kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

 private:
  int pid_;
};

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// What a program that always wants a processor gets or waits for is the time by the clock, whoever
// else is there.
TEST(HostTimesOfChildren, RunAndWaitForAllOfTheClock) {
  const int processor = sched_getcpu();
  for (const std::size_t count : {1, 2}) {
    std::vector<std::unique_ptr<Spinner>> children;
    std::vector<HostTime> times;
    for (std::size_t i = 0; i < count; ++i) {
      children.push_back(std::make_unique<Spinner>(processor));
      times.emplace_back("/proc", children.back()->pid());
    }
    nap(200);
    const core::SystemClock clock;
    const std::int64_t began_ns = clock.monotonic_ns();
    std::vector<HostSeconds> before;
    for (HostTime& time : times) before.push_back(*time.read());
    nap(1500);
    const double clock_s = static_cast<double>(clock.monotonic_ns() - began_ns) * 1e-9;
    double run_s = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const HostSeconds now = *times[i].read();
      if (!times[i].has_waits()) GTEST_SKIP() << "the kernel does not account for waits";
      EXPECT_NEAR(now.needed_s() - before[i].needed_s(), clock_s, 0.2) << count;
      run_s += now.run_s - before[i].run_s;
    }
    EXPECT_LE(run_s, clock_s + 0.1) << "they share it";
  }
}

TEST(HostTimesOfChildren, AreFoundByTheSocketThatListens) {
  const FakeServer server([](int, const std::string&) {});  // the child has its socket, too
  EXPECT_FALSE(busy_listener_at("/proc", "127.0.0.1", server.port())) << "this process is no host";
  const Spinner child(sched_getcpu());
  std::optional<int> found;
  for (int i = 0; i < 100 && !found; ++i) {
    nap(50);
    found = busy_listener_at("/proc", "127.0.0.1", server.port());
  }
  EXPECT_EQ(found, child.pid());
}

}  // namespace
}  // namespace commensal::probe
