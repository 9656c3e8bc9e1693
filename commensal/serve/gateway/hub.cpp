// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway {

namespace {

using core::ErrorCode;
using namespace hub_rows;  // NOLINT(google-build-using-namespace)

/// One text for what is not there and what the asker may not know of.
tl::unexpected<core::Error> unknown_model(const std::string& name, std::uint32_t version) {
  const std::string shown = name.substr(0, 2 * limits::kNameBytesMax + 1);
  if (name.find('/') == std::string::npos)
    return core::fail(
        ErrorCode::kNotFound,
        "unknown model '{}': names are OWNER/MODEL, or an alias that an operator gave", shown);
  if (version != 0)
    return core::fail(ErrorCode::kNotFound, "unknown model '{}' version {}", shown, version);
  return core::fail(ErrorCode::kNotFound, "unknown model '{}'", shown);
}

bool is_same(const ModelVersion& version, const ModelFile& file, const PushOptions& options) {
  return version.content == file.content &&
         version.graph_root == file.graph_root &&  // that another release may make of it
         version.is_private == options.is_private &&
         version.allowed_providers == options.allowed_providers;
}

core::Result<std::vector<ModelPort>> ports_of(const graph::Graph& graph,
                                              const std::vector<graph::ValueId>& ids) {
  if (ids.size() > limits::kInferTensorsMax)
    return core::fail(ErrorCode::kResourceExhausted, "{} inputs or outputs, at most {} can travel",
                      ids.size(), limits::kInferTensorsMax);
  std::vector<ModelPort> ports;
  std::size_t bytes = 0;
  for (const graph::ValueId id : ids) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    const auto is_sound = [](std::string_view text) {
      return text.size() <= limits::kTextBytesMax && protocol::is_line(text);
    };
    bytes += value.name.size();
    for (const std::string& symbol : value.declared.symbols) bytes += symbol.size();
    if (bytes > limits::kPortNamesBytesMax)
      return core::fail(ErrorCode::kResourceExhausted,
                        "the names of inputs or outputs and of their dimensions have more than {} "
                        "bytes together",
                        limits::kPortNamesBytesMax);
    if (!is_sound(value.name) || !std::ranges::all_of(value.declared.symbols, is_sound))
      return core::fail(
          ErrorCode::kInvalidArgument,
          "the names of inputs, outputs and their dimensions are lines of UTF-8 of at "
          "most {} bytes",
          limits::kTextBytesMax);
    if (tensor::traits(value.declared.dtype).oip.empty() || !value.declared.containers.empty())
      return core::fail(ErrorCode::kUnsupported,
                        "'{}' is {}: the Open Inference Protocol has no such type", value.name,
                        value.declared.text());
    ports.push_back({value.name, value.declared});
  }
  return ports;
}

}  // namespace

core::Result<void> ModelHub::check_push(const Account& owner, const std::string& model,
                                        const PushOptions& options) {
  COMMENSAL_TRY(check_model_name(model));
  if (model.substr(0, model.find('/')) != owner.name)
    return core::fail(ErrorCode::kPermissionDenied, "'{}' pushes to '{}/...' only", owner.name,
                      owner.name);
  if (!options.is_private && !options.allowed_providers.empty())
    return core::fail(ErrorCode::kInvalidArgument, "only a private model has a list of providers");
  if (options.allowed_providers.size() > limits::kProvidersMax)
    return core::fail(ErrorCode::kInvalidArgument, "a list has at most {} providers",
                      limits::kProvidersMax);
  return {};
}

core::Result<ModelHub::Usage*> ModelHub::usage(const std::string& owner) {
  const auto known = usage_.find(owner);
  if (known != usage_.end()) return &known->second;
  COMMENSAL_TRY(newest());
  Usage usage;
  COMMENSAL_TRY(each_record<ModelVersion>(store_, kModelSpace, core::as_bytes(owner + "/"),
                                          [&](core::ByteView, const ModelVersion& one) {
                                            usage.models.insert(one.name);
                                            usage.bytes += one.bytes;
                                            return true;
                                          }));
  for (auto one = former_.lower_bound(owner + "/");
       one != former_.end() && one->first.starts_with(owner + "/"); ++one) {
    usage.models.insert(one->first);
  }
  for (const auto& [content, file] : dropped_) {
    if (file.owner == owner) usage.bytes += file.bytes;
  }
  return &usage_.emplace(owner, std::move(usage)).first->second;
}

