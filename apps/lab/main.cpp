// SPDX-License-Identifier: Apache-2.0
#include <apps/common/worker_options.hpp>
#include <apps/lab/table.hpp>

int main(int argc, char** argv) {
  using namespace commensal::apps;
  return is_worker(argc, argv) ? run_worker() : run_program(lab_program(), argc, argv);
}
