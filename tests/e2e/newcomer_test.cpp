// SPDX-License-Identifier: Apache-2.0
// What somebody meets who follows README and makes the mistakes that one makes.
#include <gmock/gmock.h>
#include <signal.h>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kThree = std::string(COMMENSAL_SOURCE_DIR) + "/examples/three.pgm";

class Newcomer : public System {
 protected:
  /// What the program says on standard error.
  std::string complaint(const Words& words, int& status) {
    const std::string log = folder_.at("complaint");
    std::filesystem::remove(log);
    Process process(words, log);
    process.read_all(status);
    return log_of(log);
  }
  static std::string log_of(const std::string& file) {
    const auto bytes = core::read_file(file);
    return bytes ? std::string(core::as_text(*bytes)) : "";
  }
  /// Waits until the file has it, twenty seconds at most.
  static void wait_for(const std::string& file, const std::string& text) {
    for (int i = 0; i < 400 && log_of(file).find(text) == std::string::npos; ++i) pause_ms(50);
    EXPECT_THAT(log_of(file), HasSubstr(text));
  }
  std::string file(const char* name, std::string_view content) const {
    const std::string path = folder_.at(name);
    EXPECT_TRUE(core::write_file_atomically(path, core::as_bytes(content)));
    return path;
  }
};

TEST_F(Newcomer, MistakesAreAnsweredInOneLineThatHelps) {
  const std::string wide = file("wide.pgm", "P2 2 1 16 3 16");
  const std::string empty = file("empty.onnx", "");
  const struct {
    Words words;
    const char* says;
  } cases[] = {
      {{"run", kModel, "--input", kThree, "--memory-max", "0"}, "expected at least one byte"},
      {{"run", kModel, "--input", kThree, "--image-mean", "nan"}, "'nan' is no number"},
      {{"run", kModel, "--input", kThree, "--image-scale", "1,2"}, "one number or three"},
      {{"run", kModel, "--input", wide}, "stretch, crop or pad it (--image-resize"},
      {{"run", kModel, "--input", kThree, "--labels", wide}, "1 labels, which fits no output"},
      {{"inspect", empty}, "not an ONNX model: it is empty"},
      {{"arbiter", "check"}, "expected: arbiter check FILE"},
      {{"arbiter", "check", kThree}, "this is something else, expected a verdict file"},
      {{"audit", "896bbc47451d"}, "64 hexadecimal digits (this has 12 characters)"},
      {{"provider", "--gateway", "http://127.0.0.1:8090"}, "expected HOST:PORT of the gateway's"},
      {{"provider", "--gateway", "127.0.0.1"}, "expected HOST:PORT of the gateway's"},
      {{"models", "--gateway", "gateway"}, "expected https://HOST:PORT or http"},
      {{"models", "--gateway", "http://127.0.0.1:84016"}, "expected https://HOST:PORT or http"},
      {{"models", "--gateway", "https://127.0.0.1:1", "--pin", "abcd"},
       "--pin 'abcd' has 4 characters, expected 64 hexadecimal digits"},
      {{"account", "deposit", "alice", "1e6"}, "amount: '1e6', expected an integer from 1"},
      {{"gateway", "--http", "8081"}, "--http '8081', expected IP:PORT"},
      {{"gateway", "--providers", "8081"}, "--providers '8081', expected IP:PORT"},
      {{"gateway", "--memory", "1000"}, "--memory"},
      {{"gateway", "--data-dir", folder_.at("poor"), "--no-money", "--price", "5"},
       "--price needs --face-value"},
  };
  for (const auto& row : cases) {
    int status = 0;
    const std::string said = complaint(row.words, status);
    EXPECT_EQ(status, 1) << row.says;
    EXPECT_THAT(said, HasSubstr(row.says));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_LT(said.size(), 300u);
  }
}

