// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::spot {

/// Whether an operator's shapes, or what its elements read, may depend on the elements of this
/// input: indices, axes, coordinates. Such an input must be there in full before anything is asked
/// of the operator; of the others the elements that `reads` names suffice. Errs on the side of
/// yes. Tests hold it to every row of the table. A pure function.
bool steers(const kernels::Operator& op, int input);

}  // namespace commensal::spot