core::Result<std::int64_t> ModelHub::left_by_models(const std::string& owner) {
  COMMENSAL_ASSIGN(const Usage* const there, usage(owner));
  return std::max<std::int64_t>(0, bounds_.bytes_max - there->bytes - there->reserved);
}

core::Result<void> ModelHub::reserve(const Account& owner, const std::string& model,
                                     std::int64_t bytes) {
  COMMENSAL_ASSIGN(Usage* const there, usage(owner.name));
  COMMENSAL_TRY(check_room(model));
  const bool is_bounded = owner.role != Role::kOperator;
  if (is_bounded && !there->models.contains(model) && there->models.size() >= bounds_.models_max) {
    return core::fail(
        ErrorCode::kResourceExhausted,
        "'{}' has {} models, the most of one account (deleted ones count for a while)", owner.name,
        there->models.size());
  }
  COMMENSAL_ASSIGN(std::int64_t left, left_by_models(owner.name));
  if (is_bounded && bytes <= left && others_) {
    COMMENSAL_ASSIGN(const std::int64_t others, others_(owner.name, left - bytes));
    left = std::max<std::int64_t>(0, left - others);
  }
  if (is_bounded && bytes > left) {
    return core::fail(
        ErrorCode::kResourceExhausted,
        "the model has {} bytes, and '{}' may keep {} more (deleted models count until "
        "their files go, states of rollouts while they are needed)",
        bytes, owner.name, left);
  }
  there->reserved += bytes;
  return {};
}

void ModelHub::release(const Account& owner, std::int64_t bytes) {
  const auto known = usage_.find(owner.name);
  if (known != usage_.end()) known->second.reserved -= bytes;
}

core::Result<ModelFile> ModelHub::stage(core::ByteView bytes) const {
  // The graph's views of `bytes` end with this call: nobody needs to own them.
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_bytes(bytes, nullptr));
  ModelFile file;
  COMMENSAL_ASSIGN(file.inputs, ports_of(*graph, graph->inputs));
  COMMENSAL_ASSIGN(file.outputs, ports_of(*graph, graph->outputs));
  const receipt::ModelRoots roots = receipt::model_roots(*graph);
  file.graph_root = roots.graph;
  file.weight_root = roots.weights;
  file.content = crypto::sha256(bytes);
  file.bytes = static_cast<std::int64_t>(bytes.size());
  file.pin = folder_.pin(file.content);
  COMMENSAL_TRY(folder_.keep(file.content, bytes));
  return file;
}

core::Result<ModelVersion> ModelHub::push(const Account& owner, const std::string& model,
                                          const ModelFile& file, const PushOptions& options) {
  COMMENSAL_TRY(check_push(owner, model, options));
  COMMENSAL_ASSIGN(const ModelPtr last, newest(model));
  if (last && is_same(*last, file, options)) {
    if (options.privacy_class)
      COMMENSAL_TRY(repository_.set_class(model, last->version, *options.privacy_class));
    return *last;
  }
  COMMENSAL_TRY(check_room(model));
  COMMENSAL_TRY(usage(owner.name));
  const std::uint32_t before = last ? last->version : removed_version(model);
  ModelVersion version{.name = model,
                       .owner = owner.name,
                       .version = before + 1,
                       .is_private = options.is_private,
                       .allowed_providers = options.allowed_providers,
                       .content = file.content,
                       .graph_root = file.graph_root,
                       .weight_root = file.weight_root,
                       .bytes = file.bytes,
                       .created_ms = clock_.wall_ms(),
                       .inputs = file.inputs,
                       .outputs = file.outputs};
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(version));
  core::Store::Batch batch = {
      {std::string(kModelSpace), model_key(model, version.version), std::move(row)}};
  // With the version: no request may find it without its class. Of a model that was removed it has
  // none, whatever rows are still there.
  if (options.privacy_class || (!last && before != 0)) {
    batch.push_back(
        Repository::class_row(model, version.version, options.privacy_class.value_or("")));
  }
  const auto dropped = dropped_.find(version.content);
  if (dropped != dropped_.end()) {
    batch.push_back({std::string(kDroppedSpace), content_key(version.content), std::nullopt});
  }
  COMMENSAL_TRY(store_.apply(batch));
  if (dropped != dropped_.end()) {
    add_usage(dropped->second.owner, -dropped->second.bytes);
    dropped_.erase(dropped);
  }
  used_[version.content].emplace(model, version.version);
  usage_[owner.name].models.insert(model);
  add_usage(owner.name, version.bytes);
  (*newest_)[model] = std::make_shared<const ModelVersion>(version);
  return version;
}

