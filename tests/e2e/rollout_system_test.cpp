// SPDX-License-Identifier: Apache-2.0
// Rollouts between the real programs: provider, gateway and auditor, killed at random moments.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <commensal/base/core/network.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/record.hpp>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using Digest = core::Digest;

const std::string kLetters = std::string(COMMENSAL_SOURCE_DIR) + "/models/letters/letters.onnx";

class RolloutSystem : public System {
 protected:
  void push_letters() {
    auto client = connect();
    const core::Bytes model = *core::read_file(kLetters);
    client::PushRequest request;
    request.model = "operator/letters";
    request.bytes = model;
    ASSERT_TRUE(client.push(request).has_value());
  }
  std::unique_ptr<Process> start_auditor() {
    auto auditor = std::make_unique<Process>(
        std::vector<std::string>{"auditor", "--gateway", url(), "--token-file", token_file_,
                                 "--data-dir", folder_.at("auditor"), "--json"},
        folder_.at("auditor.log"));
    EXPECT_NE(auditor->read_line(), "");
    return auditor;
  }
  std::vector<std::string> rollout(const std::string& steps, const std::string& noise,
                                   const std::string& audits) const {
    return {"rollout",
            "operator/letters",
            "--gateway",
            url(),
            "--state",
            "next=letter",
            "--token-file",
            token_file_,
            "--state",
            "state_out=state",
            "--steps",
            steps,
            "--noise",
            noise,
            "--audit-probability",
            audits,
            "--key",
            "one",
            "--json"};
  }
  std::unique_ptr<daemon::ProviderDaemon> start_cheat(serial::Lies lies) {
    daemon::ProviderDaemonConfig config;
    config.folder = folder_.at("cheat");
    config.gateway = "127.0.0.1:" + provider_port_;
    config.name = "cheat";
    return *daemon::ProviderDaemon::start(config,
                                          sim::testing::make_rollout_cheat(std::move(lies)));
  }
  bool is_running() {
    auto client = connect();
    const Json rollouts = Json::parse(*client.get_json("/v1/rollouts")).at("rollouts");
    return rollouts.empty() || rollouts[0].at("state") == "running";
  }
  void await_provider() {
    auto client = connect();
    for (int tries = 0; tries < 200 && !client.ready(); ++tries) pause_ms(50);
  }
};