TEST_F(Newcomer, ErrorsAreJsonWhereJsonIsAskedFor) {
  for (const Words& words :
       {Words{"inspect", folder_.at("none.onnx"), "--json"}, Words{"inspect", "--json"}}) {
    int status = 0;
    const Json said = Json::parse(run(words, status), nullptr, false);
    EXPECT_EQ(status, 1);
    EXPECT_TRUE(said.at("error").at("code").is_string());
    EXPECT_NE(said.at("error").at("message"), "");
  }
}

TEST_F(Newcomer, TheFirstStepsOfReadmeWork) {
  money_ = Money::kByDefault;
  const Words quick = {"--hash-chain-depth", "14"};  // so that a first start takes no ten seconds
  start_gateway(quick);
  const auto provider = start_provider("one", quick);
  wait_for(folder_.at("one.log"), "connected to 127.0.0.1:" + provider_port_);
  const std::string token = folder_.at("alice.token");
  ask({"account", "create", "alice", "--save", token}, token_file_);
  ask({"push", kModel}, token);
  const Json answer = ask_json({"infer", "digits", "--input", kThree, "--top", "1"}, token);
  EXPECT_EQ(answer.at("model"), "alice/digits");
  const Json& logits = answer.at("outputs").at("logits");
  EXPECT_EQ(logits.at("datatype"), "FP32");
  EXPECT_EQ(logits.at("data").size(), 10u);
  EXPECT_EQ(logits.at("top").at(0).at("index"), 3);
  const std::string receipt = answer.at("receipt");
  const Json audit = ask_json({"audit", receipt}, token);
  EXPECT_EQ(audit.at("outcome"), "match");
  EXPECT_EQ(audit.at("outputs").at("logits").at("sha256"), logits.at("sha256"));
  const Json providers = ask_json({"providers"}, token).at("providers");
  EXPECT_EQ(providers.at(0).at("address"), address_);
  EXPECT_EQ(providers.at(0).at("state"), "serving");
  EXPECT_EQ(providers.at(0).at("served"), 1);
  EXPECT_THAT(ask({"providers"}, token), HasSubstr(address_));
  wait_for(folder_.at("one.log"), "1 answers since, 1 in all");
}

TEST_F(Newcomer, WhatIsPaidForIsShownWhateverCannotBeDoneWithIt) {
  start_gateway();
  const auto provider = start_provider("one");
  wait_for(folder_.at("one.log"), "takes the key " + gateway_key_);
  wait_for(folder_.at("one.log"), "connected to 127.0.0.1:" + provider_port_);
  ask({"push", kModel}, token_file_);
  const Words infer = at_gateway({"infer", "digits", "--input", kThree, "--labels"}, token_file_);
  const auto labelled = [&](const char* name, std::string_view content, int& status) {
    Words words = infer;
    words.push_back(file(name, content));
    return run(words, status);
  };
  int status = 0;
  EXPECT_EQ(labelled("three.txt", "a\nb\nc\n", status), "");
  EXPECT_EQ(status, 1);
  EXPECT_EQ(ask_json({"receipts"}, token_file_).at("receipts").size(), 0u);
  std::filesystem::create_directories(folder_.at("out") + "/logits.npy/taken");
  Words words = at_gateway({"infer", "digits", "--input", kThree}, token_file_);
  words.insert(words.end(), {"--output-dir", folder_.at("out")});
  EXPECT_THAT(run(words, status), HasSubstr("receipt "));
  EXPECT_EQ(status, 1);
}

TEST_F(Newcomer, AFullDiskLosesNoToken) {
  start_gateway();
  const std::string alice = folder_.at("alice.token");
  ask({"account", "create", "alice", "--save", alice}, token_file_);
  // No file grows: as on a full disk, but for the reason.
  std::string line = "trap '' XFSZ; ulimit -f 0; " COMMENSAL_PROGRAM;
  for (const std::string& word : at_gateway({"account", "rotate"}, alice)) line += " " + word;
  int status = 0;
  const std::string said = run({"-c", line + " 2>&1 >" + folder_.at("out")}, status, "/bin/sh");
  EXPECT_EQ(status, 1);
  EXPECT_THAT(said, HasSubstr("cannot write standard output: File too large\n"));
  ask({"account"}, file("rotated", said.substr(0, said.find('\n') + 1)));
}

