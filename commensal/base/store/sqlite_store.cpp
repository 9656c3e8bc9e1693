// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/store/bounds.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <cstring>
#include <mutex>

namespace commensal::store {
namespace {

using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using core::Path;

constexpr int kBusyWaitMs = 5000;
// Of the file's pages: more that are empty are given back to the disk, some with each batch.
constexpr int kEmptyPagesMin = 256;
constexpr int kEmptyShare = 4;
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(256)";
constexpr int kApplicationId = 0x436d736c;  // "Cmsl" in the file's header: tells our files apart
constexpr int kSchemaVersion = 3;
// Rows live in the tree of their key: one look-up instead of two.
constexpr char kSchema[] =
    "CREATE TABLE entries(space TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    " PRIMARY KEY(space, key)) WITHOUT ROWID;"
    "PRAGMA application_id=1131246444;"
    "PRAGMA user_version=3;";
static_assert(kApplicationId == 1131246444 && kSchemaVersion == 3);

struct DatabaseDeleter {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, DatabaseDeleter>;

tl::unexpected<core::Error> failure(sqlite3* database, std::string_view what) {
  struct Row {
    int sqlite;
    ErrorCode code;
  };
  static constexpr Row kCodes[] = {{SQLITE_BUSY, ErrorCode::kUnavailable},
                                   {SQLITE_LOCKED, ErrorCode::kUnavailable},
                                   {SQLITE_PERM, ErrorCode::kPermissionDenied},
                                   {SQLITE_READONLY, ErrorCode::kPermissionDenied},
                                   {SQLITE_NOTADB, ErrorCode::kFailedPrecondition}};
  ErrorCode code = ErrorCode::kDataLoss;
  for (const Row& row : kCodes) {
    if (row.sqlite == sqlite3_errcode(database)) code = row.code;
  }
  return core::fail(code, "store: cannot {}: {}", what, sqlite3_errmsg(database));
}

/// A prepared statement; `Use` resets it, so that no read transaction outlives a call.
class Statement {
 public:
  class Use {
   public:
    explicit Use(sqlite3_stmt* statement) : statement_(statement) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      sqlite3_reset(statement_);
      sqlite3_clear_bindings(statement_);
    }
    void bind_text(int at, std::string_view text) {
      sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    }
    void bind_blob(int at, ByteView bytes) {
      const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();  // not NULL
      sqlite3_bind_blob(statement_, at, data, static_cast<int>(bytes.size()), SQLITE_STATIC);
    }
    int step() { return sqlite3_step(statement_); }
    ByteView blob(int column) {
      const void* data = sqlite3_column_blob(statement_, column);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
      return {static_cast<const std::uint8_t*>(data), size};
    }
    int integer(int column) { return sqlite3_column_int(statement_, column); }

   private:
    sqlite3_stmt* statement_;
  };

  core::Result<void> prepare(sqlite3* database, const char* text) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) !=
        SQLITE_OK) {
      return failure(database, "prepare a statement");
    }
    statement_.reset(made);
    return {};
  }
  Use use() { return Use(statement_.get()); }

 private:
  struct Deleter {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Deleter> statement_;
};

core::Result<void> execute(sqlite3* database, const char* text, std::string_view what) {
  if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failure(database, what);
  }
  return {};
}

core::Result<int> query_integer(sqlite3* database, const char* text) {
  Statement statement;
  COMMENSAL_TRY(statement.prepare(database, text));
  auto use = statement.use();
  if (use.step() != SQLITE_ROW) return failure(database, "read the header");
  return use.integer(0);
}

/// Creates the schema in an empty file and accepts our own; within one transaction, because two
/// processes may open a new file at once.
core::Result<void> settle_schema(sqlite3* database) {
  COMMENSAL_ASSIGN(const int id, query_integer(database, "PRAGMA application_id"));
  COMMENSAL_ASSIGN(const int version, query_integer(database, "PRAGMA user_version"));
  COMMENSAL_ASSIGN(const int tables, query_integer(database, "SELECT count(*) FROM sqlite_master"));
  if (id == 0 && version == 0 && tables == 0) return execute(database, kSchema, "create tables");
  if (id != kApplicationId) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "store: the file is the database of another program");
  }
  if (version != kSchemaVersion) {
    return core::fail(
        ErrorCode::kFailedPrecondition,
        "store: another version of commensal wrote it (schema {}, expected {}): use a new folder",
        version, kSchemaVersion);
  }
  return {};
}