core::Result<ModelVersion> ModelHub::push(const Account& owner, const std::string& model,
                                          core::ByteView bytes, const PushOptions& options) {
  COMMENSAL_TRY(check_push(owner, model, options));
  const auto size = static_cast<std::int64_t>(bytes.size());
  COMMENSAL_TRY(reserve(owner, model, size));
  const auto file = stage(bytes);
  release(owner, size);
  if (!file) return tl::unexpected(file.error());
  return push(owner, model, *file, options);
}

core::Result<std::map<std::string, ModelPtr>*> ModelHub::newest() {
  if (newest_) return &*newest_;
  COMMENSAL_TRY(read_removals());
  std::map<std::string, ModelPtr> found;
  COMMENSAL_TRY(
      each_record<ModelVersion>(store_, kModelSpace, {}, [&](core::ByteView, ModelVersion version) {
        used_[version.content].emplace(version.name, version.version);
        const std::uint32_t removed = removed_version(version.name);
        if (version.version <= removed) {
          purging_[version.name] = removed;
        } else if (!found.contains(version.name)) {  // else the newest has been here
          std::string name = version.name;
          found.emplace(std::move(name), std::make_shared<const ModelVersion>(std::move(version)));
        }
        return true;
      }));
  return &newest_.emplace(std::move(found));
}

core::Result<ModelPtr> ModelHub::newest(const std::string& name) {
  COMMENSAL_ASSIGN(const auto* const all, newest());
  const auto found = all->find(name);
  return found == all->end() ? nullptr : found->second;
}

core::Result<ModelVersion> ModelHub::find(const Account* asker, const std::string& asked,
                                          std::uint32_t version) {
  COMMENSAL_TRY(grants_.open());
  COMMENSAL_ASSIGN(const std::string name, repository_.resolve(asked));
  if (name.size() > 2 * limits::kNameBytesMax + 1) return unknown_model(name, version);
  if (version == 0) {
    COMMENSAL_ASSIGN(const ModelPtr found, newest(name));
    if (!found || !may_see(asker, *found)) return unknown_model(name, version);
    return *found;
  }
  COMMENSAL_TRY(newest());
  if (version <= removed_version(name)) return unknown_model(name, version);
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> value,
                   store_.get(kModelSpace, model_key(name, version)));
  if (!value) return unknown_model(name, version);
  COMMENSAL_ASSIGN(ModelVersion found, protocol::decode_stored<ModelVersion>(*value));
  if (!may_see(asker, found)) return unknown_model(name, version);
  return found;
}

core::Result<std::vector<ModelVersion>> ModelHub::own_versions(const Account& asker,
                                                               const std::string& name) {
  COMMENSAL_ASSIGN(const ModelVersion last, own_model(asker, name));
  std::vector<ModelVersion> versions;
  const std::uint32_t removed = removed_version(last.name);
  COMMENSAL_TRY(each_record<ModelVersion>(store_, kModelSpace, model_prefix(last.name),
                                          [&](core::ByteView, ModelVersion version) {
                                            if (version.version <= removed) return false;
                                            versions.push_back(std::move(version));
                                            return true;
                                          }));
  return versions;
}

core::Result<ModelVersion> ModelHub::allow(const Account& asker, const std::string& asked,
                                           const std::vector<crypto::Address>& providers) {
  COMMENSAL_ASSIGN(std::vector<ModelVersion> versions, own_versions(asker, asked));
  const std::string name = versions.front().name;
  const PushOptions options{.is_private = versions.front().is_private,
                            .allowed_providers = providers};
  COMMENSAL_TRY(check_push({versions.front().owner, Role::kConsumer}, name, options));
  if (!options.is_private) {
    return core::fail(ErrorCode::kInvalidArgument, "only a private model has a list of providers");
  }
  core::Store::Batch batch;
  for (ModelVersion& version : versions) {
    if (!version.is_private) continue;
    version.allowed_providers = providers;
    COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(version));
    batch.push_back({std::string(kModelSpace), model_key(name, version.version), std::move(row)});
  }
  COMMENSAL_TRY(store_.apply(batch));
  (*newest_)[name] = std::make_shared<const ModelVersion>(versions.front());
  for (const ModelVersion& version : versions) tell_withdrawn(version.content);
  return std::move(versions.front());
}

}  // namespace commensal::gateway