TEST_F(Newcomer, ModelsTokensAndAccountsCanBeChangedAndEnded) {
  start_gateway();
  const std::string alice = folder_.at("alice.token"), old = folder_.at("old.token");
  ask({"account", "create", "alice", "--save", alice}, token_file_);
  std::filesystem::copy_file(alice, old);
  ask({"push", kModel, "secret", "--private"}, alice);
  const std::string provider = "0x52908400098527886E0F7030069857D2E4169EE7";
  EXPECT_EQ(ask_json({"models", "secret", "--allow", provider}, alice).at("allowed_providers"),
            Json({provider}));
  EXPECT_EQ(ask_json({"models", "secret", "--allow-none"}, alice).at("allowed_providers").size(),
            0u);
  ask({"account", "rotate", "--save", alice}, old);
  int status = 0;
  EXPECT_THAT(complaint(at_gateway({"models", "secret"}, old), status), HasSubstr("unknown token"));
  EXPECT_THAT(complaint(at_gateway({"account", "delete", "alice"}, token_file_), status),
              HasSubstr("has the model 'alice/secret'"));
  ask({"models", "secret", "--delete"}, alice);
  ask({"account", "delete", "alice"}, token_file_);
  EXPECT_THAT(complaint(at_gateway({"account"}, alice), status), HasSubstr("unknown token"));
  // Another's token is not written over, nor is an account made whose token has no place.
  EXPECT_THAT(
      complaint(at_gateway({"account", "create", "bob", "--save", token_file_}, token_file_),
                status),
      HasSubstr("is there already, name another file"));
  EXPECT_EQ(status, 1);
  // A token that could not be saved is not made: neither is the account.
  const std::string nowhere = folder_.at("none") + "/bob.token";
  complaint(at_gateway({"account", "create", "bob", "--save", nowhere}, token_file_), status);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(ask_json({"account", "list"}, token_file_).at("accounts").size(), 1u);
}

TEST_F(Newcomer, WrongPortsAreNamed) {
  start_gateway();
  int status = 0;
  EXPECT_THAT(complaint({"gateway", "--no-money", "--data-dir", folder_.at("other"), "--http",
                         "127.0.0.1:0", "--providers", "127.0.0.1:" + provider_port_},
                        status),
              HasSubstr("the port is in use"));
  EXPECT_EQ(status, 1);
  std::swap(provider_port_, http_port_);
  const auto lost = start_provider("lost");
  wait_for(folder_.at("lost.log"), "expected the port for providers, not that for consumers");
}

TEST_F(Newcomer, AGatewaysMoneyIsSetUpByItsFlags) {
  const Words money = {
      "--price",     "12000", "--face-value",       "100000", "--win-probability", "0.1",
      "--stake-min", "30000", "--hash-chain-depth", "10"};
  start_gateway(money);
  EXPECT_THAT(log_of(folder_.at("gateway.log")), HasSubstr("nobody can be served"));
  gateway_->kill();
  std::filesystem::remove(folder_.at("gateway.log"));
  Words funded = money;
  funded.insert(funded.end(), {"--escrow", "20000000", "--penalty-escrow", "40000000"});
  for (int start = 0; start < 2; ++start) {  // the second finds it filled
    start_gateway(funded);
    EXPECT_EQ(log_of(folder_.at("gateway.log")), "");
    const Json own = ask_json({"account", "balance", "@gateway"}, token_file_).at("balances");
    EXPECT_EQ(own.at("escrow"), "20000000");
    EXPECT_EQ(own.value("available", "0"), "0");
    if (start == 0) gateway_->kill();
  }
  ask({"account", "deposit", "@gateway", "40000000"}, token_file_);
  ask({"account", "lock", "penalty_escrow", "40000000"}, token_file_);
  const auto provider = start_provider("one", {"--stake", "30000", "--hash-chain-depth", "10"});
  wait_for(folder_.at("one.log"), "stake 0 of 30000 that the gateway wants");
  ask({"account", "deposit", address_, "30000"}, token_file_);
  ask({"account", "deposit", "operator", "1000000"}, token_file_);
  wait_for(folder_.at("one.log"), "stake 30000");
  auto client = connect();
  push(client);
  insist(client, 1);
  EXPECT_EQ(ask_json({"account", "balance"}, token_file_).at("balances").at("available"), "988000");
}

