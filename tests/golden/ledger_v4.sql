-- A ledger of schema version 4, as the last assay that wrote one left it.
PRAGMA application_id = 1095979865;
PRAGMA user_version = 4;
BEGIN TRANSACTION;
CREATE TABLE cost(
  run INTEGER NOT NULL, name TEXT NOT NULL, device_bytes_read INTEGER NOT NULL, device_bytes_written INTEGER NOT NULL,
  distinct_device_bytes INTEGER NOT NULL, threadgroup_accesses INTEGER NOT NULL, simdgroup_calls INTEGER NOT NULL, barriers INTEGER NOT NULL,
  float_operations INTEGER NOT NULL, half_operations INTEGER NOT NULL, bfloat_operations INTEGER NOT NULL, PRIMARY KEY(run, name),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE fault(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, schedule TEXT NOT NULL,
  PRIMARY KEY(run, name, stage, rank), FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
INSERT INTO "fault" VALUES(1,'mine/d256/h2/standalone/gauss/s1','',0,'above bound','');
INSERT INTO "fault" VALUES(1,'mine/d256/h2/undo/uniform/s1','',0,'above bound','');
CREATE TABLE fault_value(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, rank INTEGER NOT NULL, key TEXT NOT NULL, value,
  PRIMARY KEY(run, name, stage, rank, key),
  FOREIGN KEY(run, name, stage, rank) REFERENCES fault(run, name, stage, rank) ON DELETE CASCADE) WITHOUT ROWID;
INSERT INTO "fault_value" VALUES(1,'mine/d256/h2/standalone/gauss/s1','',0,'count',512);
INSERT INTO "fault_value" VALUES(1,'mine/d256/h2/undo/uniform/s1','',0,'count',2);
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE note(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE replay_word(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
INSERT INTO "replay_word" VALUES(1,0,'--kernel');
INSERT INTO "replay_word" VALUES(1,1,'it''s here/mine.metal');
INSERT INTO "replay_word" VALUES(1,2,'--family');
INSERT INTO "replay_word" VALUES(1,3,'fwht');
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT, outside_limits INTEGER, policy TEXT, shard TEXT, selection TEXT, build TEXT, compiler TEXT, flags TEXT, toolchain TEXT, writer TEXT);
INSERT INTO "run" VALUES(1,'2026-11-23T19:11:28Z','2026-11-23T19:11:28Z','assay run mine/d256/h2/standalone/gauss/s1 mine/d256/h2/undo/uniform/s1 --kernel ''it''\''''s here/mine.metal'' --family fwht --ledger l.sqlite','','0.1.0','Linux x86_64',0,'',2,0,'5c4b8a88570784a1',0,'native','','41aba026fb93451f','96ef772f4b0a133500da6c5bb7e2d9b00268374f','Debian clang version 19.1.7 (3~deb12u1)','-x clcpp -cl-std=CLC++2021 -cl-no-stdinc -fplugin=/work/main/build/release/lib/assay_lockstep.so -O2 -g -fno-limit-debug-info -fdebug-compilation-dir=/ -fPIC -fdeclspec -fsigned-char -cl-single-precision-constant -fno-finite-loops -fno-strict-float-cast-overflow -fno-delete-null-pointer-checks -fstack-clash-protection -Xclang -ffloat16-excess-precision=none -Xclang -fbfloat16-excess-precision=none -Wno-everything -Wno-c++11-narrowing -fno-show-column -fno-caret-diagnostics -ferror-limit=8 -ftemplate-backtrace-limit=4 -ffp-contract=off -march=x86-64-v4','041e824f8cece8eaf5068d403a46ad3b21e98db03f0f74c818cbb3eacd24c033','host/1/1');
CREATE TABLE source(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, variant TEXT NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY(run, variant)) WITHOUT ROWID;
INSERT INTO "source" VALUES(1,'mine','it''s here/mine.metal','a229704cfe1e9cbe7d9d01719ed83e07348070b9874542c5cbf055e5315ca523');
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
  divergent_collectives INTEGER, matrix_multiplies INTEGER, oracle_seconds REAL, simulator_seconds REAL, note TEXT, known TEXT, rounding_ratio REAL, logic_ratio REAL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
INSERT INTO "verdict" VALUES(1,'mine/d256/h2/standalone/gauss/s1',0,'mine','fwht','gauss',1,'{"head_dim":256,"num_heads":2,"mode":0}','failed',NULL,'forward',0,256,512,512,0,0,0,0,0,512,1.80489069338705245175e+05,219,1.36624103976646438241e+00,5.00024868801132504891e-01,2.50000019694804287428e-01,9.99999999999997335464e-01,5.96046803025485888265e-07,'9cea8ec4543feb10',5,196,160,0,0,1.7808e-05,0.000536582,'','',NULL,NULL);
INSERT INTO "verdict" VALUES(1,'mine/d256/h2/undo/uniform/s1',1,'mine','fwht','uniform',1,'{"head_dim":256,"num_heads":2,"mode":2}','failed',NULL,'forward',0,256,512,2,0,0,0,0,0,3,838860.3,0,8.5,0.5,0.25,9.99999999999999888977e-01,5.96046803025485888265e-07,'8cab32a258c04251',5,196,160,0,0,2.7265e-05,0.000602078,'','',NULL,NULL);
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',0,219,-2.73248189495643600821e+00,-4.0987229347229,7.56966083748030479179e-06,1.80489069338705245175e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',1,184,-2.69513974984874948859e+00,-4.04270982742309570312e+00,7.56966083748030479179e-06,1.78022517323630658208e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',2,290,-2.62787185993511229753e+00,-3.94180798530578613281e+00,7.54751952989484558307e-06,1.74088469750402873611e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',3,37,2.63489793468033894896e+00,3.95234727859497070312e+00,7.56966083748030479179e-06,1.74043378190926712701e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',4,379,-2.59716546710114926099e+00,-3.895748138427734375e+00,7.54751952989484558307e-06,1.72054231351512309632e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',5,170,-2.50842906435718759894e+00,-3.7626438140869140625e+00,7.56966083748030479179e-06,1.65689688964613364083e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',6,314,-2.49242529331240803003e+00,-3.7386379241943359375e+00,7.54751952989484558307e-06,1.65115522516480385094e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',7,320,2.43491583189461380243e+00,3.65237402915954589843e+00,7.54751952989484558307e-06,1.61305736598987510665e+05,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',0,0,-16.0,-24.0,9.53674884840777421259e-06,838860.3,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',1,256,-17.0,-25.5,1.01327956514332601003e-05,838860.3,'above bound');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',2,1,0.0,0.0,9.53674884840777421259e-06,0.0,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',3,2,0.0,0.0,9.53674884840777421259e-06,0.0,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',4,3,0.0,0.0,9.53674884840777421259e-06,0.0,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',5,4,0.0,0.0,9.53674884840777421259e-06,0.0,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',6,5,0.0,0.0,9.53674884840777421259e-06,0.0,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/uniform/s1',7,6,0.0,0.0,9.53674884840777421259e-06,0.0,'');
COMMIT;
