// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <hosts/common/program.hpp>

namespace hosts::common {

int run_program(CLI::App& app, int argc, char** argv,
                const std::function<tl::expected<void, std::string>()>& run) {
  const auto complain = [&](const std::string& what) {
    (void)std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), what.c_str());
    return 1;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(std::string(error.what()) + " (--help shows what is expected)");
  }
  try {
    if (const auto done = run(); !done) return complain(done.error());
  } catch (const std::bad_alloc&) {
    return complain("not enough memory");
  }
  return 0;
}

}  // namespace hosts::common
