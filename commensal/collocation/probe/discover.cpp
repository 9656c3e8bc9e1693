// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;

constexpr std::int64_t kDoorWaitMs = 300;  // of this machine's own loopback

struct Process {
  int pid = 0;
  std::string name;
  std::vector<std::string> arguments;
};

/// The spec of the miner behind a port, "" if it is none. A miner without a figure yet is one.
std::string who_is_at(const Miner& miner, std::uint16_t port, const Dependencies& deps) {
  const bool schemes[] = {false, true};
  for (const bool is_tcp : schemes) {
    if (is_tcp && miner.line.empty()) continue;
    const Endpoint endpoint{is_tcp, "", "127.0.0.1", port, ""};
    const auto text = ask(miner, endpoint, deps.clock, kDoorWaitMs);
    if (!text) continue;
    const auto figure = miner.decode(*text);
    if (figure || figure.error().code == ErrorCode::kUnavailable)
      return fmt::format("{}:{}://127.0.0.1:{}", miner.name, is_tcp ? "tcp" : "http", port);
  }
  return "";
}

bool is_new(const Discovery& made, const std::string& spec) {
  const std::string port = spec.substr(spec.rfind(':'));
  return std::ranges::none_of(made.found,
                              [&](const Found& one) { return one.spec.ends_with(port); });
}

std::vector<Process> processes_in(const core::Path& proc) {
  std::vector<Process> made;
  for_processes(proc, [&](int pid, const core::Path& folder, const ProcessStat& stat) {
    if (stat.state == 'Z') return;
    Process one{pid, stat.name, {}};
    const auto line = read_small_file(folder / "cmdline", std::size_t{1} << 16);
    std::string_view rest = line ? std::string_view(*line) : std::string_view();
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.find('\0'), rest.size());
      one.arguments.emplace_back(rest.substr(0, size));
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
    made.push_back(std::move(one));
  });
  std::ranges::sort(made, {}, &Process::pid);
  return made;
}

/// The port that an option of the process names: "--x 1234", "--x=1234", "--x 0.0.0.0:1234".
std::uint16_t port_of(const Miner& miner, const Process& process) {
  for (std::size_t i = 0; i < process.arguments.size(); ++i) {
    const std::string_view argument = process.arguments[i];
    for (const std::string_view option : miner.port_options) {
      if (!argument.starts_with(option)) continue;
      std::string_view value = argument.substr(option.size());
      if (value.starts_with('=')) {
        value.remove_prefix(1);
      } else if (value.empty() && i + 1 < process.arguments.size()) {
        value = process.arguments[i + 1];
      } else {
        continue;
      }
      value.remove_prefix(value.rfind(':') == std::string_view::npos ? 0 : value.rfind(':') + 1);
      std::uint16_t port = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), port);
      if (read.ec == std::errc() && read.ptr == value.data() + value.size()) return port;
    }
  }
  return 0;
}

void look_at(const Process& process, const Dependencies& deps, Discovery& made,
             std::vector<Found>& by_cpu) {
  for (const Miner& miner : miners()) {
    if (std::ranges::find(miner.processes, process.name) == miner.processes.end()) continue;
    const std::uint16_t port = port_of(miner, process);
    const std::string spec = port == 0 ? "" : who_is_at(miner, port, deps);
    const std::string who = fmt::format("'{}' runs as process {}", process.name, process.pid);
    if (!spec.empty()) {
      if (is_new(made, spec))
        made.found.push_back({spec, fmt::format("{} and answers at the port it names", who)});
    } else if (miner.traits.device == Device::kProcessors) {
      by_cpu.push_back({fmt::format("process:{}", process.pid),
                        fmt::format("{}; its CPU time is its progress", who)});
    } else {
      made.hints.push_back(
          fmt::format("{}, but shows no rate: start it with {} PORT", who, miner.port_options[0]));
    }
  }
}

}  // namespace

std::vector<Door> well_known_doors() {
  std::vector<Door> doors;
  for (const Miner& miner : miners()) {
    for (const std::uint16_t port : miner.ports) doors.push_back({&miner, port});
  }
  return doors;
}

Discovery discover(const Dependencies& deps, const std::vector<Door>& doors) {
  Discovery made;
  for (const Door& door : doors) {
    const std::string spec = who_is_at(*door.miner, door.port, deps);
    if (!spec.empty() && is_new(made, spec))
      made.found.push_back(
          {spec, fmt::format("port {} answers as {} does", door.port, door.miner->name)});
  }
  std::vector<Found> by_cpu;
  for (const Process& process : processes_in(deps.proc)) look_at(process, deps, made, by_cpu);
  // A CPU miner that was found at its port needs no second signal.
  const bool has_cpu_miner = std::ranges::any_of(made.found, [](const Found& one) {
    return find_miner(one.spec.substr(0, one.spec.find(':')))->traits.device == Device::kProcessors;
  });
  if (!has_cpu_miner) std::ranges::move(by_cpu, std::back_inserter(made.found));
  return made;
}

core::Result<std::string> choose(const std::string& spec, const Dependencies& deps,
                                 const std::function<void(const std::string&)>& say) {
  if (spec != "auto") return spec;
  const Discovery made = discover(deps);
  for (const std::string& hint : made.hints) say(hint);
  for (const Found& one : made.found) say(fmt::format("{}: {}", one.spec, one.reason));
  if (!made.found.empty()) return made.found.front().spec;
  return core::fail(core::ErrorCode::kNotFound,
                    "no host found on this machine: name one, such as xmrig:http://127.0.0.1:4067 "
                    "or process:PID");
}

}  // namespace commensal::probe
