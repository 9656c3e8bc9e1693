// SPDX-License-Identifier: Apache-2.0
#include <apps/lab/table.hpp>
#include <commensal/serve/worker/inside.hpp>
#include <commensal/serve/worker/process_engine.hpp>

int main(int argc, char** argv) {
  namespace worker = commensal::worker;
  if (argc == 2 && argv[1] == worker::kWorkerWord) return worker::work({});
  return commensal::apps::run_program(commensal::apps::lab_program(), argc, argv);
}
