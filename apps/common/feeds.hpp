// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// Reads "OUTPUT=INPUT" once for each feed of a rollout. Ascending by input.
/// Errors: kInvalidArgument, naming the outputs and inputs that there are.
core::Result<std::vector<protocol::Feed>> read_feeds(const graph::Graph& graph,
                                                     const std::vector<std::string>& given);

/// The place of the output of that name. Error: kInvalidArgument, naming those that there are.
core::Result<std::uint32_t> find_output(const graph::Graph& graph, const std::string& name);

}  // namespace commensal::apps
