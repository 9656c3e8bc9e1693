// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/table.hpp>

int main(int argc, char** argv) {
  return commensal::apps::run_program(commensal::apps::commensal_program(), argc, argv);
}
