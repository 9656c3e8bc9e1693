// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/network.hpp>
#include <tests/e2e/cluster.hpp>

namespace commensal::e2e {
namespace {

bool has_ended(const Process& process) {
  siginfo_t found{};
  return process.pid() < 0 || (::waitid(P_PID, static_cast<id_t>(process.pid()), &found,
                                        WEXITED | WNOHANG | WNOWAIT) == 0 &&
                               found.si_pid != 0);
}

constexpr int kAsleepMs = 5 * Cluster::kLeaseMs / 2;  // until another has taken over

}  // namespace

void Tally::answered(const std::string& account, const std::string& receipt, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  receipts_[account].push_back(receipt);
  ++answers_;
  if (last_ns_ > 0 && now_ns - last_ns_ > gap_.until_ns - gap_.from_ns) gap_ = {last_ns_, now_ns};
  last_ns_ = now_ns;
}

void Tally::failed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++failures_;
  ++why_[why];
}

std::map<std::string, std::vector<std::string>> Tally::receipts() const {
  const std::lock_guard lock(mutex_);
  return receipts_;
}

std::uint64_t Tally::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

std::uint64_t Tally::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

std::string Tally::words() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [why, count] : why_) sorted.emplace_back(count, why);
  std::ranges::sort(sorted, std::greater());
  std::string all;
  for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 12); ++i) {
    all += fmt::format("  {:5} {}\n", sorted[i].first, sorted[i].second);
  }
  return all;
}

Tally::Gap Tally::longest_gap(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const Gap present{last_ns_, now_ns};
  return present.seconds() > gap_.seconds() ? present : gap_;
}

/// Ports that the system does not give to who dials: a gateway is to find its own again.
void Cluster::choose_places() {
  constexpr int kFirst = 20'000, kPorts = 10'000, kFirstAddress = 2;
  int next = ::getpid() * 9 % kPorts;
  for (std::size_t i = 0; i < kGateways; ++i) {
    const int address = kFirstAddress + static_cast<int>(i);
    network_.set(address, true);
    Place& place = places_[i];
    place.host = fmt::format("127.0.0.{}", address);
    for (std::string* port : {&place.http, &place.grpc, &place.providers}) {
      for (; port->empty(); ++next) {
        const core::Endpoint at{place.host, static_cast<std::uint16_t>(kFirst + next % kPorts)};
        if (core::listen_on(at)) *port = at.text();
      }
    }
  }
}

void Cluster::start() {
  choose_places();
  ::setenv("COMMENSAL_DB", server_.url().c_str(), 1);
  for (std::size_t i = 0; i < kGateways; ++i) start_gateway(i);
  for (std::size_t i = 0; i < kProviders; ++i) start_provider(i);
}

void Cluster::start_gateway(std::size_t i) {
  const Place& at = places_[i];
  gateways_[i] = std::make_unique<Process>(
      std::vector<std::string>{"gateway", "--data-dir", folder_.at("gateway"), "--http", at.http,
                               "--grpc", at.grpc, "--providers", at.providers, "--lease-ms",
                               std::to_string(kLeaseMs), "--json"},
      folder_.at(fmt::format("gateway{}.log", i)));
}

void Cluster::start_provider(std::size_t i) {
  std::string gateways;
  for (std::size_t k = 0; k < kGateways; ++k) {  // each begins with another one
    gateways += (k == 0 ? "" : ",") + places_[(i + k) % kGateways].providers;
  }
  const std::string name = fmt::format("provider{}", i);
  providers_[i] = std::make_unique<Process>(
      std::vector<std::string>{"provider", "--gateway", gateways, "--data-dir", folder_.at(name),
                               "--name", name, "--threads", "1", "--json"},
      folder_.at(name + ".log"));
}

std::uint64_t Cluster::dice(std::uint64_t sides) {
  const float value = core::counter_symmetric_f32(seed_, 7, thrown_++);  // in [-1, 1)
  return std::min(static_cast<std::uint64_t>((value + 1) / 2 * static_cast<float>(sides)),
                  sides - 1);
}

/// By the name that it has given the database; some other where it has none.
std::size_t Cluster::writer() {
  const std::string owner = server_.psql("SELECT owner FROM commensal_writer");
  const std::size_t at = owner.rfind(' ');
  const int pid = at == std::string::npos ? 0 : std::atoi(owner.c_str() + at);
  for (std::size_t i = 0; i < kGateways; ++i) {
    if (gateways_[i]->pid() == pid) return i;
  }
  return dice(kGateways);
}

