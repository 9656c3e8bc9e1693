// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/backend_options.hpp>
#include <apps/command.hpp>
#include <apps/feeds.hpp>
#include <apps/inputs.hpp>
#include <apps/outputs.hpp>
#include <apps/progress.hpp>
#include <charconv>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/serial/world.hpp>
#include <commensal/verify/audit.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> state;
  std::uint64_t steps = 100;
  std::string noise = "12";
  std::string states = "movable";
  double audit_probability = 0.01;
  double win_probability = 0.01;
  std::string folder;
  std::uint64_t seed = 0;
  bool keeps_going = false;
  bool streams = false;
  std::string output_dir;
  BackendOptions backend;
  bool json = false;
};

/// Both parties' stores: in two folders, or in memory.
struct Stores {
  std::optional<store::StateFolder> client_folder, provider_folder;
  store::MemoryStore client, provider;
  core::Digest secret{};
};

constexpr std::string_view kSecrets = "chain.secret";

Result<void> open_stores(Stores& stores, const Options& options, core::Rng& rng) {
  if (options.folder.empty()) {
    core::CounterRng seeded(options.seed);
    stores.secret = options.seed != 0 ? seeded.next_digest() : rng.next_digest();
    return {};
  }
  const core::Path folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  COMMENSAL_ASSIGN(stores.client_folder, store::StateFolder::open(folder / "client", rng));
  COMMENSAL_ASSIGN(stores.provider_folder, store::StateFolder::open(folder / "provider", rng));
  core::Store& kept = stores.client_folder->store();
  COMMENSAL_ASSIGN(const auto there, kept.get(kSecrets, {}));
  if (there && there->size() == stores.secret.size()) {
    std::ranges::copy(*there, stores.secret.begin());
    return {};
  }
  core::CounterRng seeded(options.seed);
  stores.secret = options.seed != 0 ? seeded.next_digest() : rng.next_digest();
  return kept.apply(
      {{std::string(kSecrets), {}, core::Bytes(stores.secret.begin(), stores.secret.end())}});
}

/// The inputs that are given, and zeros for the rest, with 1 for each free dimension.
Result<tensor::NamedTensors> inputs_of(const graph::Graph& graph, const Options& options) {
  graph::Graph given = graph;
  std::erase_if(given.inputs, [&](graph::ValueId id) {
    const std::string prefix = graph.name_of(id) + "=";
    return std::ranges::none_of(options.inputs,
                                [&](const std::string& text) { return text.starts_with(prefix); });
  });
  if (given.inputs.empty() && !options.inputs.empty()) given.inputs = graph.inputs;
  COMMENSAL_ASSIGN(const auto read, read_inputs(given, options.inputs, {}));
  tensor::NamedTensors inputs = verify::name_tensors(given, given.inputs, read);
  for (const graph::ValueId id : graph.inputs) {
    if (std::ranges::find(given.inputs, id) != given.inputs.end()) continue;
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    std::vector<std::int64_t> dims = declared.dims;
    for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
    COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
    const tensor::TensorType type{declared.dtype, shape};
    const core::Bytes zeros(static_cast<std::size_t>(type.bytes()), 0);
    inputs.push_back({graph.name_of(id), tensor::Tensor::copy_of(type, zeros)});
  }
  return inputs;
}

