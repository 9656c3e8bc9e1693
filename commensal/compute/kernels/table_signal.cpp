// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns
std::vector<Row> signal_rows() {
  return {
      {"BlackmanWindow", 17, 0, 1, 1, 1, Kind::kConstant, ref::blackman_window()},
      {"Col2Im", 18, 0, 3, 3, 1, Kind::kReduction, ref::col2im()},
      {"DFT", 17, 19, 1, 2, 1, Kind::kReduction, ref::dft()},
      {"DFT", 20, 0, 1, 3, 1, Kind::kReduction, ref::dft()},
      {"HammingWindow", 17, 0, 1, 1, 1, Kind::kConstant, ref::hamming_window()},
      {"HannWindow", 17, 0, 1, 1, 1, Kind::kConstant, ref::hann_window()},
      {"MelWeightMatrix", 17, 0, 5, 5, 1, Kind::kConstant, ref::mel_weight_matrix()},
      {"STFT", 17, 0, 2, 4, 1, Kind::kReduction, ref::stft()},
  };
}

}  // namespace commensal::kernels
