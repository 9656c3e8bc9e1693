// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/remote_training.hpp>
#include <apps/common/progress.hpp>
#include <commensal/serve/client/training/http_gateway.hpp>
#include <utility>

namespace commensal::apps {

using core::Result;

namespace {

client::Progress show_push() {
  const auto bar = std::make_shared<Progress>("push");
  return [bar](std::size_t done, std::size_t total) { bar->show(done, total); };
}

}  // namespace

struct AtGateway {
  explicit AtGateway(client::Client made) : http(std::move(made)) {}

  client::Client http;
  training::HttpGateway gateway{http, show_push};
  training::Terms terms;
  std::optional<training::SegmentModel> model;  // of the segments that come first
};

namespace {

/// With the model's whole name. Errors: those of name_to_push() and of addresses.
Result<training::Terms> terms_of(const RemoteTraining& remote, const train::Trainer& trainer,
                                 client::Client& client) {
  training::Terms terms{.model = {},
                        .each = remote.each,
                        .audit_probability = remote.audit_probability,
                        .allowed = {},
                        .is_public = remote.is_public};
  const std::string stem = trainer.plan().model.stem().string() + "-training";
  COMMENSAL_ASSIGN(terms.model, name_to_push(client, remote.model.empty() ? stem : remote.model));
  for (const std::string& text : remote.allowed) {
    COMMENSAL_ASSIGN(terms.allowed.emplace_back(), crypto::address_from_text(text));
  }
  return terms;
}

}  // namespace

Result<std::shared_ptr<AtGateway>> place_at_gateway(const train::Trainer& trainer,
                                                    const RemoteTraining& remote) {
  COMMENSAL_TRY(training::check_checkpoint(trainer, remote.audit_probability));
  if (trainer.done() == trainer.plan().steps) return nullptr;
  COMMENSAL_ASSIGN(client::Client http, connect(remote.connection));
  const auto place = std::make_shared<AtGateway>(std::move(http));
  COMMENSAL_ASSIGN(place->terms, terms_of(remote, trainer, place->http));
  COMMENSAL_ASSIGN(place->model,
                   training::SegmentModel::push(trainer, place->gateway, place->terms));
  return place;
}

Result<training::End> train_at_gateway(train::Trainer& trainer, AtGateway& place,
                                       training::Observer& observer, const std::stop_token& stop) {
  const core::SystemClock clock;
  training::SegmentModel first = *std::exchange(place.model, std::nullopt);
  return training::run({trainer, place.gateway, clock, observer}, place.terms, std::move(first),
                       stop);
}

}  // namespace commensal::apps
