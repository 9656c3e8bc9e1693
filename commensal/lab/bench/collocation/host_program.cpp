// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <commensal/base/core/limits_programs.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <commensal/lab/bench/collocation/host_program.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPatienceMs = 30'000;
constexpr std::int64_t kAnswerMs = 2000;

}  // namespace

Result<std::unique_ptr<HostProgram>> HostProgram::start(const core::Path& program,
                                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {program.string(), "--http", "127.0.0.1:0"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = core::ChildProcess::start(command);
  if (!child) {
    return fail(child.error().code, "{}: build the target all, which has the programs of hosts/",
                child.error().message);
  }
  std::unique_ptr<HostProgram> made(new HostProgram(*std::move(child)));
  COMMENSAL_ASSIGN(const std::string line,
                   made->child_.read_line(kPatienceMs, limits::kHostLineBytesMax));
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_object()) made->port_ = json.value("http_port", 0);
  if (made->port_ == 0)
    return fail(ErrorCode::kUnavailable, "'{}' names no port, it says: {}", command[0], line);
  return made;
}

std::string HostProgram::probe_spec(std::string_view metric) const {
  return fmt::format("prometheus:http://127.0.0.1:{}/metrics#{}@{}", port_, metric, pid());
}

Result<HostProgram::Latencies> HostProgram::latencies(const core::Clock& clock) const {
  const probe::Endpoint endpoint{false, "", "127.0.0.1", static_cast<std::uint16_t>(port_), ""};
  COMMENSAL_ASSIGN(const std::string body,
                   probe::http_get(endpoint, "/latencies", clock, kAnswerMs));
  Latencies made;
  try {
    for (const auto& pair : nlohmann::json::parse(body)) {
      made.ms.push_back(pair.at(0));
      made.unhindered_ms.push_back(pair.at(1));
    }
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorCode::kDataLoss, "the host's latencies are no list of pairs of numbers");
  }
  return made;
}

Result<std::string> HostProgram::stop() {
  child_.signal(SIGTERM);
  auto line = child_.read_line(kPatienceMs, limits::kHostLineBytesMax);
  if (line) child_.wait();
  return line;
}

}  // namespace commensal::lab::bench::collocation
