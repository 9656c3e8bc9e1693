// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/lab/bench/promise/hosts.hpp>

namespace commensal::lab::bench::promise {
namespace {

using Change = void (*)(SimulatedHost&);

template <Change kChange>
SimulatedHost with() {
  SimulatedHost host;
  kChange(host);
  return host;
}

SimulatedHost late(double lag, double lag_s, double noise) {
  SimulatedHost host;
  host.slope = constant(0.005);
  host.lag = lag;
  host.lag_s = lag_s;
  host.noise = noise;
  return host;
}

SimulatedHost blocked(double share, double others_s) {
  SimulatedHost host;
  host.slope = constant(0);
  host.blocked = share;
  host.others_s = others_s;
  return host;
}

// As docs/collocation.md says of them.
constexpr const char* kFoundLate = "found too late for the hour in which it is met";
constexpr const char* kByTheClock = "lost by the clock alone, of which too little is shown";

constexpr Kind kKinds[] = {
    {"steady", with<[](SimulatedHost&) {}>},
    {"noisy", with<[](SimulatedHost& host) { host.noise = 0.06; }>},
    {"very noisy", with<[](SimulatedHost& host) { host.noise = 0.2; }>},
    {"free", with<[](SimulatedHost& host) { host.slope = constant(0); }>},
    {"lost to the guest", with<[](SimulatedHost& host) { host.slope = constant(1); }>},
    {"drifting clock", with<[](SimulatedHost& host) {
       host.alone = [](double t) { return 1000 * (1 + 0.03 * std::sin(t / 100)); };
     }>},
    {"thermal steps", with<[](SimulatedHost& host) {
       host.alone = [](double t) { return 1000 * (1 - 0.05 * (static_cast<int>(t / 400) % 3)); };
     }>},
    {"phases", with<[](SimulatedHost& host) {
       host.alone = [](double t) { return std::fmod(t, 300) < 150 ? 1000 : 700; };
     }>},
    {"bursts", with<[](SimulatedHost& host) {
       host.alone = [](double t) { return std::fmod(t, 7) < 2 ? 1000 : 600; };
     }>},
    {"the cost jumps", with<[](SimulatedHost& host) {
       host.slope = [](double t) { return t < 4200 ? 0.002 : 0.1; };
     }>},
    {"the cost wanders", with<[](SimulatedHost& host) {
       host.slope = [](double t) { return 0.02 * (1 + std::sin(t / 500)); };
     }>},
    {"more than in proportion", with<[](SimulatedHost& host) { host.bend = 2; }>},
    {"less than in proportion", with<[](SimulatedHost& host) { host.bend = 0.5; }>},
    {"a mean of ten seconds", with<[](SimulatedHost& host) {
       host.averaging_s = 10;
       host.probe_s = 1;
     }>},
    {"coarse figures", with<[](SimulatedHost& host) { host.resolution = 10; }>},
    {"says half of the truth at times", with<[](SimulatedHost& host) {
       host.reported = [](double t) { return std::fmod(t, 97) < 5 ? 0.5 : 1.0; };
     }>},
    {"says twice the truth at times", with<[](SimulatedHost& host) {
       host.reported = [](double t) { return std::fmod(t, 89) < 4 ? 2.0 : 1.0; };
     }>},
    {"heard every other minute", with<[](SimulatedHost& host) {
       host.speaks = [](double t) { return std::fmod(t, 120) < 60; };
     }>},
    {"warms up in 10 s", [] { return late(0.02, 10, 0.02); }},
    {"warms up in 60 s", [] { return late(0.02, 60, 0.02); }},
    {"warms up in 120 s", [] { return late(0.02, 120, 0.02); }},
    {"warms up, noisy", [] { return late(0.02, 60, 0.06); }},
    {"costs 30 % seconds late", [] { return late(0.3, 5, 0.01); }, kFoundLate},
    {"blocked by a tenth beside others", [] { return blocked(0.1, 4); }, kByTheClock},
    {"blocked by a twentieth", [] { return blocked(0.05, 0); }},
    {"throttled by its guest", with<[](SimulatedHost& host) {
       host.slope = constant(0);
       host.throttled = [](double, double level) { return (level > 0); };
     }>},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

}  // namespace commensal::lab::bench::promise
