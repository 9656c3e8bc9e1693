// SPDX-License-Identifier: Apache-2.0
// The command line beside real hosts.
#include <gmock/gmock.h>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

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

TEST(Demo, ShowsWhatAHostKeeps) {
  const Folder folder;
  int status = -1;
  run({"demo", "--requests", "20", "--host-seconds", "10", "--json", folder.at("demo.json"),
       "--folder", folder.at("state"), "--model-folder",
       std::string(COMMENSAL_SOURCE_DIR) + "/models/digits"},
      status);
  ASSERT_EQ(status, 0);
  const Json report = Json::parse(core::as_text(*core::read_file(folder.at("demo.json"))));
  // Other tests run here too: what is held is that the figures are there and make sense.
  const Json& host = report.at("host");
  EXPECT_GT(host.at("passes_per_s").get<double>(), 1000);
  EXPECT_GT(host.at("kept").get<double>(), 0.5);
  EXPECT_LT(host.at("kept").get<double>(), 1.5);
  EXPECT_GE(host.at("confidence").get<double>(), 0);
  EXPECT_LE(host.at("confidence").get<double>(), 1);
  EXPECT_GE(report.at("guest").at("images_per_s").get<double>(), 0);
}

}  // namespace
}  // namespace commensal::e2e
