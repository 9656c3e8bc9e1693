// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/operators/subject_files.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::lab::bench::operators {

core::Result<SubjectFiles> write_subject(const Subject& subject, const core::Path& folder) {
  SubjectFiles files{folder / "model.onnx", {}};
  COMMENSAL_TRY(core::write_file_atomically(files.model, subject.model));
  for (std::size_t i = 0; i < subject.feeds.size(); ++i) {
    const core::Path path = folder / fmt::format("input{}.bin", i);
    COMMENSAL_ASSIGN(files.inputs.emplace_back(),
                     write_input(path, subject.names[i], subject.feeds[i]));
  }
  return files;
}

}  // namespace commensal::lab::bench::operators
