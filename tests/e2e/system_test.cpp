// SPDX-License-Identifier: Apache-2.0
// The real programs over real sockets: requests, kills, silence, restarts.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

TEST_F(System, ServesAnswersThatAnyoneCanRecheckByHand) {
  start_gateway();
  auto client = connect();
  push(client);
  const auto none = client.infer("operator/digits", 0, picture(0));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(none.error().message.find("none is connected"), std::string::npos);
  const auto provider = start_provider("one");
  const client::Answer answer = insist(client, 1);
  const std::string id = core::to_hex(answer.receipt);
  int status = -1;
  for (const char* backend : {"ref", "cpu"}) {
    const std::string text = run({"audit", id, "--gateway", url(), "--token-file", token_file_,
                                  "--backend", backend, "--json"},
                                 status);
    EXPECT_EQ(status, 0) << text;
    EXPECT_EQ(Json::parse(text).at("outcome"), "match");
  }
  run({"audit", std::string(64, 'a'), "--gateway", url(), "--token-file", token_file_}, status);
  EXPECT_EQ(status, 1);
}

// Its provider is not to blame, and the push that mends it says what is true.
TEST_F(System, ADamagedModelIsNamedAndMendedByAPush) {
  start_gateway();
  auto client = connect();
  push(client);
  const core::Path models = folder_.at(data_ + "/models");
  const core::Path file = std::filesystem::directory_iterator(models)->path();
  ASSERT_TRUE(core::write_file_atomically(file, core::as_bytes("damaged")));
  const auto provider = start_provider("one");
  const auto said = [&](const std::string& what) { return last_error_.find(what) != what.npos; };
  for (int tries = 0; tries < 200 && !said("the gateway's file of the model is"); ++tries) {
    const auto answer = client.infer("operator/digits", 0, picture(1));
    ASSERT_FALSE(answer);
    last_error_ = answer.error().message;
    pause_ms(50);
  }
  EXPECT_TRUE(said("the gateway's file of the model is damaged: SHA-256 ")) << last_error_;
  const std::string line =
      "the model 'operator/digits' must be pushed again: '" + file.string() + "' is damaged";
  std::string log;
  for (int tries = 0; tries < 200 && log.find(line) == log.npos; ++tries) {
    log = core::as_text(*core::read_file(folder_.at("gateway.log")));
    pause_ms(50);
  }
  EXPECT_NE(log.find(line), log.npos) << log;
  push(client);
  insist(client, 1);
}

// Requests that wait for one model are computed together; every one is re-executed alone.
TEST_F(System, AnswersComputedTogetherAreAuditedOneByOne) {
  start_gateway({"--audit-probability", "1"});
  auto client = connect();
  push(client);
  const auto provider = start_provider("one", {"--batch-max", "8"});
  insist(client, 0);
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> consumers;
    for (std::uint64_t k = 0; k < 8; ++k) {
      consumers.emplace_back([&, k] {
        auto own = connect();
        for (std::uint64_t i = 0; i < 10; ++i)
          answered += own.infer("operator/digits", 0, picture(10 * k + i)).has_value();
      });
    }
  }
  EXPECT_EQ(answered, 80);
  const Json all = Json::parse(*client.get_json("/v1/providers"));
  EXPECT_EQ(all.at("providers").at(0).at("banned"), "");
  EXPECT_EQ(all.at("providers").at(0).at("served"), 81);
}

TEST_F(System, ForgedTruncatedAndForeignReceiptsAreRefusedByName) {
  start_gateway();
  auto client = connect();
  push(client);
  const auto provider = start_provider("one");
  const std::string model = folder_.at("gateway") + "/../model.onnx";
  std::filesystem::copy_file(kModel, model);
  std::vector<std::string> files;
  int status = -1;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const std::string id = core::to_hex(insist(client, i).receipt);
    files.push_back(folder_.at(fmt::format("answer{}", i)));
    run({"receipts", id, "--gateway", url(), "--token-file", token_file_, "--save",
         files[i] + ".receipt", "--save-opening", files[i] + ".opening"},
        status);
    ASSERT_EQ(status, 0);
  }
  // What the audit says of a receipt's file with an opening's file.
  const auto audit = [&](const std::string& receipt, const std::string& opening) {
    const std::string log = folder_.at("errors");
    std::filesystem::remove(log);
    Process process({"audit", receipt, "--opening", opening, "--model", model}, log);
    process.read_all(status);
    return std::string(core::as_text(*core::read_file(log)));
  };
  EXPECT_EQ(audit(files[0] + ".receipt", files[0] + ".opening"), "");
  EXPECT_EQ(status, 0);
  EXPECT_NE(audit(files[0] + ".receipt", files[1] + ".opening").find("another job"),
            std::string::npos);
  EXPECT_EQ(status, 1);

  const core::Bytes whole = *core::read_file(files[0] + ".receipt");
  const auto damaged = [&](core::Bytes bytes) {
    const std::string file = folder_.at("damaged.receipt");
    EXPECT_TRUE(core::write_file_atomically(file, bytes));
    std::string said = audit(file, files[0] + ".opening");
    EXPECT_EQ(status, 1);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    return said;
  };
  EXPECT_NE(damaged(core::Bytes(whole.begin(), whole.end() - 1)).find("receipt"),
            std::string::npos);
  core::Bytes forged = whole;
  forged[whole.size() / 2] ^= 1;
  EXPECT_NE(damaged(forged).find("receipt"), std::string::npos);
}

