// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/backend_options.hpp>

namespace commensal::apps {
namespace {

constexpr kernels::Isa kIsas[] = {kernels::Isa::kAvx2, kernels::Isa::kAvx512, kernels::Isa::kNeon};

std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (const kernels::Isa isa : kIsas) names.emplace_back(kernels::name_of(isa));
  return names;
}

}  // namespace

void BackendOptions::declare(CLI::App& app) {
  app.add_option("--backend", backend, "ref: plain loops, the judge; cpu: fast, the same bits")
      ->check(CLI::IsMember({"ref", "cpu"}))
      ->capture_default_str();
  app.add_option("--isa", isa, "Instruction set of cpu; default: the best of this machine")
      ->check(CLI::IsMember(isa_names()));
  app.add_option("--threads", threads, "Threads of cpu")
      ->check(CLI::Range(1, limits::kThreadsMax))
      ->capture_default_str();
  app.add_option("--memory-max", memory_bytes_max,
                 "Memory that tensors may take: bytes, or such as 4GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Validator(
          [](const std::string& bytes) {
            std::int64_t value = 0;
            const bool fits = CLI::detail::lexical_cast(bytes, value) && value > 0;
            return fits ? std::string() : "expected at least one byte, such as 4GiB";
          },
          "SIZE"))
      ->capture_default_str();
  app.add_option("--cache", cache,
                 "Folder that packed weights are kept in for the next start; nobody else may "
                 "write to it");
}

graph::SessionOptions BackendOptions::session() const {
  graph::SessionOptions options;
  options.backend = backend == "ref" ? graph::Backend::kRef : graph::Backend::kCpu;
  for (const kernels::Isa known : kIsas) {
    if (kernels::name_of(known) == isa) options.isa = known;
  }
  options.threads = threads;
  options.memory_bytes_max = memory_bytes_max;
  if (!cache.empty()) options.packs = std::make_shared<const graph::PackFolder>(cache);
  return options;
}

core::Result<void> BackendOptions::check() const {
  const auto isas = kernels::available_isas();
  const auto wanted = session().isa;
  if (!wanted || std::ranges::find(isas, *wanted) != isas.end()) return {};
  return core::fail(core::ErrorCode::kUnsupported, "--isa {}: this machine lacks it", isa);
}

std::optional<kernels::Isa> BackendOptions::isa_used() const {
  const graph::SessionOptions options = session();
  const auto isas = kernels::available_isas();
  if (options.backend == graph::Backend::kRef || isas.empty()) return std::nullopt;
  return options.isa.value_or(isas.back());
}

}  // namespace commensal::apps
