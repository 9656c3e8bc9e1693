// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/verify/subject.hpp>

namespace commensal::lab::bench::verify {

core::Result<Subject> Subject::load(const core::Path& model) {
  Subject made;
  made.name = model.stem().string();
  COMMENSAL_ASSIGN(made.graph, graph::onnx::import_file(model));
  COMMENSAL_ASSIGN(made.inputs, bench::draw_inputs(*made.graph, 1));
  return made;
}

double cpu_seconds(const std::function<void()>& work) {
  std::int64_t spent_ns = 0;
  {
    const core::CpuMeter meter(spent_ns);
    work();
  }
  return static_cast<double>(spent_ns) * 1e-9;
}

double run_seconds(graph::Session& session, const Subject& subject) {
  (void)session.run(subject.inputs);
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    least = std::min(least, cpu_seconds([&] { (void)session.run(subject.inputs); }));
  }
  return least;
}

}  // namespace commensal::lab::bench::verify
