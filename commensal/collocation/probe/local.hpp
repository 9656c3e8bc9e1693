// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::probe {

/// Progress that a host leaves on this machine. Errors: kInvalidArgument.
///
/// counter: a file that holds one decimal number, the work so far.
core::Result<std::unique_ptr<Probe>> open_counter(const Spec& spec, const World& world);
/// log: the newest line that fits a regular expression (Perl's syntax); its first group is the
/// figure. Follows the file through rotation, by name and by truncation.
core::Result<std::unique_ptr<Probe>> open_log(const Spec& spec, const World& world);
/// process: user and system time of all threads, from /proc/PID/stat. A process that ends and whose
/// number is given to another is not mistaken for it: its start time is part of its name.
core::Result<std::unique_ptr<Probe>> open_process(const Spec& spec, const World& world);

}  // namespace commensal::probe
