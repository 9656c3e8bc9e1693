// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/guest/governing.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::guest {
namespace {

constexpr double kEnergyEveryS = 60;  // the counters of packages come round within the hour
constexpr double kEnergyLeastS = 1;
constexpr double kRememberEveryS = 60;
constexpr double kCountEveryS = 1;
constexpr double kWaitS = 0.5;
constexpr double kWaitBesideOthersS = 0.05;  // what this process wants concerns them

}  // namespace

core::Result<std::unique_ptr<Governing>> Governing::begin(const Dependencies& deps,
                                                          const Options& options,
                                                          std::unique_ptr<probe::Probe> probe) {
  COMMENSAL_ASSIGN(GovernorServer server,
                   GovernorServer::open(options.socket, options.host, options.own,
                                        options.processors, options.promise));
  return std::unique_ptr<Governing>(
      new Governing(deps, options, std::move(probe), std::move(server)));
}

Governing::Governing(const Dependencies& deps, const Options& options,
                     std::unique_ptr<probe::Probe> probe, GovernorServer server)
    : deps_(deps),
      options_(options),
      probe_(std::move(probe)),
      server_(std::move(server)),
      capacity_(server_.capacity()),
      meter_(deps.clock, "/proc/self/no-processes", "/sys"),  // only energy is asked for
      energy_read_s_(now_s()),
      memory_(options.memory, about(options.host, probe_->traits())) {
  (void)meter_.read();
  if (const auto read = memory_.read(); !read) options_.say(read.error().message);
  keeper_.emplace(Keeper::Dependencies{deps_.clock, deps_.rng, *probe_, total_},
                  rules_of(options_.promise), recall());
  remembered_s_ = now_s();
  looking_ = std::jthread(
      [this](const std::stop_token& stop) { repeat(stop, [this] { return look(); }); });
}

Governing::~Governing() {
  looking_.request_stop();
  looking_.join();
  remember(0);
}

double Governing::now_s() const { return static_cast<double>(deps_.clock.monotonic_ns()) * 1e-9; }

double Governing::wall_s() const { return 1e-3 * static_cast<double>(deps_.clock.wall_ms()); }

/// What is known of such guests as there are now.
governor::Carried Governing::recall() {
  kind_ = fmt::format("{} on {:.6g}", options_.own.name, capacity_);
  return memory_.recall(kind_, wall_s(), rules_of(options_.promise));
}

/// The probe goes on, which may be slow, and who looks at it writes the file.
void Governing::begin_anew() {
  const std::lock_guard lock(memory_mutex_);
  keeper_->begin_anew(rules_of(options_.promise), [this](const governor::Carried& before) {
    memory_.note(kind_, before, wall_s());
    return recall();
  });
}

/// A guest asked for a stricter promise than the one that holds: what is known stays known.
void Governing::keep_promise() {
  options_.promise = server_.promise();
  begin_anew();
  options_.say("a guest asked for less: from now on they may cost the host " +
               words(options_.promise));
}

/// Where the host's process was to be looked at and cannot be: its owner expects a better signal.
void Governing::say_signal(const std::string& by_clock) {
  if (by_clock.empty() || by_clock == by_clock_) return;
  by_clock_ = by_clock;
  options_.say(fmt::format("host {}: {}", probe::without_token(options_.host), by_clock));
}

double Governing::look() {
  const double level = total_.level();
  say_signal(keeper_->look());
  if (total_.level() != level) server_.wake();
  remember(kRememberEveryS);
  return keeper_->look_in_s();
}

void Governing::remember(double every_s) {
  std::string text;
  {
    const std::lock_guard lock(memory_mutex_);
    if (now_s() - remembered_s_ < every_s) return;
    remembered_s_ = now_s();
    memory_.note(kind_, keeper_->carried(), wall_s());
    text = memory_.text();
  }
  const auto kept = memory_.save(text);
  if (!kept && !std::exchange(is_forgetful_, true)) options_.say(kept.error().message);
}

void Governing::count_incomes() {
  counted_s_ = now_s();
  Incomes made{.host = options_.host_income_per_hour};
  const auto& weighed = options_.promise.income;  // another guest's owner may have told it
  if (weighed) made.host = std::max(made.host.value_or(0), *weighed);
  bool want = false;
  for (const GuestStatus& guest : server_.guests()) {
    want = want || guest.report.wants;
    if (guest.report.earned_per_hour) {
      made.guests = made.guests.value_or(0) + *guest.report.earned_per_hour;
    }
  }
  at_full_.add(counted_s_, total_.level(), want, made.guests);
  made.guests_at_full = at_full_.per_hour();
  made.host_loses = host_loses(made.host, view().governor);
  {
    const std::lock_guard lock(mutex_);
    incomes_ = made;
  }
  if (weighed) keeper_->hold(why_not_worth(made));
}

int Governing::wait_ms() const {
  const double most_s = server_.is_alone() ? kWaitS : kWaitBesideOthersS;
  return static_cast<int>(std::ceil(1e3 * std::min(most_s, keeper_->act_in_s())));
}

double Governing::step(const Report& own) {
  if (capacity_ < server_.capacity()) {  // the guests stand still since the step before
    capacity_ = server_.capacity();
    begin_anew();
  }
  server_.listen(wait_ms(), now_s(), [this] { return status(); });
  if (options_.promise != server_.promise()) keep_promise();
  if (keeper_->act_in_s() <= 0) keeper_->act();
  read_energy(kEnergyEveryS);
  if (now_s() - counted_s_ >= kCountEveryS) count_incomes();
  // More can run than what the governor knows the cost of: all of that it learns anew.
  if (capacity_ < server_.capacity()) total_.set_level(0);
  return server_.share(now_s(), total_.level(), own);
}

View Governing::view() const { return keeper_->view(); }

Incomes Governing::incomes() const {
  const std::lock_guard lock(mutex_);
  return incomes_;
}

void Governing::read_energy(double least_s) {
  if (now_s() - energy_read_s_ < least_s) return;
  energy_read_s_ = now_s();
  const probe::CpuReading reading = meter_.read();
  if (!reading.energy_j) return;
  energy_j_ = energy_j_.value_or(0) + *reading.energy_j;
  power_w_ = *reading.energy_j / reading.seconds;
}

std::string Governing::status() {
  read_energy(kEnergyLeastS);
  const View now = view();
  return line_of(Status{.host = options_.host,
                        .unit = std::string(now.unit),
                        .signal = now.signal,
                        .promise = server_.promise(),
                        .confidence = governor::Rules{}.confidence,
                        .governor = now.governor,
                        .incomes = incomes_,
                        .has_energy = meter_.has_energy(),
                        .energy_j = energy_j_,
                        .power_w = power_w_,
                        .guests = server_.guests()});
}

}  // namespace commensal::guest
