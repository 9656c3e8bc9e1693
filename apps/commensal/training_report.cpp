// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/commensal/training_report.hpp>
#include <commensal/base/chart/panels.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace commensal::apps {

using core::Result;
using Json = nlohmann::ordered_json;

namespace {

std::string duration(double seconds) {
  const auto all = static_cast<std::int64_t>(seconds + 0.5);
  if (all < 60) return fmt::format("{} s", all);
  if (all < 3600) return fmt::format("{} min {} s", all / 60, all % 60);
  return fmt::format("{} h {} min", all / 3600, all / 60 % 60);
}

/// As many values as there are steps, between evaluations on a straight line.
chart::Line held_out_line(const train::Trainer& trainer) {
  const auto& found = trainer.held_out();
  chart::Line line;
  std::size_t next = 0;
  for (std::int64_t step = 1; step <= trainer.done(); ++step) {
    while (next < found.size() && found[next].step < step) ++next;
    if (next == 0) {
      line.values.push_back(found.front().loss);
    } else if (next == found.size()) {
      line.values.push_back(found.back().loss);
    } else {
      const auto& a = found[next - 1];
      const auto& b = found[next];
      const double part = static_cast<double>(step - a.step) / static_cast<double>(b.step - a.step);
      line.values.push_back(a.loss + (b.loss - a.loss) * part);
    }
  }
  return line;
}

/// Means of neighbours, so that there are no more than a picture can show.
void thin(chart::Line& line) {
  constexpr std::size_t kPointsMax = 500;
  const std::size_t each = (line.values.size() + kPointsMax - 1) / kPointsMax;
  if (each <= 1) return;
  std::vector<double> made;
  for (std::size_t at = 0; at < line.values.size(); at += each) {
    const std::size_t end = std::min(at + each, line.values.size());
    double sum = 0;
    for (std::size_t i = at; i < end; ++i) sum += line.values[i];
    made.push_back(sum / static_cast<double>(end - at));
  }
  line.values = std::move(made);
}

}  // namespace

Result<void> TrainingReport::write_events_to(const core::Path& folder) {
  COMMENSAL_ASSIGN(auto made, train::EventFile::create(folder, time_s()));
  events_.emplace(std::move(made));
  return {};
}

/// Whoever redirects what is printed has no bar to look at.
bool TrainingReport::is_due(std::int64_t before, std::int64_t step, std::int64_t now_ns) const {
  constexpr std::int64_t kSilenceNsMax = 10'000'000'000;
  const std::int64_t tenth = std::max<std::int64_t>(1, steps_ / 10);
  if (step / tenth > before / tenth || step == steps_) return true;
  const bool has_bar = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  return !has_bar && now_ns - line_ns_ >= kSilenceNsMax;
}

double TrainingReport::steps_per_s(const train::Trainer& trainer, std::int64_t now_ns) const {
  const double passed_s = static_cast<double>(now_ns - began_ns_) * 1e-9;
  const auto made = std::max<std::int64_t>(1, trainer.done() - first_);
  return static_cast<double>(made) / std::max(passed_s, 1e-9);
}

Result<void> TrainingReport::tell_losses(const train::Trainer& trainer) {
  const double rate = steps_per_s(trainer, clock_.monotonic_ns());
  for (std::int64_t step = shown_ + 1; step <= trainer.done(); ++step) {
    const float loss = trainer.losses()[static_cast<std::size_t>(step - 1)];
    if (json_) {
      const Json line = {
          {"step", step}, {"loss", static_cast<double>(loss)}, {"steps_per_s", rate}};
      fmt::print("{}\n", line.dump());
    }
    // The last one's goes with what else there is after it.
    if (events_ && step < trainer.done())
      COMMENSAL_TRY(events_->add(time_s(), step, {{"loss/train", loss}}));
  }
  if (json_) std::fflush(stdout);
  return {};
}

void TrainingReport::tell_step(const train::Trainer& trainer, const std::string& note) {
  const double loss = static_cast<double>(trainer.losses().back());
  const std::int64_t now_ns = clock_.monotonic_ns();
  const double rate = steps_per_s(trainer, now_ns);
  const auto each = static_cast<double>(tokens_ > 0 ? tokens_ : samples_);
  const std::string speed =
      fmt::format("{:.4g} {}/s", rate * each, tokens_ > 0 ? "tokens" : "samples");
  const std::string left = duration(static_cast<double>(steps_ - trainer.done()) / rate);
  if (!json_ && is_due(shown_, trainer.done(), now_ns)) {
    line_ns_ = now_ns;
    bar_.clear();
    fmt::print("step {:>8}  loss {:<10.4g} {}, {} left{}\n", trainer.done(), loss, speed, left,
               note);
    std::fflush(stdout);
  }
  constexpr std::int64_t kBarNsMin = 100'000'000;  // more often nobody can read it
  if (now_ns - bar_ns_ < kBarNsMin) return;
  bar_ns_ = now_ns;
  bar_.set_label(fmt::format("loss {:.4g}, {}, {} left", loss, speed, left));
  bar_.show(static_cast<std::size_t>(trainer.done()), static_cast<std::size_t>(steps_));
}

