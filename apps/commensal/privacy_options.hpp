// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/serve/gateway/privacy.hpp>
#include <string>
#include <vector>

/// Who may see private data, as it is typed and kept in files.
namespace commensal::apps {

/// --privacy-auditor CLASS=0xADDRESS of a gateway: whom it believes.
void declare_privacy_auditors(CLI::App& app, gateway::PrivacyAuditors::Believed& believed);

/// --privacy-class of who asks: "" unless it is named.
void declare_privacy_class(CLI::App& app, std::string& privacy_class);

/// --privacy-statement FILE of a provider: what it shows.
void declare_statements(CLI::App& app, std::vector<std::string>& files);
/// Errors: those of files; kInvalidArgument (a file has no statement that decodes, or they are too
/// many).
core::Result<std::vector<protocol::PrivacyStatement>> read_statements(
    const std::vector<std::string>& files);
/// A line of each that has ended, and is shown to nobody. `statements` were read from `files`.
std::vector<std::string> lines_of_ended(const std::vector<std::string>& files,
                                        const std::vector<protocol::PrivacyStatement>& statements,
                                        std::int64_t now_ms);

/// The end of a day, UTC, as 2027-01-31, in milliseconds since 1970. Error: kInvalidArgument.
core::Result<std::uint64_t> end_of_day(const std::string& day);
/// The same of a statement that is signed now: a day that is not over, at most
/// limits::kStatementDaysMax from now. Error: kInvalidArgument.
core::Result<std::uint64_t> statement_end(const std::string& day, std::int64_t now_ms);
/// Whether a statement may be written there: a new file, or one that has a statement. Errors:
/// kAlreadyExists, kInvalidArgument (`key_file`, the auditor's own).
core::Result<void> check_place(const std::string& file, const std::string& key_file);
/// The last day, as 2027-01-31, of what ends then; of later ones 9999-12-31.
std::string last_day(std::uint64_t end_ms);

}  // namespace commensal::apps
