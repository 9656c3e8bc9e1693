// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/collocation/guest/lines.hpp>
#include <commensal/collocation/guest/metrics.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <nlohmann/json.hpp>

namespace commensal::guest {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// A host that goes on at the same pace whatever happens, but for noise.
class SteadyProbe final : public probe::Probe {
 public:
  /// It answers once `is_stuck` is false.
  SteadyProbe(const core::Clock& clock, const std::atomic<bool>& is_stuck)
      : clock_(clock), is_stuck_(is_stuck) {}
  const probe::Traits& traits() const override { return traits_; }
  probe::Sample sample() override {
    while (is_stuck_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::int64_t now_ns = clock_.monotonic_ns();
    const double s = static_cast<double>(now_ns - last_ns_) * 1e-9;
    last_ns_ = now_ns;
    work_ += 1000 * s * (1 + 0.001 * noise_.next_unit());
    return {now_ns, work_, probe::State::kFresh, {}};
  }

 private:
  const core::Clock& clock_;
  const std::atomic<bool>& is_stuck_;
  core::CounterRng noise_{3};
  probe::Traits traits_{.unit = "passes", .quantity = probe::Quantity::kWork, .resolution_s = 0.1};
  double work_ = 0;
  std::int64_t last_ns_ = 0;
};

/// A guest with all that it needs.
struct Guest {
  Guest(const core::Path& folder, const std::string& host, double weight, bool first = false,
        const core::Path& memory = {}, std::optional<Promise> asked = {})
      : client(deps(), options(folder, host, weight, memory, asked), lock(folder, first)) {}

  GuestClient::Dependencies deps() {
    return {clock, rng, pacer,
            [](const std::string& spec) { return core::Result<std::string>(spec); },
            [this](const std::string&) {
              return core::Result<std::unique_ptr<probe::Probe>>(
                  std::make_unique<SteadyProbe>(clock, is_stuck));
            }};
  }
  GuestClientOptions options(const core::Path& folder, const std::string& host, double weight,
                             const core::Path& memory, std::optional<Promise> asked) {
    return {.folder = folder,
            .host = host,
            .guest = {::getpid(), "guest", weight, 2, asked},
            .processors = 2,
            .memory = memory,
            .say = [this](const std::string& line) {
              const std::lock_guard guard(mutex);
              lines += line + "\n";
            }};
  }
  static std::optional<Lock> lock(const core::Path& folder, bool first) {
    return first ? Lock::try_take(folder).value() : std::nullopt;
  }
  std::string said() {
    const std::lock_guard guard(mutex);
    return lines;
  }

