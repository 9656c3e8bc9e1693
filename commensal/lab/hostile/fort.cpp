// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/lab/hostile/fort.hpp>
#include <cstdlib>
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

core::Result<void> wait_until(client::Client& client,
                              core::Result<void> (*is_so)(client::Client& client)) {
  for (int i = 0; i < kStartMs / 50; ++i) {
    if (is_so(client)) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return is_so(client);
}

/// What follows the last colon.
std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1));
}

}  // namespace

std::vector<std::string> Fort::gateway_command(const core::Path& program, Site site) const {
  std::vector<std::string> command = {program.string(),
                                      "gateway",
                                      site == Site::kTls ? "--tls" : "--plain",
                                      "--data-dir",
                                      (folder_.path() / "gateway").string(),
                                      "--no-money",
                                      "--turn-ms-max",
                                      std::to_string(kTurnMsMax),
                                      "--json"};
  if (database_) command.insert(command.end(), {"--db", database_->url()});
  return command;
}

core::Result<void> Fort::start(const std::string& name, std::vector<std::string> command) {
  COMMENSAL_ASSIGN(auto child,
                   core::ChildProcess::start(command, folder_.path() / (name + ".log")));
  daemons_.push_back(std::move(child));
  names_.push_back(name);
  return {};
}

/// Returns where its operator's token lies.
core::Result<std::string> Fort::start_gateway(const core::Path& program, Site site) {
  std::vector<std::string> command = gateway_command(program, site);
  command.insert(command.end(),
                 {"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--providers", "127.0.0.1:0"});
  COMMENSAL_TRY(start("gateway", std::move(command)));
  COMMENSAL_ASSIGN(const std::string line,
                   daemons_.back().read_line(kStartMs, limits::kHostLineBytesMax));
  const auto said = nlohmann::json::parse(line, nullptr, false);
  if (!said.is_object()) {
    return core::fail(core::ErrorCode::kUnavailable, "the gateway says '{}'", line);
  }
  alice_.url = said.value("http", "");
  target_.http_port = target_.writer_http_port = port_of(alice_.url);
  target_.grpc_port = port_of(said.value("grpc", ""));
  target_.provider_port = target_.writer_provider_port =
      said.value("provider_port", std::uint16_t{0});
  if (site == Site::kTls) {
    COMMENSAL_ASSIGN(alice_.trust.pins.emplace_back(),
                     core::digest_from_hex(said.value("pin", "")));
  }
  return said.value("operator_token_file", "");
}

/// It says where it listens only once it writes: it is told ports that were free a moment ago.
core::Result<void> Fort::start_relay(const core::Path& program) {
  std::vector<std::string> command = gateway_command(program, Site::kRelay);
  const std::pair<const char*, std::uint16_t*> ports[] = {{"--http", &target_.http_port},
                                                          {"--grpc", &target_.grpc_port},
                                                          {"--providers", &target_.provider_port}};
  for (const auto& [option, port] : ports) {
    COMMENSAL_ASSIGN(const core::Listener spare, core::listen_on({"127.0.0.1", 0}));
    *port = spare.port;
    command.insert(command.end(), {option, fmt::format("127.0.0.1:{}", *port)});
  }
  COMMENSAL_TRY(start("relay", std::move(command)));
  alice_.url = fmt::format("http://127.0.0.1:{}", target_.http_port);
  return {};
}

core::Result<void> Fort::open_accounts(client::ClientOptions options, const core::Path& model) {
  COMMENSAL_ASSIGN(auto root, client::Client::create(options));
  COMMENSAL_TRY(wait_until(root, [](client::Client& client) { return client.connect(); }));
  COMMENSAL_ASSIGN(target_.token, token_of(root, "mallory"));
  COMMENSAL_ASSIGN(target_.other_token, token_of(root, "trudy"));
  COMMENSAL_ASSIGN(alice_.token, token_of(root, "alice"));
  COMMENSAL_ASSIGN(auto alice, client::Client::create(alice_));
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(model));
  COMMENSAL_TRY(alice.push({.model = kModel,
                            .bytes = bytes,
                            .is_private = false,
                            .allowed_providers = {},
                            .progress = {}}));
  target_.model = kModel;
  return wait_until(alice, [](client::Client& client) { return client.ready(); });
}

core::Result<std::unique_ptr<Fort>> Fort::build(const core::Path& program, const core::Path& model,
                                                Site site) {
  COMMENSAL_ASSIGN(auto folder, core::TemporaryFolder::make("commensal-hostile"));
  std::unique_ptr<Fort> fort(new Fort(std::move(folder)));
  if (site == Site::kRelay) {
    COMMENSAL_ASSIGN(fort->database_, Database::start());
  }
  COMMENSAL_ASSIGN(const std::string token_file, fort->start_gateway(program, site));
  if (site == Site::kRelay) {
    COMMENSAL_TRY(fort->start_relay(program));
  }
  for (const char* name : {"ada", "bob"}) {
    COMMENSAL_TRY(fort->start(
        name, {program.string(), "provider", site == Site::kTls ? "--tls" : "--plain", "--gateway",
               fmt::format("127.0.0.1:{}", fort->target_.provider_port), "--data-dir",
               (fort->folder_.path() / name).string(), "--name", name, "--json"}));
  }
  COMMENSAL_ASSIGN(const core::Bytes token, core::read_file(core::Path(token_file), 4096));
  client::ClientOptions options = fort->alice_;
  options.token = core::as_text(token).substr(0, token.size() - 1);
  COMMENSAL_TRY(fort->open_accounts(std::move(options), model));
  return fort;
}

int Fort::fallen() {
  int fallen = 0;
  for (core::ChildProcess& daemon : daemons_) fallen += daemon.is_running() ? 0 : 1;
  return fallen;
}

/// Who relays first: it is not to take over.
int Fort::end() {
  int badly = 0;
  for (const bool relays : {true, false}) {
    for (std::size_t i = 0; i < daemons_.size(); ++i) {
      if ((names_[i] == "relay") != relays || !daemons_[i].is_running()) continue;
      badly += daemons_[i].terminate(kEndMs) == 0 ? 0 : 1;
    }
  }
  return badly;
}

std::map<std::string, double> Fort::peaks_mib() const {
  std::map<std::string, double> peaks;
  for (std::size_t i = 0; i < daemons_.size(); ++i) {
    std::ifstream status(fmt::format("/proc/{}/status", daemons_[i].pid()));
    double kib = 0;
    for (std::string word; status >> word;) {
      if (word == "VmHWM:") status >> kib;
    }
    peaks[names_[i]] = kib / 1024;
  }
  return peaks;
}

std::vector<std::string> Fort::lines_with(std::initializer_list<const char*> texts) const {
  std::vector<std::string> found;
  for (const std::string& name : names_) {
    std::ifstream log(folder_.path() / (name + ".log"));
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