core::Result<void> in_transaction(sqlite3* database, const std::function<core::Result<void>()>& f) {
  COMMENSAL_TRY(execute(database, "BEGIN IMMEDIATE", "begin a batch"));
  core::Result<void> done = f();
  if (done) done = execute(database, "COMMIT", "commit a batch");
  // After a failed write SQLite may have rolled back by itself; then there is nothing to undo.
  if (!done && sqlite3_get_autocommit(database) == 0) {
    sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  return done;
}

/// SQLite would create the file with the process's umask; its WAL takes the file's own mode.
core::Result<void> create_private_file(const Path& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
  if (file >= 0 || errno == EEXIST) return {};
  const ErrorCode code = errno == ENOENT   ? ErrorCode::kNotFound
                         : errno == EACCES ? ErrorCode::kPermissionDenied
                                           : ErrorCode::kDataLoss;
  return core::fail(code, "store: cannot create it: {}", std::strerror(errno));
}

/// What is read through one connection.
class Reader {
 public:
  core::Result<void> prepare(sqlite3* database) {
    database_ = database;
    COMMENSAL_TRY(get_.prepare(database, "SELECT value FROM entries WHERE space=?1 AND key=?2"));
    return scan_.prepare(database,
                         "SELECT key,value FROM entries WHERE space=?1 AND key>=?2 ORDER BY key");
  }

  core::Result<std::optional<Bytes>> get(std::string_view space, ByteView key) {
    auto use = get_.use();
    use.bind_text(1, space);
    use.bind_blob(2, key);
    const int status = use.step();
    if (status == SQLITE_DONE) return std::nullopt;
    if (status != SQLITE_ROW) return failure(database_, "read");
    const ByteView value = use.blob(0);
    return Bytes(value.begin(), value.end());
  }

  core::Result<void> scan(std::string_view space, ByteView prefix,
                          const core::Store::Visitor& visit) {
    auto use = scan_.use();
    use.bind_text(1, space);
    use.bind_blob(2, prefix);
    int status = use.step();
    for (; status == SQLITE_ROW; status = use.step()) {
      if (!starts_with(use.blob(0), prefix) || !visit(use.blob(0), use.blob(1))) return {};
    }
    if (status != SQLITE_DONE) return failure(database_, "scan");
    return {};
  }

 private:
  sqlite3* database_ = nullptr;
  Statement get_, scan_;
};

/// What is read while a batch is written comes through a connection of its own, which has no pages
/// in memory after each batch: all else through the writer's.
class SqliteStore final : public core::Store {
 public:
  core::Result<void> open(const Path& path) {
    COMMENSAL_TRY(create_private_file(path));
    COMMENSAL_ASSIGN(database_, connect(path));
    sqlite3* const made = database_.get();
    // Of a new file; one that there is stays as it is.
    COMMENSAL_TRY(execute(made, "PRAGMA auto_vacuum=INCREMENTAL", "set it up"));
    // Before anything is written: the file may be somebody else's.
    COMMENSAL_TRY(in_transaction(made, [made] { return settle_schema(made); }));
    COMMENSAL_TRY(execute(made,
                          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                          "PRAGMA journal_size_limit=16777216",
                          "set it up"));
    COMMENSAL_TRY(empty_pages_.prepare(made, "PRAGMA freelist_count"));
    COMMENSAL_TRY(pages_.prepare(made, "PRAGMA page_count"));
    COMMENSAL_TRY(
        put_.prepare(made, "INSERT OR REPLACE INTO entries(space,key,value) VALUES(?1,?2,?3)"));
    COMMENSAL_TRY(remove_.prepare(made, "DELETE FROM entries WHERE space=?1 AND key=?2"));
    COMMENSAL_TRY(reader_.prepare(made));
    COMMENSAL_ASSIGN(beside_, connect(path));
    return reader_beside_.prepare(beside_.get());
  }

  core::Result<std::optional<Bytes>> get(std::string_view space, ByteView key) override {
    scanner_.check_not_this_thread();
    COMMENSAL_TRY(check_key(space, key));
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return reader(lock).get(space, key);
  }

  core::Result<void> apply(const Batch& batch) override {
    scanner_.check_not_this_thread();
    COMMENSAL_TRY(check_batch(batch));
    if (batch.empty()) return {};
    const std::lock_guard lock(mutex_);
    return in_transaction(database_.get(), [&]() -> core::Result<void> {
      for (const Write& write : batch) COMMENSAL_TRY(apply_one(write));
      return give_back();
    });
  }

  core::Result<void> scan(std::string_view space, ByteView prefix, const Visitor& visit) override {
    const Scanner::Scan scan(scanner_);
    COMMENSAL_TRY(check_key(space, prefix));
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return reader(lock).scan(space, prefix, visit);
  }

 private:
  static core::Result<Database> connect(const Path& path) {
    sqlite3* made = nullptr;
    const int status =
        sqlite3_open_v2(path.c_str(), &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(made);
    if (status != SQLITE_OK) return failure(made, "open it");
    sqlite3_busy_timeout(made, kBusyWaitMs);
    return database;
  }

  Reader& reader(const std::unique_lock<std::mutex>& lock) {
    return lock.owns_lock() ? reader_ : reader_beside_;
  }

  core::Result<void> apply_one(const Write& write) {
    auto use = (write.value ? put_ : remove_).use();
    use.bind_text(1, write.space);
    use.bind_blob(2, write.key);
    if (write.value) use.bind_blob(3, *write.value);
    if (use.step() != SQLITE_DONE) return failure(database_.get(), "write");
    return {};
  }

  /// What was deleted leaves empty pages, for what comes next; many more than that may need go.
  core::Result<void> give_back() {
    const auto number = [](Statement& statement) {
      auto use = statement.use();
      return use.step() == SQLITE_ROW ? use.integer(0) : 0;
    };
    const int empty = number(empty_pages_);
    if (empty <= kEmptyPagesMin || empty <= number(pages_) / kEmptyShare) return {};
    return execute(database_.get(), kGiveBack, "give pages back");
  }

  std::mutex mutex_;            // of database_ and what is prepared there
  Database database_, beside_;  // above their statements, which go before them
  Statement put_, remove_, empty_pages_, pages_;
  Reader reader_, reader_beside_;
  Scanner scanner_;
};

}  // namespace

core::Result<std::unique_ptr<core::Store>> open_sqlite_store(const Path& path) {
  auto store = std::make_unique<SqliteStore>();
  if (const auto opened = store->open(path); !opened) {
    return core::in_context(fmt::format("'{}'", path.string()), opened.error());
  }
  return store;
}

}  // namespace commensal::store
