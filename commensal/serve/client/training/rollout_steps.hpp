// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/client/training/gateway.hpp>
#include <commensal/verify/rollout/signed_steps.hpp>
#include <functional>
#include <optional>
#include <stop_token>

namespace commensal::training {

/// The steps of a rollout as its gateway hands them out, none of which is believed further than
/// both parties have signed it. Gateway and clock outlive this object. Thread-safety: none.
class RolloutSteps {
 public:
  using Open = std::function<core::Result<rollout::SignedSteps>(const rollout::JobRecord&)>;

  /// `away_ms_max`, `stop`: as client::ask_again()'s.
  RolloutSteps(Gateway& gateway, const core::Clock& clock, const core::Digest& rollout, Open open,
               std::int64_t away_ms_max, std::stop_token stop = {})
      : gateway_(gateway),
        clock_(clock),
        rollout_(rollout),
        open_(std::move(open)),
        away_ms_max_(away_ms_max),
        stop_(std::move(stop)) {}

  /// What was delivered in a step. Errors: the gateway's, kDataLoss, those of `open`, and of
  /// SignedSteps::outputs.
  core::Result<tensor::NamedTensors> outputs(std::uint64_t step);
  /// What it began from, as its record has it: `open` has held the record against what was signed
  /// where this is the first question, else who asks knows better. Errors: as those.
  core::Result<tensor::NamedTensors> inputs();

 private:
  core::Result<rollout::JobRecord> record();

  Gateway& gateway_;
  const core::Clock& clock_;
  const core::Digest rollout_;
  Open open_;  // until it has opened the record
  const std::int64_t away_ms_max_;
  const std::stop_token stop_;
  std::optional<rollout::SignedSteps> signed_;
};

}  // namespace commensal::training
