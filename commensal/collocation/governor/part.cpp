// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/governor/part.hpp>

namespace commensal::governor {

bool Part::add(const Sample& sample) {
  const double begin_s = sample.at_s - sample.over_s;
  if (begin_s < begin_s_) return false;
  if (empty()) first_s_ = begin_s;
  last_s_ = sample.at_s;
  sum_ += sample.rate * sample.over_s;
  weight_ += sample.over_s;
  limited_ = limited_ || sample.limited;
  return true;
}

}  // namespace commensal::governor