/// Asleep while another takes over: when it wakes it ends.
void Cluster::pause_writer() {
  const auto& asleep = gateways_[writer()];
  asleep->signal(SIGSTOP);
  pause_ms(kAsleepMs);
  asleep->signal(SIGCONT);
}

/// From consumers, providers and other gateways, not from the database.
void Cluster::cut_off(std::size_t i) {
  const int address = places_[i].host.back() - '0';
  network_.set(address, false);
  pause_ms(500 + static_cast<int>(dice(3'000)));
  network_.set(address, true);
}

/// Each kind once, then as the dice fall.
void Cluster::disturb() {
  const auto does = [this](const char* what) { done_.emplace_back(clock_.monotonic_ns(), what); };
  const std::uint64_t kinds = network_.is_own() ? 8 : 6;
  const std::uint64_t kind = disturbed_ < kinds ? disturbed_ : dice(kinds);
  ++disturbed_;
  switch (kind) {
    case 0:
      does("the writer killed");
      return gateways_[writer()]->kill();
    case 1:
      does("a provider killed");
      return providers_[dice(kProviders)]->kill();
    case 2:
      does("the writer told to stop");
      return gateways_[writer()]->signal(SIGTERM);
    case 3:
      does("connections to the database cut");
      server_.psql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
          " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
      return;
    case 4:
      does("the writer asleep");
      return pause_writer();
    case 5:
      does("a gateway killed");
      return gateways_[dice(kGateways)]->kill();
    case 6:
      does("the writer cut off");
      return cut_off(writer());
    default:
      does("a gateway cut off");
      return cut_off(dice(kGateways));
  }
}

std::map<std::string, int> Cluster::done() const {
  std::map<std::string, int> times;
  for (const auto& [when_ns, what] : done_) ++times[what];
  return times;
}

std::string Cluster::done_in(const Tally::Gap& gap) const {
  constexpr std::int64_t kBeforeNs = 5'000'000'000;
  std::string lines;
  for (const auto& [when_ns, what] : done_) {
    if (when_ns < gap.from_ns - kBeforeNs || when_ns > gap.until_ns) continue;
    lines +=
        fmt::format("    {:+6.1f} s {}\n", 1e-9 * static_cast<double>(when_ns - gap.from_ns), what);
  }
  return lines;
}

void Cluster::mend() {
  for (std::size_t i = 0; i < kGateways; ++i) {
    if (has_ended(*gateways_[i])) start_gateway(i);
  }
  for (std::size_t i = 0; i < kProviders; ++i) {
    if (has_ended(*providers_[i])) start_provider(i);
  }
}

bool Cluster::is_whole(client::Client& client) {
  for (int tries = 0; tries < 600; ++tries, pause_ms(100)) {
    mend();
    const auto said = client.get_json("/v1/providers");
    const Json all = Json::parse(said.value_or("{}")).value("providers", Json::array());
    const auto serving =
        std::ranges::count_if(all, [](const Json& one) { return one.at("state") == "serving"; });
    if (serving == static_cast<std::ptrdiff_t>(kProviders)) return true;
  }
  return false;
}

void Cluster::stop() {
  for (const auto& provider : providers_) provider->signal(SIGTERM);
  for (const auto& provider : providers_) provider->wait();
  for (const auto& gateway : gateways_) gateway->signal(SIGTERM);
  for (const auto& gateway : gateways_) gateway->wait();
  ::unsetenv("COMMENSAL_DB");
}

std::string Cluster::token() const {
  const core::Path file = core::Path(folder_.at("gateway")) / "operator.token";
  for (int tries = 0; tries < 1200; ++tries, pause_ms(100)) {
    const auto bytes = core::read_file(file);
    if (bytes && !bytes->empty())
      return std::string(core::as_text(*bytes).substr(0, bytes->size() - 1));
  }
  return "";
}

std::string Cluster::log(std::size_t gateway) const {
  const auto bytes = core::read_file(folder_.at(fmt::format("gateway{}.log", gateway)));
  return bytes ? std::string(core::as_text(*bytes)) : "";
}

}  // namespace commensal::e2e
