// SPDX-License-Identifier: Apache-2.0
#include <inference/grpc_service.pb.h>

#include <chrono>
#include <commensal/lab/bench/serve/stage.hpp>
#include <commensal/serve/client/client.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

namespace commensal::lab::bench::serve {

using core::Result;

namespace {

std::int64_t cpu_ns(const std::vector<Part>& parts) {
  std::int64_t all = 0;
  for (const Part& part : parts) all += part.cpu_ns();
  return all;
}

}  // namespace

Result<Slices> in_turn(std::vector<Party>& parties, std::size_t concurrency,
                       const ServeBenchOptions& options) {
  constexpr auto kRest = std::chrono::milliseconds(200);  // for what the one before has left
  Slices slices(parties.size());
  for (int round = -1; round < options.rounds; ++round) {
    for (std::size_t k = 0; k < parties.size(); ++k) {
      // Forwards, then backwards, from another one each time: nobody always follows the same.
      const auto turn = static_cast<std::size_t>(round + 1);
      const std::size_t n = parties.size();
      const std::size_t i = (turn % 2 == 0 ? k + turn / 2 : 2 * n - 1 - k + turn / 2) % n;
      Party& party = parties[i];
      std::this_thread::sleep_for(kRest);
      const std::int64_t before_ns = cpu_ns(party.parts);
      COMMENSAL_ASSIGN(const Loaded loaded, party.load->run(concurrency, options.slice_ms));
      const auto spent_ns = static_cast<double>(cpu_ns(party.parts) - before_ns);
      if (round >= 0)
        slices[i].push_back({loaded, spent_ns * 1e-3 / static_cast<double>(loaded.answers)});
    }
  }
  return slices;
}

Result<void> wait_for(Load& load) {
  constexpr int kTries = 200;
  constexpr auto kWait = std::chrono::milliseconds(50);
  Result<Loaded> said;
  for (int i = 0; i < kTries && !(said = load.run(1, 1)); ++i) std::this_thread::sleep_for(kWait);
  COMMENSAL_TRY(said);
  return {};
}

Result<void> make_folder(const core::Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return core::fail(core::ErrorCode::kDataLoss, "{}: {}", folder.string(), error.message());
}

Result<RealStack> start_real(const ServeBenchOptions& options, const core::Path& folder) {
  StackOptions stack;
  stack.folder = folder;
  stack.at_once = options.at_once;
  RealStack real;
  COMMENSAL_ASSIGN(Part first, Part::start("gateway", [&](const Part::Side& side) {
                     return gateway(side, stack);
                   }));
  real.parts.push_back(std::move(first));
  COMMENSAL_ASSIGN(real.place, GatewayPlace::read(real.parts[0].said()));
  COMMENSAL_ASSIGN(Part second, Part::start("provider", [&](const Part::Side& side) {
                     return provider(side, stack, real.place);
                   }));
  real.parts.push_back(std::move(second));
  return real;
}

Result<void> push(const GatewayPlace& place, const std::string& model, core::ByteView bytes) {
  COMMENSAL_ASSIGN(auto client, client::Client::create({.url = place.http, .token = place.token}));
  COMMENSAL_TRY(client.push({.model = model,
                             .bytes = bytes,
                             .is_private = false,
                             .allowed_providers = {},
                             .progress = {}}));
  return {};
}

Question question_at(const GatewayPlace& place, std::string message) {
  return {place.grpc, kInferMethod, std::move(message), "Bearer " + place.token};
}

std::string grpc_request(const std::string& model, const std::vector<RawInput>& inputs) {
  inference::ModelInferRequest made;
  made.set_model_name(model);
  for (const RawInput& one : inputs) {
    auto& input = *made.add_inputs();
    input.set_name(one.name);
    input.set_datatype(one.datatype);
    for (const std::int64_t dim : one.shape) input.add_shape(dim);
    made.add_raw_input_contents(one.bytes);
  }
  return made.SerializeAsString();
}

std::string http_request(const GatewayPlace& place, const std::string& model,
                         const std::vector<RawInput>& inputs) {
  nlohmann::json head = {{"parameters", {{"binary_data_output", true}}}, {"inputs", {}}};
  std::string raw;
  for (const RawInput& one : inputs) {
    head["inputs"].push_back({{"name", one.name},
                              {"datatype", one.datatype},
                              {"shape", one.shape},
                              {"parameters", {{"binary_data_size", one.bytes.size()}}}});
    raw += one.bytes;
  }
  const std::string json = head.dump();
  return fmt::format(
      "POST /v2/models/{}/infer HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
      "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: {}\r\n"
      "Content-Length: {}\r\n\r\n{}{}",
      model, place.token, json.size(), json.size() + raw.size(), json, raw);
}

namespace {

class Batching final : public Stage {
 public:
  Batching(const ServeBenchOptions& options, const core::Clock& clock)
      : bench_(options.batching, clock) {}
  Result<void> begin() override { return bench_.begin(); }
  Result<void> measure(Report& report) override { return bench_.measure(report); }

 private:
  BatchingBench bench_;
};

std::unique_ptr<Stage> batching_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Batching>(options, clock);
}

}  // namespace

Result<Report> run_serve_bench(const ServeBenchOptions& options, const core::Clock& clock) {
  using Make = std::unique_ptr<Stage> (*)(const ServeBenchOptions&, const core::Clock&);
  constexpr std::pair<std::string_view, Make> kStages[] = {{"rates", rates_stage},
                                                           {"added", added_stage},
                                                           {"large", large_stage},
                                                           {"memory", memory_stage},
                                                           {"batching", batching_stage}};
  std::vector<std::unique_ptr<Stage>> stages;
  for (const auto& [name, make] : kStages) {
    const bool is_wanted =
        options.parts.empty() ||
        ("," + options.parts + ",").find(fmt::format(",{},", name)) != std::string::npos;
    if (is_wanted) stages.push_back(make(options, clock));
  }
  if (stages.empty())
    return core::fail(core::ErrorCode::kInvalidArgument, "no part '{}' of the bench",
                      options.parts);
  for (const auto& stage : stages) COMMENSAL_TRY(stage->begin());
  Report report;
  for (const auto& stage : stages) COMMENSAL_TRY(stage->measure(report));
  return report;
}

}  // namespace commensal::lab::bench::serve
