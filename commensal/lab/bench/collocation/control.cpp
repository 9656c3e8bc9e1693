// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/lab/bench/collocation/control.hpp>
#include <commensal/lab/bench/collocation/laws.hpp>
#include <optional>

namespace commensal::lab::bench::collocation {
namespace {

double seconds_of(const core::Clock& clock) {
  return 1e-9 * static_cast<double>(clock.monotonic_ns());
}

class Fixed final : public Control {
 public:
  Fixed(Guest& guest, double level) : guest_(guest), level_(level) {}
  void begin() override { guest_.set_level(level_); }

 private:
  Guest& guest_;
  double level_;
};

class SuppressorControl final : public Control {
 public:
  explicit SuppressorControl(const ControlDependencies& deps)
      : deps_(deps), law_(static_cast<int>(std::thread::hardware_concurrency()), 1) {}

  void begin() override { last_.reset(); }
  std::vector<Job> jobs() override {
    return {[this] {
      look();
      return 1.0;
    }};
  }

 private:
  struct Look {
    probe::CpuTicks ticks;
    double guest_s = 0;
    double at_s = 0;
  };

  void look() {
    const auto ticks = probe::read_cpu_ticks();
    if (!ticks) return;
    const Look now{*ticks, deps_.guest.cpu_s(), seconds_of(deps_.clock)};
    if (last_ && now.ticks.all > last_->ticks.all) {
      const double all = static_cast<double>(now.ticks.all - last_->ticks.all);
      const double busy = static_cast<double>(now.ticks.busy - last_->ticks.busy) / all *
                          std::thread::hardware_concurrency();
      const double guest = (now.guest_s - last_->guest_s) / (now.at_s - last_->at_s);
      deps_.guest.set_level(law_.level(busy - guest));
    }
    last_ = now;
  }

  ControlDependencies deps_;
  Suppressor law_;
  std::optional<Look> last_;
};

class TgsControl final : public Control {
 public:
  explicit TgsControl(const ControlDependencies& deps)
      : deps_(deps), meter_(deps.probe.traits(), kLookEveryS / 2) {}

  void begin() override { meter_ = probe::Meter(deps_.probe.traits(), kLookEveryS / 2); }
  std::vector<Job> jobs() override {
    return {[this] {
      look();
      return kLookEveryS;
    }};
  }

 private:
  static constexpr double kLookEveryS = 0.25;

  void look() {
    std::optional<probe::RateSample> sample;
    if (const auto reading = meter_.add(deps_.probe.sample()))
      sample = probe::RateSample{reading->at_s, reading->over_s, reading->rate, false};
    deps_.guest.set_level(law_.tick(seconds_of(deps_.clock), sample));
  }

  ControlDependencies deps_;
  probe::Meter meter_;
  Tgs law_;
};

constexpr double kActS = 0.5;  // at least so often

/// Ours, as a provider has it.
class GovernorControl final : public Control {
 public:
  explicit GovernorControl(const ControlDependencies& deps)
      : keeper_({deps.clock, deps.rng, deps.probe, deps.guest.pacer()}, {}) {}

  // The silence since the last slice comes before what is seen now.
  void begin() override { keeper_.act(); }
  std::vector<Job> jobs() override {
    const auto look = [this] {
      keeper_.look();
      return keeper_.look_in_s();
    };
    const auto act = [this] {
      keeper_.act();
      return std::min(kActS, keeper_.act_in_s());
    };
    return {look, act};
  }
  std::string said() const override {
    const governor::Status now = keeper_.view().governor;
    return fmt::format(
        "{}, budget {:.2f} %, cost of full speed {:.2f} +- {:.2f} %, lost {:.2f} % (at most {:.2f} "
        "%, over {:.0f} s), {} trips, {} changes of the host{}{}",
        governor::name_of(now.phase), 100 * now.budget, 100 * now.cost, 100 * now.cost_sd,
        100 * now.loss, 100 * now.loss_high, now.hour_s, now.trips, now.changes,
        now.why.empty() ? "" : ": ", now.why);
  }

 private:
  guest::Keeper keeper_;
};

}  // namespace

std::unique_ptr<Control> make_control(Law law, const ControlDependencies& deps) {
  switch (law) {
    case Law::kNone:
      return std::make_unique<Fixed>(deps.guest, 0);
    case Law::kFull:
      return std::make_unique<Fixed>(deps.guest, 1);
    case Law::kSuppressor:
      return std::make_unique<SuppressorControl>(deps);
    case Law::kTgs:
      return std::make_unique<TgsControl>(deps);
    case Law::kGovernor:
      break;
  }
  return std::make_unique<GovernorControl>(deps);
}

}  // namespace commensal::lab::bench::collocation
