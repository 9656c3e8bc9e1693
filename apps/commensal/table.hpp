// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/program.hpp>

namespace commensal::apps {

/// commensal: for consumers, providers, operators, auditors and arbiters.
const Program& commensal_program();

}  // namespace commensal::apps
