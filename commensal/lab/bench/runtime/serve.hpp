// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <iosfwd>

namespace commensal::lab::bench {

/// Our runtime as the other end of a Runner: answers the lines of `in` on `out` until `in` ends.
/// A line that cannot be served is answered with an error. Nothing of it is measured but the work.
void serve_runtime(std::istream& in, std::ostream& out, const core::Clock& clock);

}  // namespace commensal::lab::bench