  core::SystemClock clock;
  core::SystemRng rng;
  DutyPacer pacer;
  std::mutex mutex;
  std::string lines;
  std::atomic<bool> is_stuck = false;
  GuestClient client;
};

template <class Truth>
bool comes(const Truth& truth) {
  for (int i = 0; i < 1000; ++i) {
    if (truth()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class GuestClientTest : public testing::Test {
 protected:
  core::Path folder() const { return made_.path() / "run"; }
  Json status() const {
    const auto line = ask_status(folder(), core::SystemClock());
    return line ? Json::parse(*line).at("status") : Json();
  }

 private:
  core::TemporaryFolder made_ = core::TemporaryFolder::make("client").value();
};

TEST_F(GuestClientTest, LockIsOfOne) {
  {
    const auto first = Lock::try_take(folder());
    ASSERT_TRUE(first && first->has_value());
    EXPECT_FALSE(Lock::try_take(folder()).value().has_value());
  }
  EXPECT_TRUE(Lock::try_take(folder()).value().has_value());
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  EXPECT_EQ(Lock::try_take(folder()).error().code, core::ErrorCode::kPermissionDenied);
}

TEST_F(GuestClientTest, GuestsJoinOneGovernor) {
  Guest first(folder(), "process:1", 3, true);
  ASSERT_TRUE(comes([&] { return first.client.view().has_joined; }));
  Guest second(folder(), "process:2", 1);  // one after the other: status lists them as they came
  ASSERT_TRUE(comes([&] { return second.client.view().has_joined; }));
  Guest third(folder(), "auto", 1);
  ASSERT_TRUE(comes([&] { return third.client.view().has_joined; }));
  EXPECT_TRUE(first.client.view().view.has_value());
  EXPECT_FALSE(second.client.view().view.has_value());
  EXPECT_THAT(second.said(), HasSubstr("keeps process:1, not process:2"));
  EXPECT_THAT(third.said(), HasSubstr("keeps process:1: guests may cost it at most 1 % of an "
                                      "hour and 3 % of any minute\n"));
  second.client.tell({.wants = true, .served = 17, .served_per_s = 0.5, .earned_per_hour = {}});
  ASSERT_TRUE(comes([&] { return status()["guests"][1]["served"] == 17; }));
  const Json now = status();
  EXPECT_EQ(now["guests"].size(), 3U);
  EXPECT_EQ(now["host"]["spec"], "process:1");
  EXPECT_NEAR(now["host"]["confidence"].get<double>(), 0.95, 0.0001);
  EXPECT_TRUE(now["guests"][1]["earned_per_hour"].is_null());
}

constexpr Promise kStrict{0.001, 0.02, {}};
constexpr Promise kLoose{0.02, 0.03, {}};

// Who asked for it may be gone: the others go on keeping it, whatever they asked for themselves.
TEST_F(GuestClientTest, TheStrictestPromiseIsInherited) {
  auto first = std::make_unique<Guest>(folder(), "process:1", 1, true, core::Path(), kStrict);
  ASSERT_TRUE(comes([&] { return first->client.view().has_joined; }));
  EXPECT_EQ(status()["host"]["promise"], 0.001);
  Guest second(folder(), "process:1", 1, false, {}, kLoose);
  ASSERT_TRUE(comes([&] { return second.client.view().has_joined; }));
  EXPECT_THAT(second.said(),
              HasSubstr("at most 0.1 % of an hour and 2 % of any minute, not at most "
                        "2 % of an hour and 3 % of any minute\n"));
  first.reset();
  ASSERT_TRUE(comes([&] { return second.client.view().view.has_value(); }));
  EXPECT_EQ(status()["host"]["promise"], 0.001);
  EXPECT_EQ(status()["host"]["promise_minute"], 0.02);
  EXPECT_THAT(second.said(), HasSubstr("governor and keeps process:1: guests may cost it at most "
                                       "0.1 %"));
}

// ... and whoever governs takes it over from who joins, for good; the rest hear of it.
TEST_F(GuestClientTest, AStricterGuestBindsItsGovernor) {
  Guest first(folder(), "process:1", 1, true, {}, kLoose);
  ASSERT_TRUE(comes([&] { return first.client.view().has_joined; }));
  EXPECT_EQ(status()["host"]["promise"], 0.02);
  Guest second(folder(), "process:1", 1);
  ASSERT_TRUE(comes([&] { return second.client.view().has_joined; }));
  EXPECT_THAT(second.said(), HasSubstr("at most 2 % of an hour and 3 % of any minute\n"));
  {
    Guest third(folder(), "process:1", 1, false, {}, kStrict);
    ASSERT_TRUE(comes([&] { return third.client.view().has_joined; }));
    EXPECT_THAT(third.said(), HasSubstr("at most 0.1 % of an hour and 2 % of any minute\n"));
    EXPECT_TRUE(comes([&] { return first.said().find("asked for less") != std::string::npos; }));
    EXPECT_TRUE(comes([&] { return second.said().find("0.1 %") != std::string::npos; }));
  }
  ASSERT_TRUE(comes([&] { return status()["guests"].size() == 2; }));
  EXPECT_EQ(status()["host"]["promise"], 0.001);
}

// The fault: the governor first waited for a look at its host to end, its guests meanwhile for it.
TEST_F(GuestClientTest, AStricterGuestWaitsForNoProbe) {
  Guest first(folder(), "process:1", 1, true);
  ASSERT_TRUE(comes([&] { return status().contains("host"); }));
  first.is_stuck = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(1'200));  // it is looked at by now
  Guest second(folder(), "auto", 1, false, {}, Promise{0.001, 0.03, {}});
  const bool has_joined = comes([&] { return second.client.view().has_joined; });
  Json seen = status();  // nothing, where it waits
  first.is_stuck = false;
  EXPECT_TRUE(has_joined);
  EXPECT_EQ(seen["host"]["promise"], 0.001);
}

TEST(Promises, TheStricterKeepsBoth) {
  EXPECT_EQ(stricter({0.01, 0.02, {}}, {0.005, 0.03, {}}), (Promise{0.005, 0.02, {}}));
  EXPECT_EQ(stricter({0.01, 0.03, {}}, {0.1, 0.1, 5.0}), (Promise{0.01, 0.03, 5.0}));
  EXPECT_EQ(stricter({0.1, 0.1, 7.0}, {0.1, 0.1, 5.0}), (Promise{0.1, 0.1, 7.0}));
  EXPECT_EQ(stricter({0.1, 0.1, 7.0}, {0.01, 0.03, {}}), (Promise{0.01, 0.03, 7.0}));
}

// Nobody has begun, or who did is gone and left its socket: no matter for operators.
TEST_F(GuestClientTest, NoGovernorIsSaidAsSuch) {
  const auto why = [&] { return ask_status(folder(), core::SystemClock()).error().message; };
  EXPECT_EQ(why(), "no governor runs here; `commensal provider --host ...` starts one");
  ASSERT_TRUE(Lock::try_take(folder()));
  ASSERT_TRUE(listen_at(socket_of(folder())));
  EXPECT_EQ(why(), "no governor runs here; `commensal provider --host ...` starts one");
}

// What was learnt of a host is there at the next start; what is damaged is said, and no hindrance.
TEST_F(GuestClientTest, KeepsWhatItHasLearnt) {
  const core::Path memory = folder() / "hosts";
  const auto begin = [&] {
    Guest guest(folder(), "process:1", 1, true, memory);
    EXPECT_TRUE(comes([&] { return guest.client.view().has_joined; }));
    return guest.said();
  };
  EXPECT_THAT(begin(), Not(HasSubstr("learnt anew")));
  const auto file = std::filesystem::directory_iterator(memory)->path();
  const Json kept = Json::parse(core::as_text(core::read_file(file).value()));
  EXPECT_TRUE(kept.at("hour").at("explored_s").is_number());
  EXPECT_THAT(begin(), Not(HasSubstr("learnt anew")));
  ASSERT_TRUE(core::write_file_atomically(file, core::as_bytes("{")));
  EXPECT_THAT(begin(), HasSubstr(file.string() + " is damaged"));
  EXPECT_THAT(begin(), Not(HasSubstr("learnt anew")));
}

class TakeOver : public GuestClientTest,
                 public testing::WithParamInterface<std::pair<const char*, const char*>> {};

// The governor's process is killed while a guest runs: it stands still, takes over, and keeps the
// host that it was told, or if it was told none, the same.
TEST_P(TakeOver, GuestOfADeadGovernorStandsStillAndTakesOver) {
  ASSERT_TRUE(Lock::try_take(folder()));  // the folder is there
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = Lock::try_take(folder());
    GovernorServer server = GovernorServer::open(socket_of(folder()), "process:1", {}, 2).value();
    for (double s = 0;; s += 0.01) {
      server.listen(10, s, [] { return std::string(); });
      (void)server.share(s, 0.5, {});
    }
  }
  ASSERT_TRUE(comes([&] { return Lines::connect(socket_of(folder()), 1).has_value(); }));
  Guest guest(folder(), GetParam().first, 1);
  EXPECT_TRUE(comes([&] { return guest.pacer.level() > 0; }));
  const std::int64_t killed_ns = guest.clock.monotonic_ns();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(comes([&] { return guest.pacer.level() == 0; }));
  EXPECT_LT(guest.clock.monotonic_ns() - killed_ns, 1'000'000'000);
  ASSERT_TRUE(comes([&] { return guest.client.view().view.has_value(); }));
  EXPECT_EQ(status()["host"]["spec"], GetParam().second);
  const bool is_same = GetParam().second == std::string_view("process:1");
  EXPECT_EQ(guest.said().find("; nobody keeps process:1 any more") == std::string::npos, is_same);
}
INSTANTIATE_TEST_SUITE_P(Hosts, TakeOver,
                         testing::Values(std::pair("process:2", "process:2"),
                                         std::pair("auto", "process:1")));

// One that neither dies nor speaks is as good as gone.
TEST_F(GuestClientTest, GuestOfASilentGovernorStandsStill) {
  auto held = Lock::try_take(folder()).value();
  auto server = GovernorServer::open(socket_of(folder()), "process:1", {}, 2).value();
  Guest guest(folder(), "auto", 1);
  ASSERT_TRUE(comes([&] {
    server.listen(10, 0, [] { return std::string(); });
    (void)server.share(0, 0.5, {});
    return guest.pacer.level() > 0;
  }));
  EXPECT_TRUE(comes([&] { return guest.pacer.level() == 0; }));
}

// Levels go by weight, over the socket; who talks nonsense or too much is cut off.
TEST_F(GuestClientTest, ServerDividesAndBearsAnything) {
  auto lock = Lock::try_take(folder()).value();
  auto server = GovernorServer::open(socket_of(folder()), "process:1", {1, "own", 1, 2}, 4).value();
  EXPECT_EQ(server.capacity(), 2);
  auto one = Lines::connect(socket_of(folder()), limits::kGuestLineBytesMax).value();
  auto mad = Lines::connect(socket_of(folder()), limits::kGuestLineBytesMax).value();
  auto loud = Lines::connect(socket_of(folder()), limits::kGuestLineBytesMax).value();
  one.send(line_of(Join{2, "one", 3, 2}));
  one.send(line_of(Report{.wants = true}));
  mad.send("nonsense");
  loud.send(std::string(3 * limits::kGuestLineBytesMax, 'x'));
  for (int i = 0; i < 3; ++i) server.listen(10, 1, [] { return std::string(); });
  EXPECT_EQ(server.capacity(), 4);
  EXPECT_DOUBLE_EQ(server.share(1, 0.2, {.wants = true}), 0.1);
  ASSERT_EQ(server.guests().size(), 2U);
  one.receive();
  EXPECT_EQ(std::get<Joined>(parse_to_guest(one.next().value()).value()).host, "process:1");
  EXPECT_DOUBLE_EQ(std::get<Level>(parse_to_guest(one.next().value()).value()).level, 0.3);
  mad.receive();
  loud.receive();
  EXPECT_FALSE(mad.is_open());
  EXPECT_FALSE(loud.is_open());
  server.listen(0, 20, [] { return std::string(); });  // one has said nothing for nineteen seconds
  EXPECT_EQ(server.guests().size(), 1U);
  EXPECT_EQ(server.capacity(), 4);
}

TEST(MetricsServerTest, ServesARealClient) {
  const core::SystemClock clock;
  bool is_gone = false;
  const auto text = [&]() -> core::Result<std::string> {
    if (is_gone) return core::fail(core::ErrorCode::kUnavailable, "gone");
    return "commensal_guests 2\n";
  };
  const auto server = MetricsServer::start("127.0.0.1:0", clock, text);
  ASSERT_TRUE(server) << server.error().message;
  probe::Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = (*server)->port();
  EXPECT_EQ(probe::http_get(endpoint, "/metrics", clock, 2000).value(), "commensal_guests 2\n");
  EXPECT_THAT(probe::http_get(endpoint, "/", clock, 2000).error().message, HasSubstr("404"));
  is_gone = true;
  EXPECT_THAT(probe::http_get(endpoint, "/metrics", clock, 2000).error().message, HasSubstr("503"));
  EXPECT_FALSE(MetricsServer::start("nowhere", clock, {}));
  EXPECT_FALSE(MetricsServer::start("127.0.0.1:99999", clock, {}));
}

}  // namespace
}  // namespace commensal::guest
