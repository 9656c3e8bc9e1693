// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/lab/hostile/fort.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace commensal::lab::hostile {
namespace {

constexpr int kStartMs = 60'000;  // under a sanitizer too
constexpr int kEndMs = 30'000;
constexpr const char* kModel = "alice/digits";

core::Result<std::string> token_of(client::Client& root, const std::string& name) {
  COMMENSAL_ASSIGN(const auto account, root.create_account(name, "consumer"));
  return account.token;
}

core::Result<void> wait_until_ready(client::Client& client) {
  for (int i = 0; i < kStartMs / 50; ++i) {
    if (client.ready()) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return client.ready();
}

}  // namespace

core::Result<void> Fort::start(const std::string& name, std::vector<std::string> command) {
  command.insert(command.end(), {"--data-dir", (folder_.path() / name).string(), "--json"});
  COMMENSAL_ASSIGN(auto child,
                   core::ChildProcess::start(command, folder_.path() / (name + ".log")));
  COMMENSAL_ASSIGN(first_line_, child.read_line(kStartMs, limits::kHostLineBytesMax));
  daemons_.push_back(std::move(child));
  return {};
}

core::Result<std::unique_ptr<Fort>> Fort::build(const core::Path& program, const core::Path& model,
                                                bool is_tls) {
  COMMENSAL_ASSIGN(auto folder, core::TemporaryFolder::make("commensal-hostile"));
  std::unique_ptr<Fort> fort(new Fort(std::move(folder)));
  const std::string encryption = is_tls ? "--tls" : "--plain";
  COMMENSAL_TRY(fort->start(
      "gateway", {program.string(), "gateway", encryption, "--http", "127.0.0.1:0", "--providers",
                  "127.0.0.1:0", "--no-money", "--turn-ms-max", std::to_string(kTurnMsMax)}));
  const auto said = nlohmann::json::parse(fort->first_line_, nullptr, false);
  if (!said.is_object()) {
    return core::fail(core::ErrorCode::kUnavailable, "the gateway says '{}'", fort->first_line_);
  }
  const std::string url = said.value("http", "");
  Target& target = fort->target_;
  target.http_port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  target.provider_port = said.value("provider_port", std::uint16_t{0});
  target.model = kModel;
  for (const char* name : {"ada", "bob"}) {
    COMMENSAL_TRY(
        fort->start(name, {program.string(), "provider", encryption, "--gateway",
                           fmt::format("127.0.0.1:{}", target.provider_port), "--name", name}));
  }
  COMMENSAL_ASSIGN(const core::Bytes token,
                   core::read_file(core::Path(said.value("operator_token_file", "")), 4096));
  client::ClientOptions options{.url = url, .token = std::string(core::as_text(token))};
  options.token.pop_back();
  if (is_tls) {
    COMMENSAL_ASSIGN(options.trust.pins.emplace_back(),
                     core::digest_from_hex(said.value("pin", "")));
  }
  COMMENSAL_ASSIGN(auto root, client::Client::create(options));
  COMMENSAL_ASSIGN(target.token, token_of(root, "mallory"));
  COMMENSAL_ASSIGN(target.other_token, token_of(root, "trudy"));
  COMMENSAL_ASSIGN(options.token, token_of(root, "alice"));
  fort->alice_ = options;
  COMMENSAL_ASSIGN(auto alice, client::Client::create(options));
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(model));
  COMMENSAL_TRY(alice.push({.model = kModel,
                            .bytes = bytes,
                            .is_private = false,
                            .allowed_providers = {},
                            .progress = {}}));
  COMMENSAL_TRY(wait_until_ready(alice));
  return fort;
}

int Fort::fallen() {
  int fallen = 0;
  for (core::ChildProcess& daemon : daemons_) fallen += daemon.is_running() ? 0 : 1;
  return fallen;
}

int Fort::end() {
  int badly = 0;
  for (core::ChildProcess& daemon : daemons_) {
    if (daemon.is_running()) badly += daemon.terminate(kEndMs) == 0 ? 0 : 1;
  }
  return badly;
}

std::vector<double> Fort::peaks_mib() const {
  std::vector<double> peaks;
  for (const core::ChildProcess& daemon : daemons_) {
    std::ifstream status(fmt::format("/proc/{}/status", daemon.pid()));
    double kib = 0;
    for (std::string word; status >> word;) {
      if (word == "VmHWM:") status >> kib;
    }
    peaks.push_back(kib / 1024);
  }
  return peaks;
}

std::vector<std::string> Fort::lines_with(std::initializer_list<const char*> texts) const {
  std::vector<std::string> found;
  for (const char* name : {"gateway", "ada", "bob"}) {
    std::ifstream log(folder_.path() / (std::string(name) + ".log"));
    for (std::string line; std::getline(log, line);) {
      const bool is_one = std::ranges::any_of(
          texts, [&](const char* text) { return line.find(text) != std::string::npos; });
      if (is_one) found.push_back(fmt::format("{}: {}", name, line));
    }
  }
  return found;
}

std::vector<std::string> Fort::complaints() const {
  return lines_with({"Sanitizer:", "runtime error:"});
}

std::vector<std::string> Fort::long_turns() const { return lines_with({"a turn of the loop"}); }

}  // namespace commensal::lab::hostile
