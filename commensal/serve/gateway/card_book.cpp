// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/card_book.hpp>

namespace commensal::gateway {
namespace {

constexpr std::string_view kCardFiles = "model_cards";       // "owner/model" -> the file
constexpr std::string_view kCardHeads = "model_card_heads";  // likewise -> CardHead

core::Bytes stored_text(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

}  // namespace

core::Result<void> CardBook::open() {
  if (is_open_) return {};
  core::Result<void> status;
  std::map<std::string, CardHeadPtr> heads;
  COMMENSAL_TRY(store_.scan(kCardHeads, {}, [&](core::ByteView key, core::ByteView value) {
    auto head = protocol::decode_stored<CardHead>(value);
    if (!head) {
      status = tl::unexpected(std::move(head).error());
      return false;
    }
    heads.emplace(core::as_text(key), std::make_shared<const CardHead>(*std::move(head)));
    return true;
  }));
  COMMENSAL_TRY(status);
  heads_ = std::move(heads);
  is_open_ = true;
  return {};
}

CardHeadPtr CardBook::head(const std::string& model) const {
  const auto found = heads_.find(model);
  return found == heads_.end() ? nullptr : found->second;
}

core::Result<std::optional<std::string>> CardBook::source(const std::string& model) {
  COMMENSAL_ASSIGN(const auto value, store_.get(kCardFiles, core::as_bytes(model)));
  if (!value) return std::nullopt;
  return std::string(core::as_text(*value));
}

core::Result<void> CardBook::put(const std::string& model, std::string_view source, CardHead head) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(head));
  COMMENSAL_TRY(store_.apply({{std::string(kCardFiles), stored_text(model), stored_text(source)},
                              {std::string(kCardHeads), stored_text(model), std::move(row)}}));
  heads_[model] = std::make_shared<const CardHead>(std::move(head));
  return {};
}

core::Store::Batch CardBook::without(const std::string& model) const {
  if (!heads_.contains(model)) return {};
  return {{std::string(kCardFiles), stored_text(model), std::nullopt},
          {std::string(kCardHeads), stored_text(model), std::nullopt}};
}

}  // namespace commensal::gateway
