// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/oip/infer.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::oip {
namespace {

/// One request on its way, and when it was where.
struct Trip {
  gateway::InferRequest order;
  Sequence sequence;
  gateway::InferDone done;
  Statistics::Key model = {};
  Configs::Ptr config = {};
  Ended ended = {};
  std::int64_t since_ns = 0;
};

/// As its model is served. Error: kNotFound, fit_inputs'.
core::Result<void> fit(const Services& services, Trip& trip) {
  gateway::ModelHub& hub = services.gateway.hub();
  gateway::InferRequest& order = trip.order;
  COMMENSAL_ASSIGN(const gateway::ModelVersion model,
                   hub.find(&order.account, order.model, order.version));
  trip.model = {model.name, model.version};
  COMMENSAL_ASSIGN(trip.config, services.serving.configs.of(hub, model));
  COMMENSAL_TRY(fit_inputs(*trip.config, order.model, trip.sequence, order.inputs));
  const bool is_batched = trip.config->batch_max > 0 && !order.inputs.empty();
  if (is_batched) trip.ended.rows = static_cast<std::uint64_t>(order.inputs[0].value.shape()[0]);
  return {};
}

/// Copies what the client has put into shared memory: it may change it meanwhile.
core::Result<void> read_places(const Services& services, Asker& asker, InferBody& body) {
  for (const PlacedInput& input : body.placed) {
    const std::int64_t bytes = input.type.bytes();
    if (bytes > limits::kHttpBodyBytesMax) {
      return core::fail(core::ErrorCode::kResourceExhausted, "input '{}' has {} bytes, at most {}",
                        input.name, bytes, limits::kHttpBodyBytesMax);
    }
    COMMENSAL_TRY(asker.memory.set(asker.memory.bytes() + bytes));
    const auto copy = std::make_shared<core::Bytes>(static_cast<std::size_t>(bytes));
    COMMENSAL_TRY(services.serving.memory.read(asker.account.name, input.from, *copy));
    COMMENSAL_TRY(tensor::check_elements(input.type.dtype, *copy));
    body.inputs.push_back({input.name, tensor::Tensor::view_of(input.type, *copy, copy)});
  }
  body.placed.clear();
  return {};
}

void end(const Services& services, Trip& trip, core::Result<gateway::InferResponse> response) {
  trip.ended.is_success = response.has_value();
  trip.ended.wall_ms = services.clock.wall_ms();
  trip.ended.inferred_ns = services.clock.monotonic_ns() - trip.since_ns;
  if (!trip.model.first.empty()) services.serving.statistics.add(trip.model, trip.ended);
  if (response) fit_outputs(*trip.config, response->outputs);
  trip.done(std::move(response));
}

void begin(const Services& services, Asker& asker, InferRequest request, gateway::InferDone done) {
  const auto read = read_places(services, asker, request.body);
  if (!read) return done(tl::unexpected(read.error()));
  const auto trip =
      std::make_shared<Trip>(Trip{.order = {.account = asker.account,
                                            .model = std::move(request.model),
                                            .version = request.version,
                                            .inputs = std::move(request.body.inputs),
                                            .outputs = {},
                                            .left = std::move(request.left),
                                            .draw_commitment = request.body.draw_commitment,
                                            .check = std::move(request.check)},
                                  .sequence = std::move(request.body.sequence),
                                  .done = std::move(done),
                                  .since_ns = services.clock.monotonic_ns()});
  receipt::take_roots(trip->order.inputs);
  for (RequestedOutput& output : request.body.outputs) {
    trip->order.outputs.push_back(std::move(output.name));
  }
  services.turns->post(asker.line, [&services, trip] {
    const std::int64_t now_ns = services.clock.monotonic_ns();
    trip->ended.queued_ns = now_ns - std::exchange(trip->since_ns, now_ns);
    const auto fits = fit(services, *trip);
    if (!fits) return end(services, *trip, tl::unexpected(fits.error()));
    services.gateway.infer(std::move(trip->order),
                           [&services, trip](core::Result<gateway::InferResponse> response) {
                             end(services, *trip, std::move(response));
                           });
  });
}

}  // namespace

core::Result<void> write_places(const Services& services, const Asker& asker,
                                const std::vector<RequestedOutput>& requested,
                                const tensor::NamedTensors& outputs) {
  for (const RequestedOutput& one : requested) {
    if (!one.place) continue;
    const auto found = std::ranges::find(outputs, one.name, &tensor::NamedTensor::name);
    if (found == outputs.end()) continue;  // refused before
    COMMENSAL_TRY(
        services.serving.memory.write(asker.account.name, *one.place, found->value.bytes()));
  }
  return {};
}

void infer(const Services& services, std::shared_ptr<Asker> asker, InferRequest request,
           gateway::InferDone done) {
  std::int64_t placed = 0;
  for (const PlacedInput& input : request.body.placed) {
    placed += input.type.bytes();
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
