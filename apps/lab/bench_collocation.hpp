// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>

namespace commensal::apps {

/// `commensal bench collocation`.
Run declare_bench_collocation(CLI::App& app);

}  // namespace commensal::apps
