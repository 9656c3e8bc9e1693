// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/gateway/act_log.hpp>
#include <commensal/serve/gateway/numbered_key.hpp>

namespace commensal::gateway {

namespace {

constexpr std::string_view kSpace = "operator_acts";  // number, newest first -> record

/// One line of UTF-8 that a record takes.
void shorten(std::string& text) { text = protocol::one_line(text); }

}  // namespace

core::Result<std::uint64_t> ActLog::last() {
  if (last_) return *last_;
  std::uint64_t number = 0;
  COMMENSAL_TRY(store_.scan(kSpace, {}, [&number](core::ByteView key, core::ByteView) {
    number = number_of_key(key);
    return false;
  }));
  last_ = number;
  return number;
}

core::Result<void> ActLog::add(Act act) {
  COMMENSAL_ASSIGN(const std::uint64_t before, last());
  act.number = before + 1;
  act.at_ms = clock_.wall_ms();
  for (std::string* text : {&act.account, &act.token, &act.what, &act.on, &act.outcome})
    shorten(*text);
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(act));
  core::Store::Batch batch;
  batch.push_back({std::string(kSpace), newest_first_key(act.number), std::move(row)});
  if (act.number > kept_max_)
    batch.push_back({std::string(kSpace), newest_first_key(act.number - kept_max_), {}});
  COMMENSAL_TRY(store_.apply(batch));
  last_ = act.number;
  return {};
}

core::Result<std::vector<Act>> ActLog::read(std::uint64_t before, std::size_t count) {
  COMMENSAL_ASSIGN(const std::uint64_t newest, last());
  std::uint64_t number = before == 0 ? newest : std::min(newest, before - 1);
  std::vector<Act> acts;
  for (; number > 0 && acts.size() < count; --number) {
    COMMENSAL_ASSIGN(const auto row, store_.get(kSpace, newest_first_key(number)));
    if (!row) break;  // what is older has gone
    COMMENSAL_ASSIGN(Act act, protocol::decode_stored<Act>(*row));
    acts.push_back(std::move(act));
  }
  return acts;
}

}  // namespace commensal::gateway
