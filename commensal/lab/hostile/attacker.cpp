// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <thread>

namespace commensal::lab::hostile {
namespace {

/// Sleeps whenever the process has had more than its share since this was made.
class Throttle {
 public:
  explicit Throttle(double share) : share_(share) {}

  double passed_s() const { return static_cast<double>(clock_.monotonic_ns() - begun_ns_) * 1e-9; }
  double used_s() const { return static_cast<double>(core::process_cpu_ns() - used_ns_) * 1e-9; }
  double used() const { return used_s() / passed_s(); }
  void rest() const {
    const double due_s = used_s() / share_ - passed_s();
    if (due_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(std::min(due_s, 1.0)));
  }

 private:
  const core::SystemClock clock_;
  const double share_;
  const std::int64_t begun_ns_ = clock_.monotonic_ns();
  const std::int64_t used_ns_ = core::process_cpu_ns();
};

void burn_some() {
  volatile double sum = 0;
  for (int i = 0; i < 200'000; ++i) sum = sum + 1.0 / (i + 1);
}

class Nothing final : public Attacker {
 public:
  void act() override { burn_some(); }
};

constexpr AttackRow kNull = {
    "nothing", "a null: burns its share of a processor in silence, as the control does",
    [](const Target&, core::Rng&) -> std::unique_ptr<Attacker> {
      return std::make_unique<Nothing>();
    },
    Site::kPlain, true};

}  // namespace

std::vector<const AttackRow*> all_attacks() {
  std::vector<const AttackRow*> all = {&kNull};
  for (const auto table : {http_attacks(), http2_attacks(), account_attacks(), model_attacks(),
                           stream_attacks(), tls_attacks(), grpc_attacks(), relay_attacks()}) {
    for (const AttackRow& row : table) all.push_back(&row);
  }
  return all;
}

core::Result<const AttackRow*> find_attack(std::string_view name) {
  std::string names;
  for (const AttackRow* const row : all_attacks()) {
    if (row->name == name) return row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row->name);
  }
  return core::fail(core::ErrorCode::kNotFound, "unknown attack '{}': {}", name, names);
}

core::Result<Deeds> run_attack(const AttackRow& attack, const Target& target, double seconds,
                               double cpu_share, std::uint64_t seed) {
  core::raise_file_limit();
  core::CounterRng rng(seed);
  const Throttle throttle(cpu_share);
  const auto attacker = attack.make(target, rng);
  COMMENSAL_TRY(attacker->prepare());
  const std::uint64_t prepared = attacker->effects();
  std::uint64_t acts = 0;
  for (; throttle.passed_s() < seconds; ++acts) {
    attacker->act();
    throttle.rest();
  }
  attacker->finish();
  return Deeds{acts, attacker->effects() - prepared, throttle.used()};
}

Deeds burn(double seconds, double cpu_share) {
  const Throttle throttle(cpu_share);
  while (throttle.passed_s() < seconds) {
    burn_some();
    throttle.rest();
  }
  return {.cpu_share = throttle.used()};
}

}  // namespace commensal::lab::hostile
