// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/keeper/standstill.hpp>

namespace commensal::keeper {
namespace {

constexpr double kMomentS = 2;

}  // namespace

std::string Standstill::why(double level, const std::optional<governor::Status>& status,
                            double now_s) {
  using governor::Phase;
  if (level > 0) {
    since_s_.reset();
    return "";
  }
  if (!since_s_) since_s_ = now_s;
  const bool is_long =
      status && (status->phase == Phase::kWaiting || status->phase == Phase::kBackOff);
  if (!is_long && now_s - *since_s_ < kMomentS) return "";
  if (!status) return "the host comes first";
  return status->why.empty() ? "the host is measured alone" : std::string(status->why);
}

}  // namespace commensal::keeper
