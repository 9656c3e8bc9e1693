// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>

namespace commensal::apps {

/// `bench segments`.
Run declare_bench_segments(CLI::App& app);

}  // namespace commensal::apps