/// Passes on what a consumer and a gateway say to each other, one connection at a time, and turns
/// some bits at the end of each step.
class Tamperer {
 public:
  explicit Tamperer(const std::string& gateway_port)
      : gateway_port_(static_cast<std::uint16_t>(std::stoi(gateway_port))),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port); }

 private:
  void run(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      pollfd waiting{listener_.socket.get(), POLLIN, 0};
      if (::poll(&waiting, 1, kPollMs) <= 0) continue;
      const core::Descriptor consumer(::accept(listener_.socket.get(), nullptr, nullptr));
      const core::Descriptor gateway(::socket(AF_INET, SOCK_STREAM, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(gateway_port_);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ::connect(gateway.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
      bool is_step = false;
      std::array<pollfd, 2> both{{{consumer.get(), POLLIN, 0}, {gateway.get(), POLLIN, 0}}};
      while (!stop.stop_requested() && pass_on(both, is_step)) continue;
    }
  }
  /// False where one of them has gone.
  static bool pass_on(std::array<pollfd, 2>& both, bool& is_step) {
    ::poll(both.data(), both.size(), kPollMs);
    for (std::size_t from = 0; from < both.size(); ++from) {
      if (both[from].revents == 0) continue;
      std::string piece(65'536, '\0');
      const ssize_t size = ::recv(both[from].fd, piece.data(), piece.size(), 0);
      if (size <= 0) return false;
      piece.resize(static_cast<std::size_t>(size));
      if (from == 0) is_step = piece.find("/steps/") != std::string::npos;
      if (from == 1 && is_step && !piece.ends_with("\r\n\r\n")) {
        for (std::size_t n = 1; n <= 4; ++n)
          piece[piece.size() - n] = static_cast<char>(piece[piece.size() - n] ^ 1);
      }
      ::send(both[1 - from].fd, piece.data(), piece.size(), MSG_NOSIGNAL);
    }
    return true;
  }

  static constexpr int kPollMs = 50;
  const std::uint16_t gateway_port_;
  const core::Listener listener_ = *core::listen_on({"127.0.0.1", 0});
  std::jthread thread_;
};

/// The rollout run here, from its inputs and the noise that it was shown: its final state.
Digest recomputed(client::Client& client, const client::RolloutInfo& info) {
  const auto record = *protocol::decode<rollout::JobRecord>(*client.rollout_record(info.id));
  EXPECT_EQ(protocol::job_id(record.job), info.id);
  const auto graph = *graph::onnx::import_file(kLetters);
  auto session = *noise::NoisySession::create(graph, {}, record.job.feeds);
  const auto inputs = *receipt::order_inputs(*graph, record.inputs);
  receipt::Values state;
  for (std::uint64_t step = 1; step <= record.job.steps; ++step) {
    const auto shown = *protocol::decode<rollout::StepRecord>(*client.rollout_step(info.id, step));
    const auto noise = receipt::noise_of_step(record.job, info.id, step, shown.value);
    state = *session.run(receipt::inputs_of_step(record.job, inputs, step > 1 ? &state : nullptr),
                         noise);
  }
  return receipt::outputs_root(*graph, state);
}

TEST_F(RolloutSystem, GoesOnUnderKillsOfProviderGatewayAndAuditor) {
  start_gateway();
  push_letters();
  auto provider = start_provider("one");
  auto auditor = start_auditor();
  await_provider();
  // COMMENSAL_CASES=4: 10,000 steps.
  const char* const cases = std::getenv("COMMENSAL_CASES");
  const int times = cases == nullptr ? 1 : std::max(1, std::atoi(cases));
  const int steps = 2500 * times;
  Process consumer(rollout(std::to_string(steps), "16", "0.1"), folder_.at("consumer.log"));
  core::CounterRng rng(23);
  int kills = 0;
  for (; kills < 12 * times && (kills == 0 || is_running()); ++kills) {
    pause_ms(100 + static_cast<int>(rng.next_u32() % 150));
    switch (rng.next_u32() % 3) {
      case 0:
        provider->kill();
        provider = start_provider("one");
        break;
      case 1:
        gateway_->kill();
        start_gateway();
        break;
      default:
        auditor->kill();
        auditor = start_auditor();
    }
  }
  EXPECT_GE(kills, 6 * times);
  int status = -1;
  const Json said = Json::parse(consumer.read_all(status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said.at("steps_done"), steps);
  EXPECT_EQ(said.at("state"), "finished");
  EXPECT_TRUE(said.at("mismatches").empty());
  auto client = connect();
  const auto info = client.rollout(*core::digest_from_hex(said.at("job").get<std::string>()));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(core::to_hex(info->final_state), said.at("final_state"));
  EXPECT_EQ(info->final_state, recomputed(client, *info));
}

TEST_F(RolloutSystem, WithoutNoiseItEndsAsInOneProcess) {
  start_gateway();
  push_letters();
  const auto provider = start_provider("one");
  await_provider();
  int status = -1;
  const Json remote = Json::parse(run(rollout("40", "none", "1"), status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(remote.at("audits"), 40);  // by the gateway itself: no auditor is there
  // The same key asks for the same rollout.
  EXPECT_EQ(Json::parse(run(rollout("40", "none", "1"), status)), remote);
  const Json local =
      Json::parse(run({"rollout", kLetters, "--state", "next=letter", "--state", "state_out=state",
                       "--steps", "40", "--noise", "none", "--json"},
                      status, COMMENSAL_LAB_PROGRAM));
  EXPECT_EQ(local.at("final_state"), remote.at("final_state"));
}

// The fault: whatever bits came were written.
TEST_F(RolloutSystem, NoStepIsWrittenThatWasTamperedWithOnTheWay) {
  start_gateway();
  push_letters();
  const auto provider = start_provider("one");
  await_provider();
  const Tamperer tamperer(http_port_);
  const auto save = [&](const std::string& gateway, const std::string& name) {
    Words words = rollout("3", "none", "0");
    std::ranges::replace(words, url(), gateway);
    words.insert(words.end(), {"--output-dir", folder_.at(name)});
    int status = -1;
    const std::string said = run(words, status);
    return std::pair(status, said);
  };
  EXPECT_EQ(save(url(), "whole").first, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.at("whole") + "/state_out.npy"));
  const auto [status, said] = save(tamperer.url(), "tampered");
  EXPECT_EQ(status, 1);
  EXPECT_NE(said.find("step 3 of job"), std::string::npos) << said;
  EXPECT_NE(said.find("its outputs do not open what was signed"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(folder_.at("tampered")));
}

TEST_F(RolloutSystem, AStepThatIsWrongIsFoundAndItsProviderBanned) {
  start_gateway();
  push_letters();
  const auto cheat = start_cheat({{57, "gates"}});
  const auto auditor = start_auditor();
  await_provider();
  int status = -1;
  const Json said = Json::parse(run(rollout("5000", "16", "1"), status));
  EXPECT_EQ(status, 2);
  EXPECT_EQ(said.at("state"), "caught");
  EXPECT_EQ(said.at("mismatches"), Json::array({57}));
  EXPECT_NE(said.at("reason").get<std::string>().find("step 57 of rollout"), std::string::npos);
  // What the cheat may get ahead of its audits is bounded.
  EXPECT_LT(said.at("steps_done").get<int>(), 57 + 300);
  auto client = connect();
  EXPECT_FALSE(client.ready());
  const auto again = client.start_rollout({.model = "operator/letters",
                                           .version = 0,
                                           .key = "",
                                           .steps = 2,
                                           .feeds = {{"state_out", "state"}},
                                           .noise = {},
                                           .states = "finite",
                                           .audit_probability = 0,
                                           .inputs = {}});
  EXPECT_FALSE(again);
}

TEST_F(RolloutSystem, AnAuditorThatLiesAccusesNobody) {
  start_gateway();
  push_letters();
  auto provider = start_provider("one");
  await_provider();
  auto client = connect();
  const auto key = *crypto::SecretKey::from_bytes(Digest{9});
  ASSERT_TRUE(client.take_audit(key.address()));  // it is there
  Process consumer(rollout("12", "16", "1"), folder_.at("consumer.log"));
  int lies = 0;
  for (int tries = 0; tries < 500 && lies < 12; ++tries) {
    const auto given = client.take_audit(key.address());
    ASSERT_TRUE(given.has_value());
    if (given->empty()) {
      pause_ms(20);
      continue;
    }
    const core::Digest receipt =
        protocol::receipt_id(protocol::decode<receipt::Assignment>(*given)->receipt.body());
    EXPECT_TRUE(client.answer_audit(protocol::sign_report(key, {receipt, Digest{1}, {}, {}})));
    ++lies;
  }
  int status = -1;
  const Json said = Json::parse(consumer.read_all(status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(lies, 12);
  EXPECT_EQ(said.at("audits"), 12);
  EXPECT_TRUE(said.at("mismatches").empty());
}

}  // namespace
}  // namespace commensal::e2e
