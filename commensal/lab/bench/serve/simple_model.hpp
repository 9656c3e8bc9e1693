// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

namespace commensal::lab::bench::serve {

/// Triton's example model `simple`: OUTPUT0 and OUTPUT1 are sum and difference of INPUT0 and
/// INPUT1, all int32[N,16].
core::Bytes simple_model();

/// Y, one element, is the first of X, float32[N].
core::Bytes head_model();

}  // namespace commensal::lab::bench::serve