TEST_F(Newcomer, AGatewayKeepsItsTermsOverARestart) {
  start_gateway({"--price", "12000", "--face-value", "100000", "--win-probability", "0.1",
                 "--stake-min", "30000", "--hash-chain-depth", "10"});
  gateway_->kill();
  std::filesystem::remove(folder_.at("gateway.log"));
  start_gateway();
  EXPECT_THAT(log_of(folder_.at("gateway.log")),
              HasSubstr("as at the last start: --face-value 100000, --price 12000, "
                        "--stake-min 30000, --win-probability 0.1"));
  EXPECT_EQ(ask_json({"account", "ledger"}, token_file_).at("terms").at("price"), "12000");
  gateway_->kill();
  start_gateway({"--price", "500", "--escrow", "200000"});  // the others stay
  const Json terms = ask_json({"account", "ledger"}, token_file_).at("terms");
  EXPECT_EQ(terms.at("price"), "500");
  EXPECT_EQ(terms.at("face_value"), "100000");
  gateway_->kill();
  int status = 0;
  EXPECT_THAT(
      complaint({"gateway", "--data-dir", folder_.at("gateway"), "--http", "127.0.0.1:0",
                 "--providers", "127.0.0.1:0", "--penalty", "500"},
                status),
      HasSubstr("--penalty 500: this ledger was made with 100, and its rules never change"));
  EXPECT_EQ(status, 1);
  for (const Words& last : {Words{"--face-value", "0"}, Words{}}) {
    start_gateway(last);
    EXPECT_EQ(ask_json({"account", "ledger"}, token_file_).at("terms").at("face_value"), "0");
    gateway_->kill();
  }
}

TEST_F(Newcomer, AnAuditorEndsOnWhatCannotGetBetter) {
  start_gateway();
  const std::string alice = folder_.at("alice.token"), wrong = file("wrong.token", "wrong\n");
  ask({"account", "create", "alice", "--save", alice}, token_file_);
  const auto auditor = [&](const std::string& token, const std::string& gateway) {
    int status = 0;
    const std::string said = complaint({"auditor", "--data-dir", folder_.at("auditor"), "--gateway",
                                        gateway, "--token-file", token},
                                       status);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    return said;
  };
  EXPECT_THAT(auditor(alice, url()), HasSubstr("this is for auditors"));
  EXPECT_THAT(auditor(wrong, url()), HasSubstr("unknown token (from --token-file '" + wrong));
  EXPECT_THAT(auditor(wrong, "http://nowhere.invalid:80"), HasSubstr("no host 'nowhere.invalid'"));
}