void TrainingReport::tell_held_out(const train::Checkpoint::HeldOut& found) {
  const bool has_accuracy = found.accuracy >= 0;
  if (json_) {
    Json line = {{"step", found.step}, {"held_out", {{"loss", found.loss}}}};
    if (has_accuracy) line["held_out"]["accuracy"] = found.accuracy;
    fmt::print("{}\n", line.dump());
  } else {
    bar_.clear();
    fmt::print("held out after {:>8}  loss {:<10.4g}{}\n", found.step, found.loss,
               has_accuracy ? fmt::format(" {:.2f} % right", 100 * found.accuracy) : "");
  }
  std::fflush(stdout);
}

Result<void> TrainingReport::show(const train::Trainer& trainer, const std::string& note) {
  train::Scalars scalars;
  if (trainer.done() > shown_) {
    COMMENSAL_TRY(tell_losses(trainer));
    tell_step(trainer, note);
    shown_ = trainer.done();
    scalars.emplace_back("loss/train", trainer.losses().back());
  }
  for (; told_ < trainer.held_out().size(); ++told_) {
    const auto& found = trainer.held_out()[told_];
    tell_held_out(found);
    scalars.emplace_back("loss/held_out", static_cast<float>(found.loss));
    if (found.accuracy >= 0)
      scalars.emplace_back("accuracy/held_out", static_cast<float>(found.accuracy));
  }
  if (!events_ || scalars.empty()) return {};
  return events_->add(time_s(), trainer.done(), scalars);
}

void TrainingReport::tell(const std::string& line, const Json& members) {
  bar_.clear();
  fmt::print("{}\n", json_ ? members.dump() : line);
  std::fflush(stdout);
}

void TrainingReport::went_back(const train::Trainer& trainer) {
  shown_ = trainer.done();
  told_ = std::min(told_, trainer.held_out().size());
}

Result<void> TrainingReport::shown(const train::Trainer& trainer, const training::Made& made) {
  if (made.is_here) return show(trainer, "  made here");
  std::string cost;
  if (made.cost > 0) cost = fmt::format("  cost {:.0f}", made.cost);
  if (made.is_paid_before) cost = "  paid before";
  return show(trainer, cost + "  by " + crypto::to_text(made.provider));
}

void TrainingReport::told_rollout(const core::Digest& rollout, const crypto::Address& provider) {
  const std::string id = core::to_hex(rollout), by = crypto::to_text(provider);
  tell(fmt::format("rollout {}  by {}", id, by), {{"rollout", id}, {"provider", by}});
}

void TrainingReport::told_end(std::int64_t done, const crypto::Address& provider,
                              const std::string& why) {
  const std::string by = crypto::to_text(provider);
  tell(fmt::format("on from step {:>3}  without {}: {}", done, by, why),
       {{"on_from", done}, {"provider", by}, {"reason", why}});
}

void TrainingReport::told_made_here(std::int64_t first, std::int64_t last,
                                    const crypto::Address& provider, const std::string& why) {
  const std::string by = crypto::to_text(provider);
  tell(fmt::format("made here  steps {} to {}, not as by {}: {}", first, last, by, why),
       {{"made_here", last}, {"provider", by}, {"reason", why}});
}

void TrainingReport::told_waiting(const std::string& why) {
  end();
  fmt::print(stderr, "waiting: {}\n", why);
}

void TrainingReport::told_goes_on(const core::Digest& rollout, const std::string& why) {
  end();
  fmt::print(stderr, "rollout {} goes on: {}\n", core::to_hex(rollout), why);
}

std::string training_curve(const train::Trainer& trainer, const train::Plan& plan) {
  chart::Panels picture;
  picture.title = "Loss of " + plan.model.filename().string();
  picture.unit = "steps";
  picture.legends = {"of each batch"};
  chart::Panel panel{"loss", "of each batch", {}, {}};
  panel.lines.emplace_back();
  for (const float loss : trainer.losses())
    panel.lines[0].values.push_back(static_cast<double>(loss));
  picture.subtitle =
      fmt::format("{} steps of {} samples, from {:.4g} to {:.4g}", trainer.losses().size(),
                  plan.batch, trainer.losses().front(), trainer.losses().back());
  if (!trainer.held_out().empty()) {
    panel.note += ", held out";
    picture.legends.push_back("held out");
    panel.lines.push_back(held_out_line(trainer));
    const auto& last = trainer.held_out().back();
    picture.subtitle += fmt::format("; held out {:.4g}", last.loss);
    if (last.accuracy >= 0)
      picture.subtitle += fmt::format(", {:.2f} % right", 100 * last.accuracy);
  }
  picture.top = 1e-3;
  for (chart::Line& line : panel.lines) {
    thin(line);
    picture.top = std::max(picture.top, *std::ranges::max_element(line.values));
  }
  picture.subtitle += fmt::format("; top {:.4g}", picture.top);
  picture.panels = {std::move(panel)};
  return chart::panels_svg(picture);
}

}  // namespace commensal::apps
