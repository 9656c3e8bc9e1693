// SPDX-License-Identifier: Apache-2.0
#include <apps/lab/table.hpp>

int main(int argc, char** argv) {
  return commensal::apps::run_program(commensal::apps::lab_program(), argc, argv);
}
