-- What is read by more than its number, however many rows there are.
CREATE INDEX turns_session ON turns (session);
CREATE INDEX outbox_joined ON outbox (joined) WHERE joined > 0;
CREATE INDEX sessions_key ON sessions (key);
CREATE INDEX sessions_open ON sessions (id) WHERE archived = 0;
CREATE INDEX questions_state ON questions (state);
CREATE INDEX questions_turn ON questions (turn) WHERE turn IS NOT NULL;
CREATE INDEX audit_turn ON audit (turn) WHERE turn IS NOT NULL;
-- Most calls are allowed and most runs run. An index of the others is written rarely.
CREATE INDEX audit_verdict ON audit (iif(judged, decision, 'not judged')) WHERE iif(judged, decision, 'not judged') <> 'allow';
CREATE INDEX audit_denied ON audit (seq) WHERE decision = 'deny' AND judged = 1 OR outcome = 'PERMISSION_DENIED';
CREATE INDEX fires_outcome ON fires (outcome) WHERE outcome NOT IN ('', 'ran');
CREATE INDEX fires_late ON fires (id) WHERE outcome = 'ran' AND limit_us > 0 AND late_us > limit_us;
-- The jobs of the config are compared with it at each start; the others are read when they come due.
CREATE INDEX triggers_config ON triggers (kind) WHERE removed = 0 AND body ->> '$.origin' = 'config';
CREATE INDEX triggers_trouble ON triggers (kind, name) WHERE removed = 0 AND (broken <> '' OR failures > 0);
