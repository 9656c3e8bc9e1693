// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/oip/classification.hpp>
#include <commensal/serve/oip/infer.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <tuple>

namespace commensal::oip {
namespace {

/// One request on its way, and when it was where.
struct Trip {
  gateway::InferRequest order;
  std::uint64_t priority = 0;
  std::int64_t timeout_us = 0;
  Sequence sequence;
  std::vector<RequestedOutput> classified;
  std::string line;
  gateway::InferDone done;
  Statistics::Key model = {};
  Configs::Ptr config = {};
  Ended ended = {};
  std::int64_t since_ns = 0;
  gateway::JourneyPtr journey = std::make_shared<gateway::Journey>();
};

/// That what is to be classified has classes.
core::Result<void> check_classes(const std::vector<RequestedOutput>& classified,
                                 const gateway::ModelVersion& model) {
  for (const RequestedOutput& one : classified) {
    COMMENSAL_TRY(check_class_count(one.classes));
    const auto port = std::ranges::find(model.outputs, one.name, &gateway::ModelPort::name);
    if (port == model.outputs.end() || has_classes(port->declared.dtype)) continue;
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "output '{}': {} has no classes, expected numbers", one.name,
                      tensor::traits(port->declared.dtype).oip);
  }
  return {};
}

/// As its model is served. Error: kNotFound, fit_inputs', check_classes'.
core::Result<void> fit(const Services& services, Trip& trip) {
  gateway::ModelHub& hub = services.gateway.hub();
  gateway::InferRequest& order = trip.order;
  COMMENSAL_ASSIGN(const gateway::ModelVersion model,
                   hub.find(&order.account, order.model, order.version));
  trip.model = {model.name, model.version};
  COMMENSAL_ASSIGN(trip.config, services.serving.configs.of(hub, model));
  COMMENSAL_TRY(fit_inputs(*trip.config, order.model, trip.sequence, order.inputs));
  COMMENSAL_TRY(check_classes(trip.classified, model));
  const Scheduled scheduled = schedule(trip.config->batching, trip.priority, trip.timeout_us);
  order.scheduling = scheduled.scheduling;
  if (!scheduled.is_deadline) order.timeout_ms = 0;
  const bool is_batched = trip.config->batch_max > 0 && !order.inputs.empty();
  if (is_batched) trip.ended.rows = static_cast<std::uint64_t>(order.inputs[0].value.shape()[0]);
  return {};
}

/// Strings are all of their place, of others the type says how many there are.
std::int64_t bytes_of(const PlacedInput& input) {
  return input.type.dtype == tensor::DType::kString ? input.from.bytes : input.type.bytes();
}

/// Copies what the client has put into shared memory: it may change it meanwhile.
core::Result<void> read_places(const Services& services, Asker& asker, InferBody& body) {
  for (const PlacedInput& input : body.placed) {
    const std::int64_t bytes = bytes_of(input);
    if (bytes < 0 || bytes > limits::kHttpBodyBytesMax) {
      return core::fail(core::ErrorCode::kResourceExhausted,
                        "input '{}' has {} bytes, expected 0 to {}", input.name, bytes,
                        limits::kHttpBodyBytesMax);
    }
    COMMENSAL_TRY(asker.memory.set(asker.memory.bytes() + bytes));
    const auto copy = std::make_shared<core::Bytes>(static_cast<std::size_t>(bytes));
    COMMENSAL_TRY(services.serving.memory.read(asker.account.name, input.from, *copy));
    auto value = tensor::decoded(input.type, *copy, copy);
    if (!value) return core::in_context(fmt::format("input '{}'", input.name), value.error());
    body.inputs.push_back({input.name, *std::move(value)});
  }
  body.placed.clear();
  return {};
}

/// Outputs as they are asked for. Takes as long as reading their elements.
core::Result<gateway::InferResponse> classify_all(const Trip& trip,
                                                  gateway::InferResponse response) {
  for (const RequestedOutput& one : trip.classified) {
    const auto output = std::ranges::find(response.outputs, one.name, &tensor::NamedTensor::name);
    const auto port = std::ranges::find(trip.config->outputs, one.name, &PortConfig::name);
    if (output == response.outputs.end() || port == trip.config->outputs.end()) continue;
    const auto label = [&labels = port->labels](std::int64_t index) {
      return std::cmp_less(index, labels.size()) ? labels[static_cast<std::size_t>(index)] : "";
    };
    COMMENSAL_ASSIGN(output->value,
                     classify(output->value, one.classes, trip.config->batch_max > 0, label));
    output->root.reset();
  }
  return response;
}

/// The run of the model that it tells of.
std::optional<observe::Runs> runs_of(const Trip& trip) {
  const gateway::Journey& journey = *trip.journey;
  if (!journey.tells_runs) return std::nullopt;
  if (!journey.run) return observe::Runs{};
  const bool is_alone = journey.run->tasks == 1;
  return observe::Runs{.count = 1,
                       .rows = is_alone ? trip.ended.rows : journey.run->rows,
                       .took_ns = static_cast<std::int64_t>(journey.run->took_ns)};
}

/// What came of it, for who looks on.
void describe(const Trip& trip, const core::Result<gateway::InferResponse>& response,
              observe::Ended& ended) {
  std::tie(ended.model, ended.version) = trip.model;
  ended.code = response ? "ok" : core::name_of(response.error().code);
  const gateway::Journey& journey = *trip.journey;
  ended.offered_ns = journey.offered_ns;
  ended.committed_ns = journey.committed_ns;
  ended.offers = journey.offers;
  if (response) {
    ended.bytes_out = receipt::element_bytes(response->outputs);
    ended.receipt = core::to_hex(response->receipt);
    ended.provider = crypto::to_text(response->provider);
  } else if (journey.offers > 0) {
    ended.provider = crypto::to_text(journey.provider);
  }
}

void end(const Services& services, const std::shared_ptr<Trip>& trip,
         core::Result<gateway::InferResponse> response) {
  trip->ended.is_success = response.has_value();
  trip->ended.runs = runs_of(*trip);
  trip->ended.wall_ms = services.clock.wall_ms();
  trip->ended.inferred_ns = services.clock.monotonic_ns() - trip->since_ns;
  if (!trip->model.first.empty()) services.serving.statistics.add(trip->model, trip->ended);
  describe(*trip, response, trip->ended);
  services.serving.observer.ended(trip->ended);
  if (response) fit_outputs(*trip->config, response->outputs);
  if (!response || trip->classified.empty()) return trip->done(std::move(response));
  services.heavy->post(trip->line, [&services, trip, response = *std::move(response)] {
    auto made = classify_all(*trip, response);
    services.turns->post(trip->line, [trip, made = std::move(made)] { trip->done(made); });
  });
}

/// No shorter than was said.
std::int64_t timeout_ms_of(const InferBody& body) {
  return std::min(body.timeout_us / 1000 + (body.timeout_us % 1000 > 0 ? 1 : 0),
                  limits::kInferTimeoutMsMax);
}

/// Before anything is worked for: that the outputs have a place to go to.
core::Result<void> check_places(const Services& services, const Asker& asker,
                                const InferBody& body) {
  for (const RequestedOutput& output : body.outputs) {
    if (output.place)
      COMMENSAL_TRY(services.serving.memory.check(asker.account.name, *output.place));
  }
  return {};
}

void begin(const Services& services, Asker& asker, InferRequest request, gateway::InferDone done) {
  const auto read = read_places(services, asker, request.body).and_then([&] {
    return check_places(services, asker, request.body);
  });
  if (!read) {
    note_refused(services, asker, read.error());
    return done(tl::unexpected(read.error()));
  }
  const auto trip =
      std::make_shared<Trip>(Trip{.order = {.account = asker.account,
                                            .model = std::move(request.model),
                                            .version = request.version,
                                            .inputs = std::move(request.body.inputs),
                                            .outputs = {},
                                            .left = std::move(request.left),
                                            .draw_commitment = request.body.draw_commitment,
                                            .timeout_ms = timeout_ms_of(request.body),
                                            .privacy_class = std::move(request.body.privacy_class),
                                            .check = std::move(request.check)},
                                  .priority = request.body.priority,
                                  .timeout_us = request.body.timeout_us,
                                  .sequence = std::move(request.body.sequence),
                                  .classified = {},
                                  .line = asker.line,
                                  .done = std::move(done),
                                  .ended = {.tag = asker.tag, .account = asker.account.name},
                                  .since_ns = services.clock.monotonic_ns()});
  trip->ended.begun_ns = trip->since_ns;
  trip->journey->name = {asker.tag.id, asker.tag.trace_id};
  trip->order.journey = trip->journey;
  trip->ended.bytes_in = receipt::element_bytes(trip->order.inputs);
  receipt::take_roots(trip->order.inputs);
  for (RequestedOutput& output : request.body.outputs) {
    trip->order.outputs.push_back(output.name);
    if (output.classes != 0) trip->classified.push_back(std::move(output));
  }
  services.turns->post(asker.line, [&services, trip] {
    const std::int64_t now_ns = services.clock.monotonic_ns();
    trip->ended.queued_ns = now_ns - std::exchange(trip->since_ns, now_ns);
    const auto fits = fit(services, *trip);
    if (!fits) return end(services, trip, tl::unexpected(fits.error()));
    const auto ended = [&services, trip](core::Result<gateway::InferResponse> response) {
      end(services, trip, std::move(response));
    };
    services.infer ? services.infer(std::move(trip->order), ended)
                   : services.gateway.infer(std::move(trip->order), ended);
  });
}

/// Of a request that is its only input's elements, the model says which and of what shape.
void begin_raw(const Services& services, std::shared_ptr<Asker> asker, InferRequest request,
               gateway::InferDone done) {
  const std::string line = asker->line;
  services.turns->post(line, [&services, asker = std::move(asker), request = std::move(request),
                              done = std::move(done)]() mutable {
    auto input = [&]() -> core::Result<tensor::NamedTensor> {
      gateway::ModelHub& hub = services.gateway.hub();
      COMMENSAL_ASSIGN(const gateway::ModelVersion model,
                       hub.find(asker->asker(), request.model, request.version));
      COMMENSAL_ASSIGN(const auto config, services.serving.configs.of(hub, model));
      return only_input(*config, model, std::exchange(request.body.raw, nullptr));
    }();
    if (!input) {
      note_refused(services, *asker, input.error());
      return done(tl::unexpected(input.error()));
    }
    request.body.inputs = {*std::move(input)};
    const std::string line = asker->line;
    services.heavy->post(
        line, [&services, asker, request = std::move(request), done = std::move(done)]() mutable {
          begin(services, *asker, std::move(request), std::move(done));
        });
  });
}

}  // namespace

