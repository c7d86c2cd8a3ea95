package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hob/daemon/console"
	"hob/daemon/sqlite"
)

// clawStore is the database in which newer versions keep jobs, pairings and logins (openclaw/openclaw, src/state/openclaw-state-schema.sql).
const clawStore = "state/openclaw.sqlite"

// maxStore is the largest database that is read, with its log.
const maxStore = 1 << 30

// clawDatabase plans what the database has: people, secrets, and the jobs. It reports whether there were jobs. A copy is read, so that
// nothing is written in the other program's folder.
func (p *plan) clawDatabase(ctx context.Context) (jobs bool) {
	if _, err := p.folder.root.Lstat(clawStore); errors.Is(err, fs.ErrPermission) {
		p.leave("other", clawStore, "%w", &unreadError{err})
	}
	if !p.folder.is(clawStore, true) {
		return false
	}
	tables, err := p.folder.clawTables(ctx)
	if err != nil {
		if explained(err) == err { //nolint:errorlint // it is no error of the system
			err = fmt.Errorf("%w; stop the other program and try again, or see openclaw cron list", err)
		}
		p.leave("other", clawStore, "%w", &unreadError{err})
		return false
	}
	for _, row := range tables["channel_pairing_allow_entries"] {
		p.allowed(fmt.Sprintf("%s %v", clawStore, row["channel_key"]), ids([]any{row["entry"]}))
	}
	for _, row := range tables["auth_profile_stores"] {
		var all any
		if text, ok := row["store_json"].(string); ok && json.Unmarshal([]byte(text), &all) == nil {
			p.clawSecrets(clawStore, "", all)
		}
	}
	var list []json.RawMessage
	for _, row := range tables["cron_jobs"] {
		list = append(list, clawRow(row))
	}
	planJobs(p, list, clawJob.convert)
	p.leave("other", clawStore, "the rest of it: conversations are not imported")
	return len(list) > 0
}

// clawRow makes a job of a row as it was in cron/jobs.json. The first databases have such a document in a column; later ones have columns, which
// count then (src/cron/store/row-codec.ts).
func clawRow(row map[string]any) json.RawMessage {
	text, _ := row["job_json"].(string)
	if row["schedule_kind"] == nil {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(map[string]any{
		"name": row["name"], "agentId": row["agent_id"], "enabled": row["enabled"] != int64(0), "sessionTarget": row["session_target"],
		"schedule": map[string]any{"kind": row["schedule_kind"], "expr": row["schedule_expr"], "tz": row["schedule_tz"], "at": row["at"], "everyMs": row["every_ms"]},
		"payload":  map[string]any{"kind": row["payload_kind"], "message": row["payload_message"], "model": row["payload_model"]},
		"delivery": map[string]any{"mode": row["delivery_mode"], "channel": row["delivery_channel"], "to": row["delivery_to"]},
		"trigger":  map[string]any{"script": row["trigger_script"]},
	})
	if err != nil {
		return nil // a number that JSON does not have: the job is noted as one that cannot be read
	}
	return raw
}

// clawTables copies the database, with what is only in its log, and reads the tables that count of the copy.
func (f *folder) clawTables(ctx context.Context) (rows map[string][]map[string]any, err error) {
	dir, err := os.MkdirTemp("", "hob-import-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at := filepath.Join(dir, "store")
	err = f.copyTo(clawStore, at)
	if log := clawStore + "-wal"; err == nil && f.is(log, true) {
		err = f.copyTo(log, at+"-wal")
	}
	rows = map[string][]map[string]any{}
	for _, table := range []string{"cron_jobs", "channel_pairing_allow_entries", "auth_profile_stores"} {
		if err == nil {
			rows[table], err = sqlite.ForeignTable(ctx, at, table)
		}
	}
	return rows, err
}

// copyTo copies one file.
func (f *folder) copyTo(name, to string) (err error) {
	from, err := f.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- in a new folder
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(from, maxStore+1))
	if n > maxStore {
		err = fmt.Errorf("it is larger than %s", console.Size(maxStore))
	}
	return errors.Join(err, file.Close())
}
