// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/numbered_key.hpp>
#include <commensal/serve/gateway/repository.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

constexpr std::string_view kAliases = "model_aliases";     // alias -> "owner/model"
constexpr std::string_view kUnloaded = "models_unloaded";  // "owner/model" -> nothing
constexpr std::string_view kConfigs = "model_configs";     // as versions of models
constexpr std::string_view kClasses = "model_classes";     // likewise: of privacy, that was said

core::Bytes bytes_of(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

/// What begins the keys of all its versions, of which the newest comes first.
core::Bytes prefix_of(const std::string& model) {
  core::Bytes prefix = bytes_of(model);
  prefix.push_back(0);
  return prefix;
}

core::Bytes key_of(const std::string& model, std::uint32_t version) {
  core::Bytes key = prefix_of(model);
  const core::Bytes number = newest_first_key(version);
  key.insert(key.end(), number.begin(), number.end());
  return key;
}

// Words that a path has behind a model's name.
constexpr std::string_view kReserved[] = {"config", "infer", "load",   "ready",
                                          "stats",  "trace", "unload", "versions"};

bool is_short_name(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_allowed = [&](char c) {
    return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= limits::kNameBytesMax && is_alphanumeric(name.front()) &&
         std::ranges::all_of(name, is_allowed) &&
         std::ranges::find(kReserved, name) == std::end(kReserved);
}

std::string short_name_rule() {
  return fmt::format("1 to {} of [A-Za-z0-9._-] beginning with a letter or digit, and none of {}",
                     limits::kNameBytesMax, fmt::join(kReserved, ", "));
}

}  // namespace

core::Result<void> check_model_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && is_short_name(name.substr(slash + 1))) return {};
  return core::fail(ErrorCode::kInvalidArgument, "'{}': expected a name OWNER/MODEL, MODEL {}",
                    name.substr(0, 2 * limits::kNameBytesMax + 1), short_name_rule());
}

core::Result<void> Repository::open() {
  if (is_open_) return {};
  COMMENSAL_TRY(store_.scan(kAliases, {}, [&](core::ByteView key, core::ByteView value) {
    aliases_.emplace(core::as_text(key), core::as_text(value));
    return true;
  }));
  COMMENSAL_TRY(store_.scan(kUnloaded, {}, [&](core::ByteView key, core::ByteView) {
    unloaded_.emplace(core::as_text(key));
    return true;
  }));
  is_open_ = true;
  return {};
}

core::Result<void> Repository::set_alias(const std::string& alias, const std::string& model) {
  COMMENSAL_TRY(open());
  if (!is_short_name(alias))
    return core::fail(ErrorCode::kInvalidArgument, "an alias is {}", short_name_rule());
  if (!aliases_.contains(alias) && aliases_.size() >= limits::kAliasesMax) {
    return core::fail(ErrorCode::kResourceExhausted, "there are {} aliases, the most that are kept",
                      aliases_.size());
  }
  COMMENSAL_TRY(store_.apply({{std::string(kAliases), bytes_of(alias), bytes_of(model)}}));
  aliases_.insert_or_assign(alias, model);
  return {};
}

core::Result<void> Repository::remove_alias(const std::string& alias) {
  COMMENSAL_TRY(open());
  if (!aliases_.contains(alias))
    return core::fail(ErrorCode::kNotFound, "unknown alias '{}'", alias);
  COMMENSAL_TRY(store_.apply({{std::string(kAliases), bytes_of(alias), std::nullopt}}));
  aliases_.erase(alias);
  return {};
}

core::Result<const std::map<std::string, std::string>*> Repository::aliases() {
  COMMENSAL_TRY(open());
  return &aliases_;
}

core::Result<std::string> Repository::resolve(const std::string& name) {
  COMMENSAL_TRY(open());
  const auto found = aliases_.find(name);
  return found == aliases_.end() ? name : found->second;
}

core::Result<void> Repository::set_config(const std::string& model, std::uint32_t version,
                                          const ServingConfig& config,
                                          const std::optional<std::string>& privacy_class) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(config));
  const core::Bytes key = key_of(model, version);
  core::Store::Batch batch = {{std::string(kConfigs), key, std::move(row)}};
  if (privacy_class) batch.push_back(class_row(model, version, *privacy_class));
  COMMENSAL_TRY(store_.apply(batch));
  forget_configs_from(model, version);
  return {};
}

core::Result<void> Repository::set_class(const std::string& model, std::uint32_t version,
                                         const std::string& privacy_class) {
  COMMENSAL_TRY(store_.apply({class_row(model, version, privacy_class)}));
  forget_configs_from(model, version);
  return {};
}

core::Store::Write Repository::class_row(const std::string& model, std::uint32_t version,
                                         const std::string& privacy_class) {
  return {std::string(kClasses), key_of(model, version), bytes_of(privacy_class)};
}

core::Store::Batch Repository::without(const std::string& model, std::uint32_t version) {
  return {{std::string(kConfigs), key_of(model, version), std::nullopt},
          {std::string(kClasses), key_of(model, version), std::nullopt}};
}

core::Store::Write Repository::loaded_row(const std::string& model) {
  return {std::string(kUnloaded), bytes_of(model), std::nullopt};
}

void Repository::forget(const std::string& model) {
  unloaded_.erase(model);
  configs_.erase(configs_.lower_bound(prefix_of(model)), configs_.upper_bound(key_of(model, 0)));
}

/// Later versions may be of its class.
void Repository::forget_configs_from(const std::string& model, std::uint32_t version) {
  configs_.erase(configs_.lower_bound(prefix_of(model)),
                 configs_.upper_bound(key_of(model, version)));
}

core::Result<std::string> Repository::class_of(const std::string& model, std::uint32_t version) {
  const core::Bytes own = key_of(model, version);
  std::string said;
  COMMENSAL_TRY(
      store_.scan(kClasses, prefix_of(model), [&](core::ByteView key, core::ByteView value) {
        if (std::ranges::lexicographical_compare(key, own)) return true;  // of a later version
        said = core::as_text(value);
        return false;
      }));
  return said;
}

core::Result<std::shared_ptr<const ServingConfig>> Repository::config(const std::string& model,
                                                                      std::uint32_t version) {
  core::Bytes key = key_of(model, version);
  const auto known = configs_.find(key);
  if (known != configs_.end()) return known->second;
  COMMENSAL_ASSIGN(const auto row, store_.get(kConfigs, key));
  ServingConfig config;
  if (row) {
    COMMENSAL_ASSIGN(config, protocol::decode_stored<ServingConfig>(*row));
  }
  COMMENSAL_ASSIGN(config.privacy_class, class_of(model, version));
  if (configs_.size() >= limits::kConfigsInMemoryMax) configs_.clear();  // they are read again
  return configs_.emplace(std::move(key), std::make_shared<const ServingConfig>(std::move(config)))
      .first->second;
}

core::Result<void> Repository::set_loaded(const std::string& model, bool is_loaded) {
  COMMENSAL_TRY(open());
  if (is_loaded != unloaded_.contains(model)) return {};
  const auto row = is_loaded ? std::nullopt : std::optional(core::Bytes());
  COMMENSAL_TRY(store_.apply({{std::string(kUnloaded), bytes_of(model), row}}));
  is_loaded ? void(unloaded_.erase(model)) : void(unloaded_.insert(model));
  return {};
}

core::Result<bool> Repository::is_loaded(const std::string& model) {
  COMMENSAL_TRY(open());
  return !unloaded_.contains(model);
}

}  // namespace commensal::gateway
