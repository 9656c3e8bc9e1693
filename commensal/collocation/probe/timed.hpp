// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::probe {

/// The spec's place is an endpoint of this machine's loopback.
bool is_on_loopback(const Spec& spec);

/// The same probe, whose samples tell the time that the process of the spec needed. A listener is
/// looked for, and again after it has ended, at growing intervals; samples without a process are by
/// the clock. Precondition: spec.process. Error: kInvalidArgument (a listener elsewhere).
core::Result<std::unique_ptr<Probe>> with_host_time(std::unique_ptr<Probe> probe, const Spec& spec,
                                                    const Dependencies& deps);

}  // namespace commensal::probe
