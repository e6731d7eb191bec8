-- A ledger of schema version 1, as the last assay that wrote one left it.
PRAGMA application_id = 1095979865;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT);
INSERT INTO "run" VALUES(1,'2026-11-21T16:02:31Z','2026-11-21T16:02:31Z','assay run fwht_v1/d256/h1/undo/gauss/s1 reduce_v1/d256/rows1/nwg2/gauss/s3 --ledger ledger.sqlite','','0.1.0','Linux 6.18.44-fc-v595 x86_64',0,'',2,0,'d04665baa6a31947');
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
  divergent_collectives INTEGER, matrix_multiplies INTEGER, oracle_seconds REAL, simulator_seconds REAL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
INSERT INTO "verdict" VALUES(1,'fwht_v1/d256/h1/undo/gauss/s1',0,'fwht_v1','fwht','gauss',1,'{"head_dim":256,"num_heads":1,"mode":2}','passed','','forward',0,256,256,0,0,0,0,0,0,256,3.31652430551104132616e-02,37,2.51049641519784927368e-07,1.65792007549912966319e-05,6.2909698229556533346e-15,9.99999999999997557509e-01,5.96046803025485888265e-07,'584f2c1cd80c031d',3,98,80,0,0,2.6523e-05,0.00063448);
INSERT INTO "verdict" VALUES(1,'reduce_v1/d256/rows1/nwg2/gauss/s3',1,'reduce_v1','reduce','gauss',3,'{"head_dim":256,"nrows":1,"nwg":2}','passed','','forward',0,256,256,0,0,0,0,0,0,256,3.61592710304347031424e-01,175,1.84821194793016729818e-07,8.17606913482737e-06,2.69191195886333e-15,1.0,3.78421297728961070444e-07,'91324a16a436e07c',1,68,68,0,0,1.10216999999999991843e-04,0.001374835);
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
COMMIT;
