// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/guest/governing.hpp>

namespace commensal::guest {
namespace {

constexpr double kEnergyEveryS = 60;  // the counters of packages come round within the hour
constexpr double kEnergyLeastS = 1;

}  // namespace

core::Result<std::unique_ptr<Governing>> Governing::begin(const Dependencies& deps,
                                                          const Options& options,
                                                          std::unique_ptr<probe::Probe> probe) {
  COMMENSAL_ASSIGN(GovernorServer server, GovernorServer::open(options.socket, options.host,
                                                               options.own, options.processors));
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
      energy_read_s_(now_s()) {
  (void)meter_.read();
  begin_anew();
}

Governing::~Governing() = default;

double Governing::now_s() const { return static_cast<double>(deps_.clock.monotonic_ns()) * 1e-9; }

void Governing::begin_anew() {
  if (looking_.joinable()) {
    looking_.request_stop();
    looking_.join();
  }
  {
    const std::lock_guard lock(mutex_);
    keeper_ = std::make_unique<Keeper>(
        Keeper::Dependencies{deps_.clock, deps_.rng, *probe_, total_}, options_.rules);
  }
  looking_ = std::jthread([this](const std::stop_token& stop) {
    repeat(stop, keeper_->look_every_s(), [this] { keeper_->look(); });
  });
}

double Governing::step(int wait_ms, const Report& own) {
  if (capacity_ < server_.capacity()) {  // the guests stand still since the step before
    capacity_ = server_.capacity();
    begin_anew();
  }
  server_.listen(wait_ms, now_s(), [this] { return status(); });
  keeper_->act();
  read_energy(kEnergyEveryS);
  // More can run than what the governor knows the cost of: all of that it learns anew.
  if (capacity_ < server_.capacity()) total_.set_level(0);
  return server_.share(now_s(), total_.level(), own);
}

View Governing::view() const {
  const std::lock_guard lock(mutex_);
  return keeper_->view();
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
                        .confidence = options_.rules.confidence,
                        .governor = now.governor,
                        .host_income_per_hour = options_.host_income_per_hour,
                        .energy_j = energy_j_,
                        .power_w = power_w_,
                        .guests = server_.guests()});
}

}  // namespace commensal::guest
