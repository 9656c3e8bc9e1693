// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>

namespace commensal::apps {

/// `commensal-lab bench train`.
Run declare_bench_train(CLI::App& app);

}  // namespace commensal::apps
