// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>

namespace commensal::apps {

/// `bench polite`.
Run declare_bench_polite(CLI::App& app);

}  // namespace commensal::apps
