// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/model_grants.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

// "owner/model", a zero byte and the account -> 1 where the file is given too, else 0.
constexpr std::string_view kSpace = "model_grants";

core::Bytes key_of(const std::string& model, const std::string& account) {
  const std::string text = model + '\0' + account;
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace

core::Result<void> ModelGrants::open() {
  if (is_open_) return {};
  COMMENSAL_TRY(store_.scan(kSpace, {}, [this](core::ByteView key, core::ByteView value) {
    const std::string_view text = core::as_text(key);
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos) return true;
    grants_[std::string(text.substr(0, zero))][std::string(text.substr(zero + 1))] = {
        .with_file = !value.empty() && value.front() == 1};
    return true;
  }));
  is_open_ = true;
  return {};
}

const ModelGrants::Grant* ModelGrants::find(const std::string& model,
                                            const std::string& account) const {
  const auto all = grants_.find(model);
  if (all == grants_.end()) return nullptr;
  const auto found = all->second.find(account);
  return found == all->second.end() ? nullptr : &found->second;
}

ModelGrants::Grants ModelGrants::of(const std::string& model) const {
  const auto all = grants_.find(model);
  return all == grants_.end() ? Grants() : all->second;
}

core::Result<void> ModelGrants::give(const std::string& model, const std::string& account,
                                     Grant grant) {
  const bool is_new = find(model, account) == nullptr;
  if (is_new && of(model).size() >= limits::kModelGrantsMax) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "{} accounts may use '{}', the most that are kept", limits::kModelGrantsMax,
                      model);
  }
  const core::Bytes row{static_cast<std::uint8_t>(grant.with_file ? 1 : 0)};
  COMMENSAL_TRY(store_.apply({{std::string(kSpace), key_of(model, account), row}}));
  grants_[model][account] = grant;
  return {};
}

core::Result<void> ModelGrants::take(const std::string& model, const std::string& account) {
  if (find(model, account) == nullptr) {
    return core::fail(ErrorCode::kNotFound, "'{}' was not given to '{}'", model,
                      account.substr(0, limits::kNameBytesMax));
  }
  COMMENSAL_TRY(store_.apply({{std::string(kSpace), key_of(model, account), std::nullopt}}));
  grants_[model].erase(account);
  return {};
}

core::Store::Batch ModelGrants::without(const std::string& model) const {
  core::Store::Batch batch;
  for (const auto& [account, grant] : of(model))
    batch.push_back({std::string(kSpace), key_of(model, account), std::nullopt});
  return batch;
}

}  // namespace commensal::gateway
