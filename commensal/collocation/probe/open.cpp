// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/local.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/remote.hpp>

namespace commensal::probe {
namespace {

using Opened = core::Result<std::unique_ptr<Probe>>;

struct Other {
  std::string_view name;
  Opened (*open)(const Spec& spec, const World& world);
};

constexpr auto kOthers = std::to_array<Other>({{"prometheus", open_prometheus},
                                               {"log", open_log},
                                               {"counter", open_counter},
                                               {"process", open_process}});

}  // namespace

Opened open(std::string_view text, const World& world) {
  COMMENSAL_ASSIGN(const Spec spec, parse_spec(text));
  if (const Miner* const miner = find_miner(spec.kind); miner != nullptr)
    return open_miner(*miner, spec, world);
  const auto it = std::ranges::find(kOthers, spec.kind, &Other::name);
  if (it != kOthers.end()) return it->open(spec, world);
  return core::fail(core::ErrorCode::kInvalidArgument, "no kind of probe '{}'; there are {}",
                    spec.kind, names_of_kinds());
}

}  // namespace commensal::probe
