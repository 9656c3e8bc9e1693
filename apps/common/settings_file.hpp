// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::apps {

/// A key of a section with what stands behind it.
struct Setting {
  std::string key;
  std::vector<std::string> values;  // one, or those of a list
  bool is_list = false;
  int line = 0;  // from 1
};

struct SettingsSection {
  std::string name;  // of a command, or of those of kClientSection
  std::vector<Setting> settings;
  int line = 0;
};

/// A file of settings: sections of flags, in YAML. What the sections and flags may be is not known
/// here (settings.hpp). Values; any thread may read one.
struct SettingsFile {
  core::Path path;
  std::vector<SettingsSection> sections;
};

/// Errors: kInvalidArgument, "PATH:LINE: what was expected".
core::Result<SettingsFile> parse_settings(std::string_view yaml, const core::Path& path);

/// Nothing where there is no such file. Errors: those of parse_settings and of reading it: a file
/// that may not be read is not one that is not there.
core::Result<std::optional<SettingsFile>> read_settings(const core::Path& path);

}  // namespace commensal::apps
