// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/timed.hpp>

namespace commensal::probe {
namespace {

using std::string_view;

constexpr std::uint16_t kXmrigPorts[] = {4067, 8080, 18088, 60050};
constexpr std::uint16_t kLolminerPorts[] = {4444, 8020, 44444};
constexpr std::uint16_t kTrexPorts[] = {4067};
constexpr std::uint16_t kNbminerPorts[] = {22333, 8000};
constexpr std::uint16_t kGminerPorts[] = {10050, 4444, 3333};
constexpr std::uint16_t kExcavatorPorts[] = {18000, 3456};

constexpr string_view kXmrigNames[] = {"xmrig", "equihash"};
constexpr string_view kLolminerNames[] = {"lolMiner"};
constexpr string_view kTrexNames[] = {"t-rex"};
constexpr string_view kNbminerNames[] = {"nbminer"};
constexpr string_view kGminerNames[] = {"miner", "gminer"};
constexpr string_view kExcavatorNames[] = {"excavator"};

constexpr string_view kXmrigOptions[] = {"--http-port", "--http"};  // the second: hosts/equihash
constexpr string_view kLolminerOptions[] = {"--apiport"};
constexpr string_view kTrexOptions[] = {"--api-bind-http", "-b"};
constexpr string_view kNbminerOptions[] = {"--api", "-api"};
constexpr string_view kGminerOptions[] = {"--api"};
constexpr string_view kExcavatorOptions[] = {"-wp"};

/// Averaging as documented: xmrig's first figure is of 10 s; T-Rex's of what its configuration
/// says, 60 s if nothing (`hashrate-avr`). The others do not say: a minute is assumed, so that an
/// epoch is rather too long than too short.
constexpr Traits of_hashes(double resolution_s, double averaging_s, double stale_after_s,
                           Device device = Device::kGpu) {
  return {"hashes", Quantity::kRate, resolution_s, averaging_s, stale_after_s, device};
}

constexpr string_view kExcavatorTarget =
    "/api?command=%7B%22id%22%3A1%2C%22method%22%3A%22algorithm.list%22%2C%22params%22%3A%5B%5D%7D";
constexpr string_view kExcavatorLine = R"({"id":1,"method":"algorithm.list","params":[]})";

constexpr Miner kMiners[] = {
    {"xmrig", "/2/summary", "", of_hashes(1, 10, 30, Device::kProcessors), decode_xmrig,
     kXmrigPorts, kXmrigNames, kXmrigOptions},
    {"lolminer", "/", "", of_hashes(15, 60, 120), decode_lolminer, kLolminerPorts, kLolminerNames,
     kLolminerOptions},
    {"trex", "/summary", "", of_hashes(1, 60, 120), decode_trex, kTrexPorts, kTrexNames,
     kTrexOptions},
    {"nbminer", "/api/v1/status", "", of_hashes(10, 60, 120), decode_nbminer, kNbminerPorts,
     kNbminerNames, kNbminerOptions},
    {"gminer", "/stat", "", of_hashes(30, 60, 120), decode_gminer, kGminerPorts, kGminerNames,
     kGminerOptions},
    {"excavator", kExcavatorTarget, kExcavatorLine, of_hashes(1, 60, 120), decode_excavator,
     kExcavatorPorts, kExcavatorNames, kExcavatorOptions},
};

struct Other {
  string_view name;
  core::Result<std::unique_ptr<Probe>> (*open)(const Spec& spec, const Dependencies& deps);
};

constexpr Other kOthers[] = {{"prometheus", open_prometheus},
                             {"log", open_log},
                             {"counter", open_counter},
                             {"process", open_process}};

}  // namespace

std::span<const Miner> miners() { return kMiners; }

const Miner* find_miner(string_view name) {
  const auto it = std::ranges::find(kMiners, name, &Miner::name);
  return it == std::end(kMiners) ? nullptr : &*it;
}

namespace {

core::Result<std::unique_ptr<Probe>> open_kind(const Spec& spec, const Dependencies& deps) {
  if (const Miner* const miner = find_miner(spec.kind)) return open_miner(*miner, spec, deps);
  const auto other = std::ranges::find(kOthers, spec.kind, &Other::name);
  if (other != std::end(kOthers)) return other->open(spec, deps);
  std::string known;
  for (const Miner& miner : kMiners) known += fmt::format(" {},", miner.name);
  for (const Other& one : kOthers) known += fmt::format(" {},", one.name);
  known.pop_back();
  return core::fail(core::ErrorCode::kInvalidArgument, "no kind of probe '{}'; there are{}",
                    spec.kind, known);
}

}  // namespace

core::Result<std::unique_ptr<Probe>> open(string_view text, const Dependencies& deps) {
  COMMENSAL_ASSIGN(Spec spec, parse_spec(text));
  COMMENSAL_ASSIGN(auto probe, open_kind(spec, deps));
  // What works on a GPU, or may, needs its processors for little: only its owner knows.
  const bool is_miner = find_miner(spec.kind) != nullptr;
  if (is_miner && probe->traits().device == Device::kProcessors && !spec.process &&
      is_on_loopback(spec)) {
    spec.process = 0;
  }
  if (!spec.process) return probe;
  return with_host_time(std::move(probe), spec, deps);
}

}  // namespace commensal::probe
