// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/e2e/process.hpp>
#include <thread>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A process that works, with settings that nobody else has.
class Host {
 public:
  Host() {
    pid_ = ::fork();
    if (pid_ != 0) return;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    (void)::sched_setaffinity(0, sizeof first, &first);
    (void)::setpriority(PRIO_PROCESS, 0, 3);
    std::ofstream("/proc/self/oom_score_adj") << 7;
    for (std::atomic<long> passes = 0;; ++passes) {
    }
  }
  ~Host() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string spec() const { return "process:" + std::to_string(pid_); }

  /// All that a guest might have changed.
  Json settings() const {
    const std::string proc = "/proc/" + std::to_string(pid_) + "/";
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    EXPECT_EQ(::sched_getaffinity(pid_, sizeof cpus, &cpus), 0);
    sched_param param{};
    EXPECT_EQ(::sched_getparam(pid_, &param), 0);
    return {{"policy", ::sched_getscheduler(pid_)},
            {"priority", param.sched_priority},
            {"nice", ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid_))},
            {"processors", CPU_COUNT(&cpus)},
            {"first_processor", CPU_ISSET(0, &cpus) != 0},
            {"groups", text_of(proc + "cgroup")},
            {"autogroup", text_of(proc + "autogroup")},
            {"oom_score_adj", text_of(proc + "oom_score_adj")},
            {"limits", text_of(proc + "limits")}};
  }
  /// The processor time that it has had.
  std::string stat() const { return text_of("/proc/" + std::to_string(pid_) + "/stat"); }
  bool goes_on() const {
    const std::string before = stat();
    for (int i = 0; i < 200; ++i) {
      if (stat() != before) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  pid_t pid_ = -1;
};

class Guests : public testing::Test {
 protected:
  /// A provider whose gateway is not there: as a guest it is none the less.
  std::unique_ptr<Process> start(const std::string& name, const std::string& host,
                                 const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "provider", "--gateway", "127.0.0.1:1", "--json", "--data-dir", folder_.at(name),
        "--name",   name,        "--host",      host,     "--threads",  "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto made = std::make_unique<Process>(arguments, folder_.at(name + ".log"));
    said_ = Json::parse(made->read_line(), nullptr, false);
    EXPECT_TRUE(said_.contains("address")) << log(name);
    return made;
  }
  std::string log(const std::string& name) const { return text_of(folder_.at(name + ".log")); }

  static Json status() {
    int code = -1;
    return Json::parse(run({"provider", "status", "--json"}, code), nullptr, false);
  }
  static bool comes(const std::function<bool()>& truth) {
    for (int i = 0; i < 200; ++i) {
      if (truth()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  static bool has_guests(std::size_t count) {
    const Json now = status();
    return now.contains("guests") && now["guests"].size() == count;  // else it is an error
  }
  static std::string metrics(int port) {
    probe::Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    endpoint.port = static_cast<std::uint16_t>(port);
    const auto text = probe::http_get(endpoint, "/metrics", core::SystemClock(), 5000);
    return text ? *text : text.error().message;
  }
  /// The figure behind a metric's name and labels.
  static std::string figure(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  const OwnMachine machine_;
  Folder folder_;
  Json said_;
};

TEST_F(Guests, AreOneCompanyThatItsOperatorSees) {
  const Host host;
  const auto first =
      start("first", host.spec(),
            {"--weight", "3", "--metrics", "127.0.0.1:0", "--host-income-per-hour", "12.5"});
  const int port = said_.at("metrics_port");
  const auto second = start("second", "process:1");
  ASSERT_TRUE(comes([] { return has_guests(2); }));
  EXPECT_THAT(log("second"), HasSubstr("keeps " + host.spec() + ", not process:1"));
  ASSERT_TRUE(comes([] { return status()["host"]["rate"].is_number(); }));

  // What Prometheus reads is what the operator sees, unless a new sample came in between.
  ASSERT_TRUE(comes([&] {
    const Json before = status();
    const std::string text = metrics(port);
    if (before["host"]["rate"] != status()["host"]["rate"]) return false;
    const auto same = [&](const char* name, const Json& value) {
      EXPECT_EQ(std::stod(figure(text, name)), value.get<double>()) << name;
    };
    same("commensal_host_rate{unit=\"seconds of CPU\"}", before["host"]["rate"]);
    same("commensal_host_loss_confidence", before["host"]["confidence"]);
    same("commensal_host_income_per_hour", before["income"]["host_per_hour"]);
    same("commensal_governor_trips_total", before["governor"]["trips"]);
    same("commensal_guests", before["guests"].size());
    EXPECT_THAT(text, HasSubstr("name=\"first\"} 3\n"));
    return true;
  }));
  int code = -1;
  const std::string page = run({"provider", "status"}, code);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(page, HasSubstr(host.spec()));
  EXPECT_THAT(page, HasSubstr("12.5 an hour"));
  EXPECT_THAT(page, HasSubstr("second"));
}

TEST_F(Guests, LeaveTheHostAsItWasWhenKilled) {
  const Host host;
  ASSERT_TRUE(comes([&] { return host.settings()["nice"] == 3; }));
  const Json before = host.settings();
  auto first = start("first", host.spec(), {"--guest-memory-max", "1GiB"});
  const auto second = start("second", "auto");
  ASSERT_TRUE(comes([] { return has_guests(2); }));
  EXPECT_EQ(host.settings(), before);
  first->kill();
  EXPECT_EQ(host.settings(), before);
  EXPECT_TRUE(host.goes_on());
  // The other takes its place and keeps the same host.
  ASSERT_TRUE(comes([] { return has_guests(1); })) << log("second");
  EXPECT_EQ(status()["host"]["spec"], host.spec());
  EXPECT_EQ(status()["guests"][0]["name"], "second");
  EXPECT_EQ(host.settings(), before);
}

// Whoever governs: the owner's word outlives the guest that was told it.
TEST_F(Guests, KeepTheStrictestPromise) {
  const Host host;
  auto first = start("first", host.spec(), {"--host-loss-max", "0.1%"});
  const auto second = start("second", host.spec(), {"--host-loss-max", "2%"});
  ASSERT_TRUE(comes([] { return has_guests(2); }));
  first->kill();
  ASSERT_TRUE(comes([] { return has_guests(1); })) << log("second");
  EXPECT_EQ(status()["host"]["promise"], 0.001);
  EXPECT_THAT(log("second"), HasSubstr("0.1 % of an hour and 3 % of any minute, not at most 2 %"));
}

TEST_F(Guests, RemoveTheGroupThatAKilledOneLeft) {
  const Host host;
  auto first = start("first", host.spec(), {"--guest-memory-max", "1GiB"});
  ASSERT_TRUE(comes([] { return has_guests(1); }));
  const std::string name = "commensal-guest-" + status()["guests"][0]["pid"].dump();
  std::string group;
  for (const char* root : {"/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"}) {
    std::error_code ignored;
    if (std::filesystem::exists(root + name, ignored)) group = root + name;
  }
  if (group.empty()) GTEST_SKIP() << "no control groups here";
  first->kill();
  EXPECT_TRUE(std::filesystem::exists(group));
  const auto second = start("second", host.spec(), {"--guest-memory-max", "1GiB"});
  EXPECT_TRUE(comes([&] { return !std::filesystem::exists(group); }));
}

// Beside other guests their cost would be taken for the model's.
TEST_F(Guests, WaysOfRunningAModelAreTriedBesideTheHostAlone) {
  const Host host;
  const std::string model = std::string(COMMENSAL_SOURCE_DIR) + "/models/digits/digits.onnx";
  const auto tune = [&](const std::vector<std::string>& more, int& code) {
    std::vector<std::string> words = {"provider", "tune", "--host", host.spec()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, code);
  };
  const std::vector<std::string> quick = {model, "--rounds",          "6", "--stretch-seconds",
                                          "0.2", "--batch-tried-max", "4", "--json"};
  int code = -1;
  const Json tuned = Json::parse(tune(quick, code), nullptr, false);
  ASSERT_EQ(code, 0);
  const Json& one = tuned.at("models").at(0);
  ASSERT_GE(one.at("ways").size(), 2U);  // four at once, and more threads where there are any
  EXPECT_EQ(one["ways"][0]["at_once"], 1);
  for (const Json& way : one["ways"]) {
    EXPECT_GE(way["stretches"], 1);
    EXPECT_GT(way["answers_per_s"]["mean"], 0);
  }
  EXPECT_EQ(tune({"--forget"}, code), one["chosen"] == 0 ? "0 forgotten\n" : "1 forgotten\n");
  EXPECT_EQ(code, 0);
  tune({folder_.at("none.onnx")}, code);
  EXPECT_EQ(code, 1);
  const auto guest = start("guest", host.spec());
  tune(quick, code);
  EXPECT_EQ(code, 1);
}

TEST_F(Guests, RefuseByOneLine) {
  int code = -1;
  run({"provider", "status"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--guest-memory-max", "lots"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--guest-memory-max", "1KiB"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--weight", "0"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--host-loss-max", "0.1%"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--host-kept-min", "90%"}, code);
  EXPECT_EQ(code, 1);
  run({"provider", "--metrics", "127.0.0.1:0"}, code);
  EXPECT_EQ(code, 1);
}

}  // namespace
}  // namespace commensal::e2e
