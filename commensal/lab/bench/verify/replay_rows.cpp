// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/bench/verify/subject.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::lab::bench::verify {
namespace {

constexpr double kAuditProbability = 0.01;
constexpr double kVerificationShareMax = 0.011;
constexpr int kNoiseExponent = 14;

/// A request as its auditor sees it, and all that the auditor does with it.
class Audit {
 public:
  Audit(const Subject& subject, noise::NoisySession& session)
      : session_(session), roots_(receipt::model_roots(*subject.graph)) {
    core::CounterRng rng(3);
    auditor_ = crypto::SecretKey::generate(rng);
    task_.input_salt = rng.next_digest();
    task_.inputs = receipt::name_tensors(*subject.graph, subject.graph->inputs, subject.inputs);
    task_.job.graph_root = roots_.graph;
    task_.job.weight_root = roots_.weights;
    task_.job.numerics_version = kernels::kNumericsVersion;
    task_.job.input_commitment =
        protocol::commit_input(receipt::state_root(task_.inputs), task_.input_salt);
    body_.job_id = protocol::job_id(task_.job);
    output_salt_ = rng.next_digest();
  }

  /// Errors: those of the replay.
  core::Result<void> run() {
    COMMENSAL_ASSIGN(const core::Digest root, receipt::replay(task_, session_, roots_));
    (void)receipt::judge(body_, root, output_salt_, *auditor_);
    return {};
  }

 private:
  noise::NoisySession& session_;
  receipt::ModelRoots roots_;
  std::optional<crypto::SecretKey> auditor_;
  receipt::StepTask task_;
  protocol::ReceiptBody body_;
  core::Digest output_salt_{};
};

}  // namespace

core::Result<std::vector<bench::Row>> replay_rows(const Subject& subject, int rounds,
                                                  double& audit) {
  COMMENSAL_ASSIGN(auto noisy, noise::NoisySession::create(subject.graph, {.threads = 1}));
  const noise::Noise noise{core::CounterRng(9).next_digest(), kNoiseExponent};
  Audit auditing(subject, noisy);
  const auto outcome = [](const auto& ran) -> core::Result<void> {
    return ran ? core::Result<void>{} : tl::unexpected(ran.error());
  };
  const std::function<core::Result<void>()> arms[] = {
      [&] { return outcome(noisy.session().run(subject.inputs)); },
      [&] { return outcome(noisy.run(subject.inputs, noise)); }, [&] { return auditing.run(); }};
  std::vector<double> noise_shares, audit_shares;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    double seconds[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t arm = (i + static_cast<std::size_t>(round + 1)) % 3;
      core::Result<void> ran;
      seconds[arm] = cpu_seconds([&] { ran = arms[arm](); });
      COMMENSAL_TRY(ran);
    }
    if (round < 0) continue;
    noise_shares.push_back(seconds[1] / seconds[0] - 1);
    audit_shares.push_back(seconds[2] / seconds[0]);
  }
  audit = bench::median(audit_shares);
  for (double& share : audit_shares) share *= kAuditProbability;
  const std::string what = fmt::format("{}, batch 1, {} rounds in turn", subject.name, rounds);
  return std::vector<bench::Row>{
      bench::row_at_most("noise_share", std::nullopt, noise_shares, "noise on the inputs; " + what),
      bench::row_at_most(
          "verification_share_full", kVerificationShareMax, audit_shares,
          "replay with openings, hashes and verdict, of one request in a hundred; " + what)};
}

}  // namespace commensal::lab::bench::verify
