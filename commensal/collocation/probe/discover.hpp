// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <functional>
#include <string>
#include <vector>

namespace commensal::probe {

struct Found {
  std::string spec;    // for open()
  std::string reason;  // one line: why it is believed
};

struct Discovery {
  std::vector<Found> found;        // the best first: interfaces before CPU time
  std::vector<std::string> hints;  // programs that run, but show no figure
};

struct Door {
  const Miner* miner;
  std::uint16_t port;
};

/// Where miners listen unless they are told otherwise.
std::vector<Door> well_known_doors();

/// Looks for hosts on this machine: asks at `doors` on 127.0.0.1, then looks at the processes and
/// at the ports that their own options name. Takes some tenths of a second; reads only.
Discovery discover(const Dependencies& deps, const std::vector<Door>& doors = well_known_doors());

/// What a spec stands for: itself, or for "auto" the first host that is found on this machine;
/// `say` is told what else is there. Error: kNotFound.
core::Result<std::string> choose(const std::string& spec, const Dependencies& deps,
                                 const std::function<void(const std::string&)>& say);

}  // namespace commensal::probe
