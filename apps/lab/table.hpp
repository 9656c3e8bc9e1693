// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/program.hpp>

namespace commensal::apps {

/// commensal-lab: for those who work on Commensal.
const Program& lab_program();

}  // namespace commensal::apps