TEST_F(System, AGatewayKilledAtAnyInstantLosesNothingAcknowledged) {
  start_gateway({"--audit-probability", "0.5"});
  {
    auto client = connect();
    push(client);
  }
  const auto provider = start_provider("one");
  core::CounterRng rng(11);
  std::set<core::Digest> acknowledged;
  // At any instant of its beginning, and of its work, however slow the machine.
  for (int life = 0; life < 8 || acknowledged.size() <= 8; ++life) {
    ASSERT_LT(life, 40);
    std::promise<void> works;
    std::atomic<bool> dead = false;
    std::thread killer([&, delay_ms = 30 + static_cast<int>(rng.next_u32() % 150)] {
      if (life % 2 == 1) works.get_future().wait_for(std::chrono::seconds(20));
      pause_ms(delay_ms);
      gateway_->kill();
      dead = true;
    });
    auto client = connect();
    bool has_answered = false;
    for (std::uint64_t i = 0; !dead; ++i) {
      const auto answer = client.infer("operator/digits", 0, picture(i));
      if (!answer) continue;
      acknowledged.insert(answer->receipt);
      if (!std::exchange(has_answered, true)) works.set_value();
    }
    killer.join();
    start_gateway({"--audit-probability", "0.5"});
  }
  auto client = connect();
  insist(client, 1);  // the provider has come back by itself
  for (const core::Digest& id : acknowledged) {
    const auto info = client.receipt(id);
    ASSERT_TRUE(info.has_value()) << info.error().message;
    EXPECT_TRUE(protocol::verify_receipt(*info->receipt));
    EXPECT_NE(info->audit, "mismatched");
  }
}

TEST_F(System, AProviderKilledOrSilentCostsNoAnswerAndIsNotAccused) {
  start_gateway({"--audit-probability", "1", "--silence-ms", "1500"});
  auto client = connect();
  push(client);
  auto shaky = start_provider("shaky");
  const auto steady = start_provider("steady");
  for (std::uint64_t i = 0; i < 12; ++i) insist(client, i);
  std::set<core::Digest> receipts;
  for (int life = 0; life < 3; ++life) {
    shaky->kill();
    for (std::uint64_t i = 0; i < 10; ++i) receipts.insert(insist(client, i).receipt);
    shaky = start_provider("shaky");
    for (std::uint64_t i = 0; i < 10; ++i) receipts.insert(insist(client, i).receipt);
  }
  // Frozen, not dead: its streams stay open and say nothing.
  shaky->signal(SIGSTOP);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto answer = client.infer("operator/digits", 0, picture(i));
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
  }
  shaky->signal(SIGCONT);
  for (int i = 0; i < 100; ++i) {
    std::size_t open = 0;
    for (const core::Digest& id : receipts) {
      const auto info = client.receipt(id);
      ASSERT_TRUE(info.has_value());
      EXPECT_NE(info->audit, "mismatched");
      open += info->audit == "drawn" ? 1 : 0;
    }
    if (open == 0) return;
    pause_ms(100);
  }
  FAIL() << "audits were still open after ten seconds";
}

// A plain key moves into the keystore at the first start with a password; then there is no other
// way.
TEST_F(System, KeysAreLockedOnceThereIsAPassword) {
  start_gateway();
  const std::string password = folder_.at("password");
  ASSERT_TRUE(core::write_file_atomically(password, core::as_bytes("correct horse\n"), 0600));
  std::vector<std::string> arguments = {
      "provider",   "--gateway",     "127.0.0.1:" + provider_port_,
      "--data-dir", folder_.at("p"), "--json"};
  const auto address = [&] {
    Process provider(arguments, folder_.at("p.log"));
    const std::string said = provider.read_line();
    return said.empty() ? "" : Json::parse(said).value("address", "");
  };
  const std::string plain = address();
  arguments.insert(arguments.end(), {"--password-file", password});
  EXPECT_EQ(address(), plain);
  EXPECT_FALSE(std::filesystem::exists(folder_.at("p/key")));
  EXPECT_EQ(address(), plain);
  int status = -1;
  run({"key", "show", folder_.at("p/keystore.json"), "--check", "--password-file", password},
      status);
  EXPECT_EQ(status, 0);
  arguments.resize(arguments.size() - 2);
  EXPECT_EQ(address(), "");
}

TEST(Demo, CatchesTheCheatAndAccusesNobodyElse) {
  const Folder folder;
  int status = -1;
  const std::string said = run(
      {"demo", "--json", folder.at("demo.json"), "--data-dir", folder.at("state"), "--host-seconds",
       "0", "--model-folder", std::string(COMMENSAL_SOURCE_DIR) + "/models/digits"},
      status, COMMENSAL_LAB_PROGRAM);
  ASSERT_EQ(status, 0);
  const Json report = Json::parse(core::as_text(*core::read_file(folder.at("demo.json"))));
  EXPECT_EQ(report.at("requests"), 300);
  EXPECT_GE(report.at("accuracy").get<double>(), 0.97);
  EXPECT_EQ(report.at("audits_failed_honest"), 0);
  EXPECT_TRUE(report.at("cheat").at("caught").get<bool>());
  EXPECT_GT(report.at("requests_per_second").get<double>(), 0);
  // The command that it prints works as it stands there.
  const std::string receipt = report.at("cheat").at("receipt");
  const std::size_t audit = said.find(" audit " + receipt + " --data-dir " + folder.at("state"));
  ASSERT_NE(audit, std::string::npos) << said;
  const std::size_t program = said.find_first_not_of(' ', said.rfind('\n', audit) + 1);
  run({"audit", receipt, "--data-dir", folder.at("state/gateway")}, status,
      said.substr(program, audit - program));
  EXPECT_EQ(status, 2);
}

}  // namespace
}  // namespace commensal::e2e
