// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::graph {

/// What a node has to do, roughly. `call.outputs` must be there.
struct Work {
  std::int64_t ops = 0;  // a multiply-add is two, an element moved one; of convolutions the direct
                         // form, taps in the padding included, as networks are described
  std::int64_t bytes = 0;  // of its inputs and outputs, each once
};
Work work_of(const kernels::Operator& op, const kernels::Call& call);

/// What inference computes before there are outputs, in operations, beside what work_of says: of
/// operators whose outputs' types are known only once they are made.
std::int64_t ops_of_inference(const kernels::Operator& op, const kernels::Call& call);

}  // namespace commensal::graph
