// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <span>

namespace commensal::probe {

/// A program with an interface over HTTP that tells its rate: a row of the table.
struct Miner {
  std::string_view name;    // as in a spec
  std::string_view target;  // what is asked for
  std::string_view line;    // what is asked over TCP; "": only HTTP
  Traits traits;
  core::Result<Figure> (*decode)(std::string_view text);
  std::span<const std::uint16_t> ports;            // where it often listens
  std::span<const std::string_view> processes;     // what it is called, as /proc shows it
  std::span<const std::string_view> port_options;  // that name its port or HOST:PORT
};

std::span<const Miner> miners();
/// nullptr: no such kind.
const Miner* find_miner(std::string_view name);

/// What a miner at `endpoint` answers, not decoded yet. Errors as exchange.hpp.
core::Result<std::string> ask(const Miner& miner, const Endpoint& endpoint,
                              const core::Clock& clock, std::int64_t wait_ms);

/// What open() does for each kind. Errors of these: kInvalidArgument.
core::Result<std::unique_ptr<Probe>> open_miner(const Miner& miner, const Spec& spec,
                                                const Dependencies& deps);
core::Result<std::unique_ptr<Probe>> open_prometheus(const Spec& spec, const Dependencies& deps);
/// counter: a file that holds one decimal number, the work so far.
core::Result<std::unique_ptr<Probe>> open_counter(const Spec& spec, const Dependencies& deps);
/// log: the newest line that fits a regular expression (RE2's syntax); its first group is the
/// figure. Follows the file through rotation, by name and by truncation.
core::Result<std::unique_ptr<Probe>> open_log(const Spec& spec, const Dependencies& deps);
/// process: user and system time of all threads, beside the time that it needed: the rate is then
/// the share that it got of what it wanted, and how fast it worked meanwhile is not in it. A
/// process that ends and whose number is given to another is not mistaken for it: its start time is
/// part of its name.
core::Result<std::unique_ptr<Probe>> open_process(const Spec& spec, const Dependencies& deps);

}  // namespace commensal::probe
