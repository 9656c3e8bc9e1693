// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/table.hpp>
#include <apps/common/worker_options.hpp>

int main(int argc, char** argv) {
  using namespace commensal::apps;
  return is_worker(argc, argv) ? run_worker() : run_program(commensal_program(), argc, argv);
}
