// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/progress.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/compute/train/tensorboard.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <commensal/serve/client/training/observer.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace commensal::apps {

/// What is said of a training while it goes on: about ten lines on stdout (with `json` a line for
/// each step and evaluation), a bar where stderr is a terminal, and where nobody sees the bar a
/// line every ten seconds; events for TensorBoard. Of one at a gateway also who makes it, and what
/// goes wrong; what it waits for, on stderr. Thread-safety: none.
class TrainingReport final : public training::Observer {
 public:
  TrainingReport(const train::Trainer& trainer, const train::Plan& plan, bool json)
      : first_(trainer.done()),
        told_(trainer.held_out().size()),
        samples_(plan.batch),
        tokens_(trainer.tokens()),
        steps_(plan.steps),
        json_(json) {}

  /// Errors: those of EventFile.
  core::Result<void> write_events_to(const core::Path& folder);
  /// After steps, or an evaluation before the first one. `note`: what else there is to say of the
  /// last one. Errors: those of EventFile.
  core::Result<void> show(const train::Trainer& trainer, const std::string& note = "");
  void end() { bar_.clear(); }

  core::Result<void> shown(const train::Trainer& trainer) override { return show(trainer); }
  core::Result<void> shown(const train::Trainer& trainer, const training::Made& made) override;
  void went_back(const train::Trainer& trainer) override;
  void told_rollout(const core::Digest& rollout, const crypto::Address& provider) override;
  void told_end(std::int64_t done, const crypto::Address& provider,
                const std::string& why) override;
  void told_made_here(std::int64_t first, std::int64_t last, const crypto::Address& provider,
                      const std::string& why) override;
  void told_waiting(const std::string& why) override;
  void told_goes_on(const core::Digest& rollout, const std::string& why) override;

 private:
  /// A line, with `json` these members.
  void tell(const std::string& line, const nlohmann::ordered_json& members);
  core::Result<void> tell_losses(const train::Trainer& trainer);
  void tell_step(const train::Trainer& trainer, const std::string& note);
  double steps_per_s(const train::Trainer& trainer, std::int64_t now_ns) const;
  bool is_due(std::int64_t before, std::int64_t step, std::int64_t now_ns) const;
  void tell_held_out(const train::Checkpoint::HeldOut& found);
  double time_s() const { return static_cast<double>(clock_.wall_ms()) * 1e-3; }

  const std::int64_t first_;     // steps that were done before
  std::size_t told_;             // evaluations
  std::int64_t shown_ = first_;  // step
  const std::int64_t samples_, tokens_, steps_;
  const bool json_;
  Progress bar_{"loss"};
  const core::SystemClock clock_;
  const std::int64_t began_ns_ = clock_.monotonic_ns();
  std::int64_t line_ns_ = began_ns_;  // when the last line was printed
  std::int64_t bar_ns_ = 0;           // when the bar was drawn
  std::optional<train::EventFile> events_;
};

/// The loss of each step, and of held-out samples where they are looked at (SVG).
std::string training_curve(const train::Trainer& trainer, const train::Plan& plan);

}  // namespace commensal::apps
