// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/evidence.hpp>
#include <apps/commensal/spot_options.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/summary.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct AuditArguments {
  EvidenceOptions evidence;
  SpotOptions spot;
  BackendOptions backend;
  bool json = false;
};

/// Of the outputs that were delivered, as `infer` showed them.
Json output_hashes(const Evidence& evidence) {
  Json hashes = Json::object();
  for (const tensor::NamedTensor& output : evidence.opening.outputs) {
    hashes[output.name] = {{"sha256", hash_of(output.value)}};
  }
  return hashes;
}

/// What both kinds of audit print. `full`: of an audit in full.
Json report_of(const Evidence& evidence, bool matches, const receipt::Recheck* full) {
  return {{"receipt", core::to_hex(protocol::receipt_id(evidence.receipt.body()))},
          {"provider", crypto::to_text(evidence.receipt.job.provider)},
          {"outcome", matches ? "match" : "mismatch"},
          {"outputs", output_hashes(evidence)},
          {"committed", core::to_hex(evidence.receipt.commitment)},
          {"recomputed", full != nullptr ? Json(core::to_hex(full->recomputed)) : Json(nullptr)}};
}

void print_full(const Evidence& evidence, const receipt::Recheck& found) {
  for (const tensor::NamedTensor& output : evidence.opening.outputs) {
    fmt::print("delivered  {}  {}\n", hash_of(output.value), output.name);
  }
  fmt::print("committed  {}\nrecomputed {}\n{}\n", core::to_hex(found.expected),
             core::to_hex(found.recomputed),
             found.matches() ? "MATCH: the answer is right, to the last bit"
                             : "MISMATCH: the provider committed to another answer");
}

Result<receipt::Recheck> replay(const Evidence& evidence, const AuditArguments& options,
                                const receipt::Passed& passed) {
  return receipt::recheck(evidence.receipt, evidence.opening, evidence.model,
                          options.backend.session(), passed);
}

double processor_s() { return 1e-9 * static_cast<double>(core::process_cpu_ns()); }

/// Elements drawn now, long after what they are compared with was signed.
Result<int> audit_elements(const Evidence& evidence, std::uint64_t count,
                           const AuditArguments& options, const receipt::Passed& passed) {
  core::SystemRng rng;
  SpotOutcome outcome;
  outcome.wrong_share = options.spot.wrong_share;
  const double begin_s = processor_s();
  COMMENSAL_ASSIGN(outcome.found, spot::recheck(evidence.receipt, evidence.opening, *evidence.model,
                                                {count, rng.next_digest()},
                                                {.session = options.backend.session()}, passed));
  outcome.spot_s = processor_s() - begin_s;
  std::optional<receipt::Recheck> full;
  if (options.spot.beside_replay) {
    const double between_s = processor_s();
    COMMENSAL_ASSIGN(full, replay(evidence, options, [](std::string_view) {}));
    outcome.replay_s = processor_s() - between_s;
  }
  const bool matches = outcome.found.matches() && (!full || full->matches());
  if (options.json) {
    Json report = report_of(evidence, matches, full ? &*full : nullptr);
    report.update(spot_json(evidence.opening, outcome));
    fmt::print("{}\n", report.dump(2));
  } else {
    if (full) print_full(evidence, *full);
    print_spot(evidence.opening, outcome);
  }
  return matches ? 0 : 2;
}

Result<int> audit(const AuditArguments& options) {
  COMMENSAL_ASSIGN(const std::optional<std::uint64_t> elements, options.spot.count());
  COMMENSAL_ASSIGN(const Evidence evidence, gather(options.evidence));
  const auto passed = [&](std::string_view check) {
    if (!options.json) fmt::print("ok        {}\n", check);
  };
  if (elements) return audit_elements(evidence, *elements, options, passed);
  COMMENSAL_ASSIGN(const receipt::Recheck found, replay(evidence, options, passed));
  if (options.json) {
    fmt::print("{}\n", report_of(evidence, found.matches(), &found).dump(2));
  } else {
    print_full(evidence, found);
  }
  return found.matches() ? 0 : 2;
}

}  // namespace

Run declare_audit(CLI::App& app) {
  const auto options = std::make_shared<AuditArguments>();
  options->evidence.declare(app);
  options->spot.declare(app);
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return audit(*options); };
}

}  // namespace commensal::apps
