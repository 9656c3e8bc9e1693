// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/decode.hpp>
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

/// "xmrig, lolminer, ..., process".
std::string names_of_kinds();

}  // namespace commensal::probe