Result<protocol::StateRule> rule_of(const std::string& name) {
  const auto names = protocol::enum_names(protocol::StateRule{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return core::fail(ErrorCode::kInvalidArgument, "--states '{}', expected any, finite, movable",
                      name);
  }
  return static_cast<protocol::StateRule>(found - names.begin());
}

Result<serial::ChainOptions> world_options(const Options& options, const core::Digest& secret) {
  serial::ChainOptions wanted;
  auto imported = graph::onnx::import_file(options.model);
  if (!imported) return core::in_context(fmt::format("'{}'", options.model), imported.error());
  wanted.graph = *imported;
  wanted.session = options.backend.session();
  COMMENSAL_ASSIGN(wanted.feeds, read_feeds(*wanted.graph, options.state));
  COMMENSAL_ASSIGN(wanted.inputs, inputs_of(*wanted.graph, options));
  // In the graph's order: that is what c_0 is over.
  COMMENSAL_ASSIGN(auto ordered, verify::order_inputs(*wanted.graph, wanted.inputs));
  wanted.inputs = verify::name_tensors(*wanted.graph, wanted.graph->inputs, std::move(ordered));
  wanted.steps = options.steps;
  COMMENSAL_ASSIGN(wanted.states, rule_of(options.states));
  if (options.noise == "none") {
    if (wanted.states == protocol::StateRule::kMovable) {
      wanted.states = protocol::StateRule::kFinite;
    }
  } else {
    int exponent = -1;
    const auto end = options.noise.data() + options.noise.size();
    const auto [stopped, failed] = std::from_chars(options.noise.data(), end, exponent);
    if (failed != std::errc() || stopped != end || exponent < 0 || exponent > 100) {
      return core::fail(ErrorCode::kInvalidArgument, "--noise '{}', expected none, or 0 to 100",
                        options.noise);
    }
    wanted.noise_exponent = exponent;
  }
  wanted.audit_probability = options.audit_probability;
  wanted.win_probability = options.win_probability;
  wanted.secret = secret;
  wanted.stops_at_mismatch = !options.keeps_going;
  return wanted;
}

Json json_of(const serial::ChainReport& report, double seconds) {
  Json caught = Json::array();
  for (const serial::CaughtLink& link : report.caught) {
    caught.push_back({{"link", link.step}, {"operator", link.node}});
  }
  return {{"job", core::to_hex(report.job)},
          {"links", report.steps},
          {"resumed_after", report.resumed_after},
          {"final_state", core::to_hex(report.final_root)},
          {"audits", report.audits},
          {"mismatches", caught},
          {"tickets",
           {{"issued", report.tickets.issued},
            {"won", report.tickets.won},
            {"paid", report.tickets.paid},
            {"slashed", report.tickets.slashed},
            {"value_paid", protocol::to_text(report.tickets.value_paid)}}},
          {"seconds", seconds}};
}

void print_text(const serial::ChainReport& report, double seconds) {
  fmt::print("{} links in {:.2f} s", report.steps, seconds);
  if (report.resumed_after > 0) fmt::print(", {} of them made before", report.resumed_after);
  fmt::print("\njob {}\nfinal state {}\n", core::to_hex(report.job),
             core::to_hex(report.final_root));
  fmt::print("{} audits, {} mismatches; {} tickets, {} won, {} paid\n", report.audits,
             report.caught.size(), report.tickets.issued, report.tickets.won, report.tickets.paid);
  for (const serial::CaughtLink& link : report.caught) {
    fmt::print("link {} is wrong from operator '{}' on\n", link.step, link.node);
  }
}

Result<int> chain(const Options& options) {
  core::SystemRng rng;
  const core::SystemClock clock;
  Stores stores;
  COMMENSAL_TRY(open_stores(stores, options, rng));
  COMMENSAL_ASSIGN(auto wanted, world_options(options, stores.secret));
  const auto graph = wanted.graph;
  core::Store& client = stores.client_folder ? stores.client_folder->store() : stores.client;
  core::Store& provider =
      stores.provider_folder ? stores.provider_folder->store() : stores.provider;
  COMMENSAL_ASSIGN(const auto world,
                   serial::ChainWorld::open({client, provider, clock, rng}, std::move(wanted)));
  Progress progress("chain");
  const std::int64_t begun_ns = clock.monotonic_ns();
  COMMENSAL_ASSIGN(const auto report, world->run([&](const serial::ChainReport& so_far) {
    progress.show(so_far.steps, options.steps);
    if (options.streams) {
      fmt::print("{}\n", Json{{"link", so_far.steps},
                              {"state", core::to_hex(so_far.final_root)},
                              {"audits", so_far.audits},
                              {"mismatches", so_far.caught.size()}}
                             .dump());
      std::fflush(stdout);
    }
  }));
  progress.clear();
  const double seconds = static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-9;
  if (!options.output_dir.empty()) {
    COMMENSAL_TRY(
        write_outputs(verify::name_tensors(*graph, graph->outputs, world->client().outputs()),
                      options.output_dir));
  }
  if (options.json) {
    fmt::print("{}\n", json_of(report, seconds).dump(2));
  } else if (!options.streams) {
    print_text(report, seconds);
  }
  return report.caught.empty() ? 0 : 2;
}

}  // namespace

Run declare_chain(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "ONNX file")->required();
  app.add_option("--state", options->state, "OUTPUT=INPUT, once for each output that is fed back")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--steps", options->steps, "Links")
      ->check(CLI::Range(std::uint64_t{1}, limits::kChainLinksMax))
      ->capture_default_str();
  app.add_option("--input", options->inputs,
                 "NAME=FILE; inputs that are not given are zeros, free dimensions 1")
      ->allow_extra_args(false);
  app.add_option("--noise", options->noise,
                 "EXPONENT of the scale 2^-EXPONENT (see commensal calibrate), or none")
      ->capture_default_str();
  app.add_option("--states", options->states,
                 "Which states are allowed: any, finite, or movable by the noise")
      ->capture_default_str();
  app.add_option("--audit-probability", options->audit_probability,
                 "Of every link; link 1 of a chain of 10 or more and winning tickets are audited "
                 "besides")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--win-probability", options->win_probability, "Of every link's ticket")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--folder", options->folder,
                 "Keep both parties' states here; the same command goes on after a crash");
  app.add_option("--seed", options->seed,
                 "Keys, salts of the inputs, noise and draws follow from it; 0: from the system")
      ->capture_default_str();
  app.add_flag("--keep-going", options->keeps_going, "Do not stop at a mismatch");
  app.add_flag("--stream", options->streams, "Print one line of JSON for each link as it is made");
  app.add_option("--output-dir", options->output_dir, "Folder for the last outputs, as NAME.npy");
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON; exit status 2 if an audit found a mismatch");
  return [options] { return chain(*options); };
}

}  // namespace commensal::apps
