// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/receipt/replay.hpp>

/// What a receipt and its opening show before anything is computed: for who checks them by hand, in
/// full (replay.hpp) or by single elements. Pure functions.
namespace commensal::receipt {

/// Called with the name of each check as it passes.
using Passed = std::function<void(std::string_view)>;

/// That both have signed the receipt, and the opening opens what was signed.
/// Errors: by the name of the check that does not pass.
core::Result<void> check_shown(const protocol::Receipt& receipt, const Opening& opening,
                               const Passed& passed);

/// check_task(), then X_i with its noise, by the task's own names. Precondition: the inputs are in
/// the graph's order, as ProviderJob demands.
/// Errors besides: kUnsupported where noise goes onto a value inside the graph.
core::Result<tensor::NamedTensors> step_inputs(const StepTask& task);

/// The outputs of a step in the graph's order. Error: kInvalidArgument (other names, numbers or
/// types than the graph declares).
core::Result<Values> order_outputs(const graph::Graph& graph, const tensor::NamedTensors& named);

}  // namespace commensal::receipt
