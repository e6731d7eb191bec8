-- A ledger of schema version 3, as the last assay that wrote one left it.
PRAGMA application_id = 1095979865;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE cost(
  run INTEGER NOT NULL, name TEXT NOT NULL, device_bytes_read INTEGER NOT NULL, device_bytes_written INTEGER NOT NULL,
  distinct_device_bytes INTEGER NOT NULL, threadgroup_accesses INTEGER NOT NULL, simdgroup_calls INTEGER NOT NULL, barriers INTEGER NOT NULL,
  float_operations INTEGER NOT NULL, half_operations INTEGER NOT NULL, bfloat_operations INTEGER NOT NULL, PRIMARY KEY(run, name),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE note(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT, outside_limits INTEGER, policy TEXT, shard TEXT, selection TEXT, build TEXT, compiler TEXT, flags TEXT, toolchain TEXT, writer TEXT);
INSERT INTO "run" VALUES(1,'2026-11-23T07:56:04Z','2026-11-23T07:56:04Z','assay run mine/d256/h2/standalone/gauss/s1 mine/d256/h2/undo/gauss/s1 --kernel ''it''\''''s here/mine.metal'' --family fwht --ledger /tmp/v3/l.sqlite','--kernel ''it''\''''s here/mine.metal'' --family fwht','0.1.0','Linux 6.18.44-fc-v657 x86_64',0,'',2,0,'4885ae77e25b459f',0,'native','','e5126da11aba7cd6','ac68b0ef214a9f305b1b3808cdf740b04b69b93b','Debian clang version 19.1.7 (3~deb12u1)','-x clcpp -cl-std=CLC++2021 -cl-no-stdinc -fplugin=/work/main/build/release/lib/assay_lockstep.so -O2 -g -fno-limit-debug-info -fdebug-compilation-dir=/ -fPIC -fdeclspec -fsigned-char -cl-single-precision-constant -fno-finite-loops -fno-strict-float-cast-overflow -fstack-clash-protection -Xclang -ffloat16-excess-precision=none -Xclang -fbfloat16-excess-precision=none -Wno-everything -Wno-c++11-narrowing -fno-show-column -fno-caret-diagnostics -ferror-limit=8 -ftemplate-backtrace-limit=4 -ffp-contract=off -march=native -mno-avx512bf16 -mno-avx512fp16','767c7a87bf1e7b5ffb3638f71e0ec9d7','vm/15332/381204');
CREATE TABLE source(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, variant TEXT NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY(run, variant)) WITHOUT ROWID;
INSERT INTO "source" VALUES(1,'mine','it''s here/mine.metal','7a77fea314dc29306fa4720992086345');
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
INSERT INTO "verdict" VALUES(1,'mine/d256/h2/standalone/gauss/s1',0,'mine','fwht','gauss',1,'{"head_dim":256,"num_heads":2,"mode":0}','failed','threadgroup 2 of a grid that is one larger than num_heads = 2 must return, but wrote behind the data','forward',0,256,512,0,0,0,0,0,0,512,3.31652430551104132616e-02,37,2.51049641519784927368e-07,1.65792007549912966319e-05,5.87473525421614732686e-15,9.99999999999997335464e-01,5.96046803025485888265e-07,'1cb63ca6da1fe28e',5,245,200,0,0,0.006120415,0.000682407,'','',NULL,NULL);
INSERT INTO "verdict" VALUES(1,'mine/d256/h2/undo/gauss/s1',1,'mine','fwht','gauss',1,'{"head_dim":256,"num_heads":2,"mode":2}','failed','threadgroup 2 of a grid that is one larger than num_heads = 2 must return, but wrote behind the data','forward',0,256,512,0,0,0,0,0,0,512,3.31652430551104132616e-02,37,2.51049641519784927368e-07,1.65792007549912966319e-05,5.87473525421614732686e-15,9.99999999999997335464e-01,5.96046803025485888265e-07,'e1d1863d8191958e',5,245,200,0,0,2.8636e-05,6.64324999999999898231e-04,'','',NULL,NULL);
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',0,37,2.63489793468033894896e+00,2.63489818572998046875e+00,7.56966083748030479179e-06,3.31652430551104132616e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',1,170,-2.50842906435718759894e+00,-2.50842928886413574218e+00,7.56966083748030479179e-06,2.96587856395921292684e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',2,281,-1.80829642398748546838e+00,-1.80829620361328125e+00,7.54751952989484558307e-06,2.91982290798335868131e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',3,23,6.18031954509206116199e-02,6.18029832839965820312e-02,7.56966083748030479179e-06,2.80285905253599455788e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',4,443,-2.30558446317445486783e+00,-2.30558466911315917968e+00,7.54751952989484558307e-06,2.7285613968423463177e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',5,287,1.22916797210928052663e+00,1.22916817665100097656e+00,7.54751952989484558307e-06,2.7100522183448289698e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',6,394,1.94621511187870055437e+00,1.94621491432189941406e+00,7.54751952989484558307e-06,2.61750632585724223033e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/standalone/gauss/s1',7,191,5.52455474098678678274e-01,5.52455663681030273437e-01,7.56966083748030479179e-06,2.50450258823312309208e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',0,37,-2.63489793468033894896e+00,-2.63489818572998046875e+00,7.56966083748030479179e-06,3.31652430551104132616e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',1,170,-2.50842906435718759894e+00,-2.50842928886413574218e+00,7.56966083748030479179e-06,2.96587856395921292684e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',2,281,-1.80829642398748546838e+00,-1.80829620361328125e+00,7.54751952989484558307e-06,2.91982290798335868131e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',3,23,-6.18031954509206116199e-02,-6.18029832839965820312e-02,7.56966083748030479179e-06,2.80285905253599455788e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',4,443,2.30558446317445486783e+00,2.30558466911315917968e+00,7.54751952989484558307e-06,2.7285613968423463177e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',5,287,-1.22916797210928052663e+00,-1.22916817665100097656e+00,7.54751952989484558307e-06,2.7100522183448289698e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',6,394,-1.94621511187870055437e+00,-1.94621491432189941406e+00,7.54751952989484558307e-06,2.61750632585724223033e-02,'');
INSERT INTO "worst" VALUES(1,'mine/d256/h2/undo/gauss/s1',7,191,5.52455474098678678274e-01,5.52455663681030273437e-01,7.56966083748030479179e-06,2.50450258823312309208e-02,'');
COMMIT;
