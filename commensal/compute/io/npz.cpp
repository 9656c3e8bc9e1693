// SPDX-License-Identifier: Apache-2.0
#include <zip.h>

#include <commensal/compute/io/npy.hpp>
#include <memory>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;

Result<Archive> open(const core::Path& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  return fail(code == ZIP_ER_NOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
              "cannot open '{}': {}", path.string(), reason);
}

std::string members_of(zip_t* archive) {
  constexpr zip_int64_t kListedMax = 20;
  std::string names;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count && i < kListedMax; ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return names + (count > kListedMax ? ", ..." : "");
}

Result<core::Bytes> read_member(zip_t* archive, const std::string& name) {
  zip_stat_t status;
  if (zip_stat(archive, name.c_str(), 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0) {
    return fail(ErrorCode::kNotFound, "no member '{}'; it has: {}", name, members_of(archive));
  }
  if (status.size > static_cast<std::uint64_t>(limits::kFileBytesMax)) {
    return fail(ErrorCode::kResourceExhausted, "'{}' has {} bytes, at most {} are accepted", name,
                status.size, limits::kFileBytesMax);
  }
  const Member member(zip_fopen_index(archive, status.index, 0));
  if (!member) return fail(ErrorCode::kInvalidArgument, "'{}' cannot be read", name);
  // The size is what the archive says; memory grows with what it has.
  constexpr std::size_t kPieceBytes = 1 << 20;
  core::Bytes bytes;
  while (bytes.size() < status.size) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + std::min<std::size_t>(kPieceBytes, status.size - begin));
    const zip_int64_t got = zip_fread(member.get(), bytes.data() + begin, bytes.size() - begin);
    if (got <= 0) return fail(ErrorCode::kInvalidArgument, "'{}' is damaged", name);
    bytes.resize(begin + static_cast<std::size_t>(got));
  }
  return bytes;
}

}  // namespace

Result<tensor::Tensor> read_npz_file(const core::Path& path, std::string_view member) {
  COMMENSAL_ASSIGN(const Archive archive, open(path));
  auto bytes = read_member(archive.get(), fmt::format("{}.npy", member));
  auto read = bytes ? read_npy(*bytes) : tl::unexpected(bytes.error());
  if (!read) return core::in_context(fmt::format("'{}'", path.string()), read.error());
  return read;
}

}  // namespace commensal::io
