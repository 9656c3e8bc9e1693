// SPDX-License-Identifier: Apache-2.0
// What is shown of the models: their list, and what their owners say in cards.
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/model_card.hpp>

namespace commensal::gateway {

core::Result<std::vector<ModelPtr>> ModelHub::list(const Account* asker, const std::string& after) {
  std::vector<ModelPtr> models;
  COMMENSAL_TRY(visit(asker, after, [&models](const ModelPtr& model, const CardHeadPtr&) {
    models.push_back(model);
    return models.size() < limits::kModelsListedMax;
  }));
  return models;
}

core::Result<void> ModelHub::visit(const Account* asker, const std::string& after, const See& see) {
  COMMENSAL_TRY(grants_.open());
  COMMENSAL_TRY(cards_.open());
  COMMENSAL_ASSIGN(const auto* const all, newest());
  for (auto at = all->upper_bound(after); at != all->end(); ++at) {
    if (may_see(asker, *at->second) && !see(at->second, cards_.head(at->first))) return {};
  }
  return {};
}

core::Result<ModelVersion> ModelHub::set_card(const Account& asker, const std::string& name,
                                              const std::string& source, ModelCard card) {
  COMMENSAL_ASSIGN(ModelVersion model, own_model(asker, name));
  COMMENSAL_TRY(fit_card(card, model));
  COMMENSAL_TRY(cards_.open());
  COMMENSAL_TRY(cards_.put(model.name, source,
                           {.license = std::move(card.license),
                            .parent = std::move(card.parent),
                            .task = std::move(card.task),
                            .modality = std::move(card.modality),
                            .language = std::move(card.language),
                            .tags = std::move(card.tags),
                            .summary = std::move(card.summary)}));
  return model;
}

core::Result<ModelHub::ShownCard> ModelHub::card(const Account* asker, const std::string& name) {
  COMMENSAL_ASSIGN(ModelVersion model, find(asker, name));
  COMMENSAL_ASSIGN(std::optional<std::string> source, cards_.source(model.name));
  if (source) return ShownCard{std::move(model), *std::move(source)};
  return core::fail(core::ErrorCode::kNotFound, "'{}' has no card", model.name);
}

core::Result<std::string> ModelHub::remove_card(const Account& asker, const std::string& name) {
  COMMENSAL_ASSIGN(const ModelVersion model, own_model(asker, name));
  COMMENSAL_TRY(cards_.open());
  const core::Store::Batch batch = cards_.without(model.name);
  if (batch.empty()) return core::fail(core::ErrorCode::kNotFound, "'{}' has no card", model.name);
  COMMENSAL_TRY(store_.apply(batch));
  cards_.forget(model.name);
  return model.name;
}

}  // namespace commensal::gateway
