//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A database of Optuna. There is no table alembic_version: the Optuna that
// opens the database first then makes it one of its own version, from 3.0 on.
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "OptunaTrial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"

#if MNEME_HAVE_SQLITE
#include <sqlite3.h>
#endif

using namespace llvm;
using namespace llvm::mneme;

#if MNEME_HAVE_SQLITE

static constexpr char Schema[] = R"(
CREATE TABLE studies (study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL,
  PRIMARY KEY (study_id));
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE version_info (version_info_id INTEGER NOT NULL, schema_version INTEGER,
  library_version VARCHAR(256), PRIMARY KEY (version_info_id), CHECK (version_info_id=1));
CREATE TABLE study_directions (study_direction_id INTEGER NOT NULL, direction VARCHAR(8) NOT NULL,
  study_id INTEGER NOT NULL, objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id),
  UNIQUE (study_id, objective), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER NOT NULL, study_id INTEGER,
  "key" VARCHAR(512), value_json TEXT, PRIMARY KEY (study_user_attribute_id),
  UNIQUE (study_id, "key"), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER NOT NULL, study_id INTEGER,
  "key" VARCHAR(512), value_json TEXT, PRIMARY KEY (study_system_attribute_id),
  UNIQUE (study_id, "key"), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE trials (trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER,
  state VARCHAR(8) NOT NULL, datetime_start DATETIME, datetime_complete DATETIME,
  PRIMARY KEY (trial_id), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE INDEX ix_trials_study_id ON trials (study_id);
CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER NOT NULL, trial_id INTEGER,
  "key" VARCHAR(512), value_json TEXT, PRIMARY KEY (trial_user_attribute_id),
  UNIQUE (trial_id, "key"), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER NOT NULL, trial_id INTEGER,
  "key" VARCHAR(512), value_json TEXT, PRIMARY KEY (trial_system_attribute_id),
  UNIQUE (trial_id, "key"), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_params (param_id INTEGER NOT NULL, trial_id INTEGER, param_name VARCHAR(512),
  param_value FLOAT, distribution_json TEXT, PRIMARY KEY (param_id),
  UNIQUE (trial_id, param_name), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_values (trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL,
  objective INTEGER NOT NULL, value FLOAT, value_type VARCHAR(7) NOT NULL,
  PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER NOT NULL,
  trial_id INTEGER NOT NULL, step INTEGER NOT NULL, intermediate_value FLOAT,
  intermediate_value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_intermediate_value_id),
  UNIQUE (trial_id, step), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_heartbeats (trial_heartbeat_id INTEGER NOT NULL, trial_id INTEGER NOT NULL,
  heartbeat DATETIME NOT NULL, PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
INSERT INTO version_info VALUES(1, 12, 'llvm-mneme');
)";

namespace {
/// A database that is being made. The first error is kept, and nothing is done
/// after it.
class Database {
public:
  ~Database() { consumeError(close()); }

  Database() { check(sqlite3_open(":memory:", &DB)); }
  void run(const char *SQL) {
    if (Message.empty())
      check(sqlite3_exec(DB, SQL, nullptr, nullptr, nullptr));
  }
  /// Adds a row with the next key of its own.
  void insert(StringRef Table, ArrayRef<json::Value> Columns) {
    if (!Message.empty())
      return;
    std::string SQL = ("INSERT INTO " + Table + " VALUES(NULL").str();
    for (size_t I = 0; I < Columns.size(); ++I)
      SQL += ",?";
    SQL += ")";
    sqlite3_stmt *&S = Statements[SQL];
    if (!S && !check(sqlite3_prepare_v2(DB, SQL.c_str(), -1, &S, nullptr)))
      return;
    for (auto [I, V] : enumerate(Columns))
      if (!check(bind(S, I + 1, V)))
        return;
    if (sqlite3_step(S) != SQLITE_DONE)
      check(SQLITE_ERROR);
    sqlite3_reset(S);
  }
  int64_t lastKey() const { return DB ? sqlite3_last_insert_rowid(DB) : 0; }

  /// The file that a database on the disk would be.
  Expected<std::string> serialize() {
    sqlite3_int64 Size = 0;
    unsigned char *Bytes =
        Message.empty() ? sqlite3_serialize(DB, "main", &Size, 0) : nullptr;
    if (!Bytes && Message.empty())
      check(SQLITE_NOMEM);
    std::string File(reinterpret_cast<char *>(Bytes), Bytes ? Size : 0);
    sqlite3_free(Bytes);
    if (Error E = close())
      return std::move(E);
    return std::move(File);
  }

  Error close() {
    for (auto &[SQL, S] : Statements)
      sqlite3_finalize(S);
    Statements.clear();
    if (DB)
      check(sqlite3_close(DB));
    DB = nullptr;
    return Message.empty() ? Error::success() : createStringError(Message);
  }

private:
  bool check(int Code) {
    if (Code == SQLITE_OK)
      return true;
    if (Message.empty())
      Message = DB ? sqlite3_errmsg(DB) : sqlite3_errstr(Code);
    return false;
  }
  static int bind(sqlite3_stmt *S, int I, const json::Value &V) {
    if (std::optional<int64_t> N = V.getAsInteger())
      return sqlite3_bind_int64(S, I, *N);
    if (std::optional<double> N = V.getAsNumber())
      return sqlite3_bind_double(S, I, *N);
    if (std::optional<StringRef> Text = V.getAsString())
      return sqlite3_bind_text(S, I, Text->data(), Text->size(),
                               SQLITE_TRANSIENT);
    return sqlite3_bind_null(S, I);
  }

  sqlite3 *DB = nullptr;
  std::string Message;
  std::map<std::string, sqlite3_stmt *> Statements;
};
} // namespace

static std::string print(const json::Value &V) {
  return formatv("{0}", V).str();
}

static void writeStudy(Database &DB, const StudyRecord &R) {
  DB.insert("studies", {R.Name});
  json::Array Metrics;
  for (auto [I, O] : enumerate(R.Space.study().Objectives)) {
    bool Minimize = O.Dir == Direction::Minimize;
    DB.insert("study_directions",
              {Minimize ? "MINIMIZE" : "MAXIMIZE", 1, static_cast<int64_t>(I)});
    Metrics.push_back(O.Metric);
  }
  DB.insert("study_system_attributes",
            {1, "study:metric_names", print(std::move(Metrics))});
  std::pair<StringRef, json::Value> Attributes[] = {
      {"study", R.StudyText},     {"kernel", R.Kernel},
      {"device", R.Device},       {"static_hash", R.StaticHash},
      {"sampler", R.Sampler},     {"seed", R.Seed},
      {"outcome", toJSON(R.Outcome)}};
  for (const auto &[Key, V] : Attributes)
    DB.insert("study_user_attributes", {1, Key, print(V)});
}

static StringRef getStateName(OptunaState S) {
  static constexpr StringLiteral Names[] = {"RUNNING", "COMPLETE", "PRUNED",
                                            "FAIL", "WAITING"};
  return Names[static_cast<unsigned>(S)];
}

static void writeTrial(Database &DB, const StudyRecord &R,
                       const OptunaSpace &Params, int64_t Number,
                       const Trial &T) {
  DB.insert("trials",
            {Number, 1, getStateName(getOptunaState(T)),
             formatOptunaTime(T.Started, ' '), formatOptunaTime(T.Ended, ' ')});
  int64_t Id = DB.lastKey();
  BitVector Active = R.Space.activity(T.P);
  for (auto [Dim, D] : enumerate(R.Space.dimensions()))
    if (Active[Dim])
      DB.insert("trial_params", {Id, D.Name, Params.toInternal(Dim, T.P[Dim]),
                                 Params.getDistribution(Dim)});
  for (auto [I, V] : enumerate(getOptunaValues(T)))
    DB.insert("trial_values", {Id, static_cast<int64_t>(I), V, "FINITE"});
  if (T.State == TrialState::Pruned && T.Values.size() == 1)
    DB.insert("trial_intermediate_values", {Id, 0, T.Values[0], "FINITE"});
  for (const auto &[Key, V] : makeAttributes(T))
    DB.insert("trial_user_attributes", {Id, Key, print(V)});
}

Error mneme::exportOptunaSQLite(const StudyRecord &R, StringRef Path) {
  Database DB;
  DB.run(Schema);
  DB.run("BEGIN");
  writeStudy(DB, R);
  OptunaSpace Params(R.Space);
  int64_t Number = 0;
  for (const Trial &T : R.Trials)
    if (T.State != TrialState::Running)
      writeTrial(DB, R, Params, Number++, T);
  DB.run("COMMIT");
  Expected<std::string> File = DB.serialize();
  if (!File)
    return createFileError(Path, File.takeError());
  return writeFileAtomically(Path, *File);
}

#else

Error mneme::exportOptunaSQLite(const StudyRecord &, StringRef Path) {
  return createFileError(
      Path, createStringError("this Mneme was built without SQLite "
                              "(MNEME_ENABLE_SQLITE)"));
}

#endif