void note_refused(const Services& services, const Asker& asker, const core::Error& why) {
  observe::Ended ended{.tag = asker.tag, .account = asker.account.name};
  ended.code = core::name_of(why.code);
  ended.runs.emplace();
  ended.begun_ns = services.clock.monotonic_ns();
  ended.wall_ms = services.clock.wall_ms();
  services.turns->post(asker.line, [&services, ended = std::move(ended)] {
    services.serving.observer.ended(ended);
  });
}

void write_answer(const Services& services, const std::string& line, std::int64_t bytes,
                  Task write) {
  constexpr std::int64_t kSmall = 2'048;
  if (bytes <= kSmall) return write();
  if (std::cmp_less(bytes, limits::kHttpHeavyBytesMin)) return services.codec(std::move(write));
  services.heavy->post(line, std::move(write));
}

core::Result<void> write_places(const Services& services, const Asker& asker,
                                const std::vector<RequestedOutput>& requested,
                                const tensor::NamedTensors& outputs) {
  for (const RequestedOutput& one : requested) {
    if (!one.place) continue;
    const auto found = std::ranges::find(outputs, one.name, &tensor::NamedTensor::name);
    if (found == outputs.end()) continue;  // refused before
    COMMENSAL_TRY(services.serving.memory.write(asker.account.name, *one.place,
                                                tensor::encoded(found->value).bytes()));
  }
  return {};
}

void infer(const Services& services, std::shared_ptr<Asker> asker, InferRequest request,
           gateway::InferDone done) {
  if (request.body.raw)
    return begin_raw(services, std::move(asker), std::move(request), std::move(done));
  std::int64_t placed = 0;
  for (const PlacedInput& input : request.body.placed) {  // as they say, which may be nonsense
    placed += std::clamp<std::int64_t>(bytes_of(input), 0, limits::kHttpHeavyBytesMin);
  }
  if (std::cmp_less(placed, limits::kHttpHeavyBytesMin)) {
    return begin(services, *asker, std::move(request), std::move(done));
  }
  const std::string line = asker->line;
  services.heavy->post(line, [&services, asker = std::move(asker), request = std::move(request),
                              done = std::move(done)]() mutable {
    begin(services, *asker, std::move(request), std::move(done));
  });
}

}  // namespace commensal::oip
