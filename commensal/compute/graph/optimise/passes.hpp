// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/rewriter.hpp>

/// One pass each, in a file of its name; optimise.cpp has their order.
namespace commensal::graph::optimise {

void drop_identities(Rewriter& rewriter);  // identities.cpp

}  // namespace commensal::graph::optimise