TEST_F(Newcomer, ARolloutWithoutAProviderSaysSoAtOnce) {
  start_gateway();
  ask({"push", COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx"}, token_file_);
  int status = 0;
  EXPECT_THAT(
      complaint({"rollout", "letters", "--state", "next=letter", "--state", "state_out=state",
                 "--steps", "3", "--gateway", url(), "--token-file", token_file_},
                status),
      HasSubstr("no provider for 'operator/letters'"));
  EXPECT_EQ(status, 1);
}

TEST_F(Newcomer, MoneyForAnAddressThatNobodyHasSeenIsConfirmed) {
  start_gateway({"--price", "2", "--face-value", "10", "--win-probability", "0.01", "--stake-min",
                 "1", "--hash-chain-depth", "10", "--escrow", "1000"});
  const Words stranger = {"account", "deposit", "0x52908400098527886e0f7030069857d2e4169ee8", "5"};
  int status = 0;
  EXPECT_THAT(complaint(at_gateway(stranger, token_file_), status),
              HasSubstr("has never seen 0x52908400098527886E0F7030069857D2e4169ee8"));
  EXPECT_EQ(status, 1);
  EXPECT_THAT(complaint(at_gateway({"account", "deposit",
                                    "0x52908400098527886E0F7030069857D2e4169eE8", "5"},
                                   token_file_),
                        status),
              HasSubstr("does not match its checksum"));
  Words sure = stranger;
  sure.push_back("--yes");
  ask(sure, token_file_);
  ask(stranger, token_file_);  // it is known now
  const auto provider = start_provider("one", {"--hash-chain-depth", "10"});
  wait_for(folder_.at("one.log"), "connected to");
  ask({"account", "deposit", address_, "5"}, token_file_);
}

TEST_F(Newcomer, FilesAndCodesAreCalledByTheirNames) {
  start_gateway();
  const auto provider = start_provider("one");
  wait_for(folder_.at("one.log"), "connected to");
  ask({"push", kModel}, token_file_);
  const std::string answered = folder_.at("answered");
  const core::Path kept = folder_.at("kept");
  const Json answer =
      ask_json({"infer", "digits", "--input", kThree, "--output-dir", answered}, token_file_);
  wait_for(folder_.at("one.log"), "fetched model");
  const std::string receipt = folder_.at("a.receipt"), opening = folder_.at("a.opening");
  ask({"receipts", answer.at("receipt"), "--save", receipt, "--save-opening", opening,
       "--output-dir", kept.string()},
      token_file_);
  for (const auto& file : std::filesystem::directory_iterator(answered)) {
    EXPECT_EQ(*core::read_file(file.path()), *core::read_file(kept / file.path().filename()));
  }
  const struct {
    Words words;
    const char* says;
  } cases[] = {
      {{"audit", opening, "--opening", receipt, "--model", kModel},
       "this is an opening, expected a receipt"},
      {{"audit", receipt, "--opening", receipt, "--model", kModel},
       "this is a receipt, expected an opening"},
      {{"audit", receipt, "--opening", kThree, "--model", kModel}, "expected an opening"},
      {at_gateway({"push", kThree}, token_file_), "three.pgm': not an ONNX model: it is text"},
      {{"audit", kThree, "--opening", opening, "--model", kModel}, "this is not a receipt"},
      {{"arbiter", "check", receipt}, "this is a receipt, expected a verdict file"},
      {{"account", "depsoit"}, "did you mean 'deposit'?"},
  };
  for (const auto& row : cases) {
    int status = 0;
    EXPECT_THAT(complaint(row.words, status), HasSubstr(row.says));
    EXPECT_EQ(status, 1);
  }
  // Both are 409 to HTTP.
  const auto code = [&](const Words& words) {
    int status = 0;
    return Json::parse(run(at_gateway(words, token_file_), status)).at("error").at("code");
  };
  EXPECT_EQ(code({"account", "create", "operator", "--json"}), "already-exists");
  EXPECT_EQ(code({"account", "delete", "operator", "--json"}), "failed-precondition");
  gateway_->signal(SIGTERM);
  gateway_->wait();
  wait_for(folder_.at("one.log"), "connecting to 127.0.0.1:" + provider_port_ + ": gateway");
  EXPECT_EQ(log_of(folder_.at("one.log")).find("Cancelling"), std::string::npos);
}

// Beside a host the first minutes go to measuring it: whoever waits is told.
TEST_F(Newcomer, AWaitForAPausedProviderIsExplained) {
  start_gateway();
  auto client = connect();
  push(client);
  const auto provider = start_provider("one", {"--host", "process:" + std::to_string(::getpid())});
  wait_for(folder_.at("one.log"), "paused: ");
  const std::string log = folder_.at("waiting.log");
  const Process asking(at_gateway({"infer", "digits", "--input", kThree}, token_file_), log);
  wait_for(log, "waiting: ");
  EXPECT_THAT(log_of(log), HasSubstr("'one' is paused ("));
}

}  // namespace
}  // namespace commensal::e2e
