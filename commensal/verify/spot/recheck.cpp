// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/spot/recheck.hpp>

namespace commensal::spot {

using core::Result;

std::string hex_of(tensor::DType dtype, std::uint64_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * tensor::traits(dtype).size);
}

namespace {

std::string text_of(const SpotDifference& found, const tensor::NamedTensor& committed) {
  const std::string type = committed.value.type().text();
  if (found.element < 0) {
    return fmt::format("output '{}' is {}, the model gives {}", committed.name, type,
                       found.type.text());
  }
  return fmt::format("element {} of '{}' {} is {}, the model gives {}", found.element,
                     committed.name, type, hex_of(found.type.dtype, found.claimed),
                     hex_of(found.type.dtype, found.computed));
}

/// Of a model that refuses what it was given, or never gives such outputs.
Result<SpotRecheck> refuted(const core::Error& error) {
  if (error.code != core::ErrorCode::kInvalidArgument) return tl::unexpected(error);
  return SpotRecheck{{}, error.message};
}

}  // namespace

Result<SpotRecheck> recheck(const protocol::Receipt& receipt, const receipt::Opening& opening,
                            const graph::Graph& model, const SpotDraw& draw,
                            const ConeOptions& options, const receipt::Passed& passed) {
  COMMENSAL_TRY(receipt::check_shown(receipt, opening, passed));
  COMMENSAL_TRY(receipt::check_model(receipt.job, receipt::model_roots(model)));
  passed("graph and weights are those of the job");
  COMMENSAL_ASSIGN(const auto named, receipt::step_inputs(opening.task));
  const auto inputs = receipt::order_inputs(model, named);
  if (!inputs) return refuted(inputs.error());
  const auto outputs = receipt::order_outputs(model, opening.outputs);
  if (!outputs) return refuted(outputs.error());
  auto report = spot_check(model, *inputs, *outputs, draw, options);
  if (!report) return refuted(report.error());
  SpotRecheck made{*std::move(report), ""};
  if (made.report.first) {
    made.wrong = text_of(*made.report.first, opening.outputs[made.report.first->output]);
  }
  return made;
}

}  // namespace commensal::spot
