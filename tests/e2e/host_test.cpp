// SPDX-License-Identifier: Apache-2.0
// Beside hosts: those of hosts/, and the test itself, whose work a provider's governor counts.
#include <gmock/gmock.h>

#include <unistd.h>

#include <array>
#include <commensal/base/crypto/sha256.hpp>
#include <cstdlib>
#include <fstream>
#include <tests/e2e/counted_host.hpp>

namespace commensal::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class BesideAHost : public System {
 protected:
  const OwnMachine machine_;
  Json provider(const std::string& name) {
    auto client = connect();
    const auto text = client.get_json("/v1/providers");
    if (!text) return {};
    const Json all = Json::parse(*text);
    for (const Json& one : all.at("providers")) {
      if (one.at("name") == name) return one;
    }
    return {};
  }
  /// Until the provider pauses for a reason that begins so, or does not ("").
  void wait_until_paused(const std::string& name, const std::string& why) {
    for (int i = 0; i < 600; ++i) {
      const Json one = provider(name);
      const std::string paused = one.is_null() ? "gone" : one.at("paused");
      if (why.empty() ? paused.empty() : paused.starts_with(why)) return;
      pause_ms(100);
    }
    FAIL() << name << ": " << provider(name).dump();
  }
};

TEST_F(BesideAHost, AProviderPausesAndGoesOnAndEveryRequestIsAnswered) {
  start_gateway({"--silence-ms", "1500", "--audit-probability", "1"});
  {
    auto client = connect();
    push(client);
  }
  CountedHost host(folder_.at("work"));
  const auto hosted = start_provider("hosted", {"--host", "counter:" + folder_.at("work")});
  wait_until_paused("hosted", "");
  auto plain = start_provider("plain");
  wait_until_paused("plain", "");

  std::atomic<int> answered = 0;
  std::jthread consumer([&](const std::stop_token& stop) {
    auto client = connect();
    for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
      const auto answer = client.infer("operator/digits", 0, picture(i));
      EXPECT_TRUE(answer.has_value()) << answer.error().message;
      ++answered;
      pause_ms(20);
    }
  });
  const auto more = [&](int count) {
    const int before = answered;
    // Beside other tests a host is measured alone for longer than beside nothing.
    for (int i = 0; i < 1'200 && answered < before + count; ++i) pause_ms(50);
    int code = -1;
    EXPECT_GE(answered, before + count)
        << provider("hosted").dump() << run({"provider", "status"}, code);
  };
  more(20);
  host.go_on(false);
  const std::string still = "no signal: the figure has not moved for ";
  wait_until_paused("hosted", still);
  more(20);  // the other serves them all
  int status = -1;
  const std::string list = run({"models", "--gateway", url(), "--token-file", token_file_}, status);
  EXPECT_THAT(list, HasSubstr("provider hosted is paused: " + still));
  plain->kill();
  pause_ms(4'000);  // now they wait, longer than a silence may last
  const int waited = answered;
  pause_ms(1'000);
  EXPECT_EQ(answered, waited);
  EXPECT_EQ(provider("hosted").at("connected"), true);
  host.go_on(true);
  more(20);
  consumer.request_stop();
  consumer.join();
  EXPECT_EQ(provider("hosted").at("banned"), "");
  const std::string log(core::as_text(*core::read_file(folder_.at("gateway.log"))));
  EXPECT_EQ(log.find("connected (hosted)"), log.rfind("connected (hosted)")) << log;
}

// What `provider tune` keeps is how the model's worker runs, unless the operator says otherwise.
using SlowBesideAHost = BesideAHost;

TEST_F(SlowBesideAHost, AProviderRunsAModelAsItWasTuned) {
  start_gateway();
  {
    auto client = connect();
    push(client);
  }
  CountedHost host(folder_.at("work"));
  const std::string spec = "counter:" + folder_.at("work");
  std::array<char, 256> machine{};
  (void)::gethostname(machine.data(), machine.size() - 1);
  const std::string model = core::to_hex(crypto::sha256(*core::read_file(kModel)));
  const Json ways = {{"ways",
                      {{{"host", spec},
                        {"machine", machine.data()},
                        {"model", model},
                        {"threads", 1},
                        {"at_once", 4},
                        {"processors", {0}}}}}};
  const core::Path hosts = core::Path(std::getenv("XDG_STATE_HOME")) / "commensal/hosts";
  std::filesystem::create_directories(hosts);
  const std::string text = ways.dump();
  ASSERT_TRUE(core::write_file_atomically(hosts / "ways.json", core::as_bytes(text)));
  for (const bool is_told : {false, true}) {
    const std::string name = is_told ? "told" : "tuned";
    std::vector<std::string> more = {"--host", spec};
    if (is_told) more.insert(more.end(), {"--threads", "1"});
    auto provider = start_provider(name, more);
    auto client = connect();
    insist(client, 1);
    const auto workers = children_of(provider->pid());
    ASSERT_EQ(workers.size(), 1U);
    std::ifstream file(fmt::format("/proc/{}/status", workers[0]));
    const std::string status((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(status.find("Cpus_allowed_list:\t0\n") != std::string::npos, !is_told) << status;
    const std::string log(core::as_text(*core::read_file(folder_.at(name + ".log"))));
    EXPECT_THAT(log, HasSubstr(is_told ? "not as they were tuned" : "4 requests at once"));
    provider->kill();
  }
}

TEST_F(BesideAHost, AProviderSaysThatItsHostHasEnded) {
  start_gateway();
  Process host({"1000"}, "/dev/null", "/bin/sleep");
  const std::string pid = std::to_string(host.pid());
  const auto hosted = start_provider("hosted", {"--host", "process:" + pid});
  wait_until_paused("hosted", "the host is looked at alone first");
  host.kill();
  wait_until_paused("hosted", "no signal: process " + pid + " has ended");
}

/// One of hosts/, on a free port.
class HostProgram {
 public:
  HostProgram(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--http", "127.0.0.1:0"});
    process_ = std::make_unique<Process>(arguments, "/dev/null",
                                         fmt::format("{}/{}", COMMENSAL_HOSTS, name));
    url_ = fmt::format("http://127.0.0.1:{}",
                       Json::parse(process_->read_line()).at("http_port").get<int>());
  }
  const std::string& url() const { return url_; }
  pid_t pid() const { return process_->pid(); }

 private:
  std::unique_ptr<Process> process_;
  std::string url_;
};

// A gateway hears of a host what its owner lets it, from the provider that governs the machine.
TEST_F(BesideAHost, AProviderShowsAHostWhereItsOwnerLetsIt) {
  start_gateway();
  const HostProgram host("streamer", {"--array-mb", "4"});
  const std::string spec = "prometheus:" + host.url() + "/metrics#streamer_bytes_total";
  {
    const auto silent = start_provider("silent", {"--host", spec});
    wait_until_paused("silent", "the host is looked at alone first");
    EXPECT_TRUE(provider("silent").at("host").is_null());
  }
  auto open =
      start_provider("open", {"--host", spec, "--show-host", "--host-income-per-hour", "5"});
  const auto shown = [&](const char* key) {
    const Json one = provider("open");
    return one.is_null() || one.at("host").is_null() ? Json() : one.at("host").at(key);
  };
  for (int i = 0; i < 600 && !shown("reference").is_number(); ++i) pause_ms(100);
  EXPECT_GT(shown("rate").get<double>(), 1e8);
  EXPECT_GT(shown("reference").get<double>(), 1e8);
  EXPECT_EQ(shown("income_per_hour"), 5);
  EXPECT_NE(shown("unit"), "");
  const std::string said = ask({"providers"}, token_file_);
  EXPECT_THAT(said, HasSubstr("beside a host, as it says: ")) << said;
  EXPECT_THAT(said, HasSubstr("where it earns 5 an hour")) << said;
  open->kill();
  wait_until_paused("open", "gone");
  const std::string list = ask({"providers"}, token_file_);
  EXPECT_THAT(list, Not(HasSubstr("beside a host"))) << list;
}

/// What `commensal probe` says of it in so many seconds.
Json probe(const std::string& spec, int seconds) {
  int status = -1;
  const std::string text = run(
      {"probe", spec, "--seconds", std::to_string(seconds), "--every", "0.5", "--json"}, status);
  EXPECT_EQ(status, 0) << text;
  return Json::parse(text);
}

/// The last rate that it saw; 0: none.
double rate_of(const Json& seen) {
  double rate = 0;
  for (const Json& sample : seen.at("samples")) {
    if (!sample.at("rate").is_null()) rate = sample.at("rate");
  }
  return rate;
}

// The same bytes three ways; the machine is shared, so that they agree roughly only.
TEST(Probe, ReadsAStreamerByItsMetricsItsFileAndItsTime) {
  const Folder folder;
  const HostProgram host("streamer", {"--array-mb", "4", "--counter", folder.at("bytes")});
  const Json metrics = probe("prometheus:" + host.url() + "/metrics#streamer_bytes_total", 3);
  EXPECT_EQ(metrics.at("quantity"), "work");
  const Json file = probe("counter:" + folder.at("bytes"), 3);
  EXPECT_GT(rate_of(metrics), 1e8);
  EXPECT_GT(rate_of(file), rate_of(metrics) / 4);
  EXPECT_LT(rate_of(file), rate_of(metrics) * 4);
  const double time = rate_of(probe(fmt::format("process:{}", host.pid()), 3));
  EXPECT_GT(time, 0.1);
  EXPECT_LT(time, 1.2);
}

TEST(Probe, ReadsASolverAsAMiner) {
  const HostProgram host("equihash", {"--n", "96", "--k", "5"});
  pause_ms(11'000);  // its first mean of ten seconds
  const Json seen = probe("xmrig:" + host.url(), 2);
  EXPECT_EQ(seen.at("quantity"), "rate");
  EXPECT_EQ(seen.at("averaging_s"), 10);
  EXPECT_GT(rate_of(seen), 0);
}

TEST(Probe, SaysWhyThereIsNoFigure) {
  int status = -1;
  const Json seen =
      Json::parse(run({"probe", "xmrig:http://127.0.0.1:1", "--seconds", "0.5", "--json"}, status));
  EXPECT_EQ(status, 1);
  EXPECT_EQ(seen.at("samples").at(0).at("state"), "invalid");
  EXPECT_NE(seen.at("samples").at(0).at("why"), "");
  run({"probe", "nothing:here"}, status);
  EXPECT_EQ(status, 1);
}

TEST(SlowDemo, ShowsWhatAHostKeeps) {
  const Folder folder;
  int status = -1;
  run({"demo", "--requests", "20", "--host-seconds", "10", "--json", folder.at("demo.json"),
       "--data-dir", folder.at("state"), "--model-folder",
       std::string(COMMENSAL_SOURCE_DIR) + "/models/digits"},
      status, COMMENSAL_LAB_PROGRAM);
  ASSERT_EQ(status, 0);
  const Json report = Json::parse(core::as_text(*core::read_file(folder.at("demo.json"))));
  // Other tests run here too: what is held is that the figures are there and make sense.
  const Json& host = report.at("host");
  EXPECT_GT(host.at("passes_per_s").get<double>(), 1000);
  EXPECT_GT(host.at("kept").get<double>(), 0.5);
  EXPECT_LT(host.at("kept").get<double>(), 1.5);
  for (const char* stretch : {"own_before_per_s", "own_beside_per_s", "own_after_per_s"}) {
    EXPECT_GT(host.at(stretch).get<double>(), 1000) << stretch;
  }
  EXPECT_GE(host.at("kept_lower").get<double>(), 0);
  EXPECT_LE(host.at("kept_lower").get<double>(), host.at("kept").get<double>());
  EXPECT_TRUE(host.at("is_shown").is_boolean());
  EXPECT_GE(report.at("guest").at("images_per_s").get<double>(), 0);
}

}  // namespace
}  // namespace commensal::e2e
