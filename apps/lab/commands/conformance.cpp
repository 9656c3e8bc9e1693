// SPDX-License-Identifier: Apache-2.0
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <commensal/lab/conformance.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {

using core::Result;
using Json = nlohmann::ordered_json;

namespace {

struct ConformanceArguments {
  std::string folder;
  std::string filter = "*";
  BackendOptions backend;
  bool json = false;
};

void print_json(const lab::ConformanceReport& report) {
  Json cases = Json::array();
  for (const lab::ConformanceCase& one : report.cases) {
    cases.push_back({{"name", one.name},
                     {"outcome", std::string(lab::name_of(one.outcome))},
                     {"detail", one.detail}});
  }
  const Json text = {{"total", report.total},
                     {"passed", report.passed},
                     {"mismatched", report.mismatched},
                     {"unsupported", report.unsupported},
                     {"cases", std::move(cases)}};
  fmt::print("{}\n", text.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const lab::ConformanceReport& report) {
  for (const lab::ConformanceCase& one : report.cases) {
    if (one.outcome == lab::Outcome::kPassed) continue;
    fmt::print("{:<11} {}: {}\n", lab::name_of(one.outcome), one.name, one.detail);
  }
  fmt::print("{} cases: {} passed, {} mismatched, {} unsupported\n", report.total, report.passed,
             report.mismatched, report.unsupported);
}

Result<int> conformance(const ConformanceArguments& options) {
  lab::ConformanceOptions wanted;
  wanted.session = options.backend.session();
  wanted.filter = options.filter;
  Progress progress("conformance");
  wanted.progress = [&progress](std::size_t done, std::size_t total) {
    progress.show(done, total);
  };
  COMMENSAL_ASSIGN(const auto report, lab::run_conformance(options.folder, wanted));
  progress.clear();
  if (options.json) {
    print_json(report);
  } else {
    print_text(report);
  }
  return report.mismatched == 0 ? 0 : 2;
}

}  // namespace

Run declare_conformance(CLI::App& app) {
  const auto options = std::make_shared<ConformanceArguments>();
  app.add_option("folder", options->folder,
                 "Folder of backend tests, at any depth; exit status 2 if any is mismatched")
      ->required();
  app.add_option("--filter", options->filter, "Glob that the names of cases must match")
      ->capture_default_str();
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return conformance(*options); };
}

}  // namespace commensal::apps
