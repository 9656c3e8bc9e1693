// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_files.hpp>
#include <apps/lab/bench_place.hpp>

namespace commensal::apps {

void BenchPlace::declare(CLI::App& app) {
  models_dir = default_models_folder().string();
  app.add_option("--models-dir", models_dir,
                 "Folder of NAME.onnx; what is missing is exported into it")
      ->capture_default_str();
  app.add_option("--hosts-dir", hosts_dir,
                 "Folder of the host programs; default: hosts beside this program");
  app.add_flag("--json", json, "Print JSON");
}

core::Result<lab::bench::collocation::Place> BenchPlace::find(
    const std::vector<std::string>& networks) const {
  COMMENSAL_ASSIGN(const core::Path program, own_program());
  COMMENSAL_TRY(export_missing(models_dir, networks));
  return lab::bench::collocation::Place{
      hosts_dir.empty() ? program.parent_path() / "hosts" : core::Path(hosts_dir), models_dir};
}

}  // namespace commensal::apps
