// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/device/limits.hpp>
#include <commensal/collocation/probe/probe.hpp>

namespace commensal::machine {

/// `probe`, whose samples tell besides whether `limits` are on.
std::unique_ptr<probe::Probe> with_limits(std::unique_ptr<probe::Probe> probe,
                                          device::Limits limits);

/// What holds back the devices of this machine that such a host works on: all of them where the
/// kind of its probe does not tell which.
device::Limits limits_of(probe::Device device);

}  // namespace commensal::machine
