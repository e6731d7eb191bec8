-- A ledger of schema version 2, as the last assay that wrote one left it.
PRAGMA application_id = 1095979865;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE note(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT, outside_limits INTEGER);
INSERT INTO "run" VALUES(1,'2026-11-22T07:02:54Z','2026-11-22T07:02:54Z','assay run fwht_v1/d256/h1/undo/gauss/s1 fwht_v1/d512/h1/undo/gauss/s1 --ledger /tmp/v2.sqlite','','0.1.0','Linux 6.18.44-fc-v595 x86_64',0,'',2,0,'964a8e0bbd195354',0);
CREATE TABLE stage(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, is_judged INTEGER NOT NULL, passed INTEGER NOT NULL,
  reason TEXT NOT NULL, compared INTEGER NOT NULL, max_ratio REAL, PRIMARY KEY(run, name, stage),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE verdict(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL, ordinal INTEGER NOT NULL,
  variant TEXT NOT NULL, family TEXT NOT NULL, fixture TEXT NOT NULL, seed INTEGER NOT NULL, axes TEXT NOT NULL,
  status TEXT, reason TEXT, schedules TEXT, is_internal INTEGER, row_length INTEGER,
  compared INTEGER, above_bound INTEGER, not_written INTEGER, nans INTEGER, infs INTEGER, guard_violations INTEGER,
  uninformative INTEGER, distinct_expected INTEGER, max_ratio REAL, max_ratio_index INTEGER, max_abs_error REAL, max_rel_error REAL,
  nmse REAL, cosine REAL, median_bound_ratio REAL, digest TEXT, threadgroups INTEGER, meeting_points INTEGER, collectives INTEGER,
  divergent_collectives INTEGER, matrix_multiplies INTEGER, oracle_seconds REAL, simulator_seconds REAL, note TEXT,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
INSERT INTO "verdict" VALUES(1,'fwht_v1/d256/h1/undo/gauss/s1',0,'fwht_v1','fwht','gauss',1,'{"head_dim":256,"num_heads":1,"mode":2}','passed','','forward',0,256,256,0,0,0,0,0,0,256,3.31652430551104132616e-02,37,2.51049641519784927368e-07,1.65792007549912966319e-05,6.2909698229556533346e-15,9.99999999999997557509e-01,5.96046803025485888265e-07,'584f2c1cd80c031d',3,98,80,0,0,2.5561e-05,0.008938641,'');
INSERT INTO "verdict" VALUES(1,'fwht_v1/d512/h1/undo/gauss/s1',1,'fwht_v1','fwht','gauss',1,'{"head_dim":512,"num_heads":1,"mode":2}','passed','','forward',0,512,512,0,0,0,0,0,0,512,3.24091949870327425409e-02,123,3.81080522249277464652e-07,5.45479810371239377635e-05,7.26438844177696e-15,9.9999999999999567013e-01,6.55651522407934e-07,'fc9f55db803c6c48',3,194,160,0,0,4.933e-05,0.004679938,'');
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
COMMIT;
