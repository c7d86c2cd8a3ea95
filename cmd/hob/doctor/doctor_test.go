//go:build linux

package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/doctor"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// testHome is a home that a hob has lived in, with the world around it.
type testHome struct {
	t     *testing.T
	home  string
	world doctor.World
	meet  func(*http.Request) // called before an answer; nil: nothing
	close func() error        // ends what a case has begun
	heal  func()              // makes a folder writable again
}

// newTestHome lets a hob run once in a new home and make a backup. No service manager is there.
func newTestHome(t *testing.T) *testHome {
	t.Helper()
	dir, err := os.MkdirTemp("", "hob") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("HOME", dir)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	p := &testHome{t: t, home: filepath.Join(dir, "h"), world: doctor.World{
		Now: time.Now(), Free: 100 << 30, UID: 1000, Root: filepath.Join(dir, "root"), Proc: filepath.Join(dir, "proc"), Env: map[string]string{"PATH": filepath.Join(dir, "bin")},
		Build: doctor.Build{Version: "test", At: time.Now().Add(-time.Hour)},
	}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Options{Home: p.home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), Ready: func(daemon.Ready) { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	c, err := client.Find(t.Context(), p.home, false)
	if err == nil {
		_, err = client.Do(t.Context(), c, api.CreateBackup, "", api.BackupPath{})
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *testHome) path(parts ...string) string {
	return filepath.Join(append([]string{p.home}, parts...)...)
}

func (p *testHome) write(text string, mode os.FileMode, parts ...string) {
	p.t.Helper()
	path := p.path(parts...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testHome) rights(mode os.FileMode, parts ...string) {
	p.t.Helper()
	p.do(os.Chmod(p.path(parts...), mode))
}

func (p *testHome) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// check is the result of one check; fix repairs what can be repaired.
func (p *testHome) check(name string, fix bool) doctor.Result {
	p.t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	p.do(err)
	defer null.Close() //nolint:errcheck // nothing is there
	list, err := doctor.RunChecks(p.t.Context(), &cli.App{Home: p.home, In: null, Out: null, Err: null}, fix, p.world)
	p.do(err)
	i := slices.IndexFunc(list, func(r doctor.Result) bool { return r.Name == name })
	if i < 0 {
		p.t.Fatalf("there is no check %s", name)
	}
	return list[i]
}

// answers lets somebody answer on the socket as a hob in that state would, until end is called.
func (p *testHome) answers(docs map[string]any) (end func()) {
	p.t.Helper()
	all := map[string]any{
		"/v1/status": map[string]any{"version": "test", "model": "ollama/qwen", "zone": "Europe/Berlin"}, "/v1/model": map[string]any{}, "/v1/model/servers": []any{}, "/v1/model/voice": map[string]any{},
		"/v1/jobs": []any{}, "/v1/inbox": []any{}, "/v1/turns": []any{}, "/v1/outbox": []any{},
		"/v1/channels": []any{}, "/v1/watches": []any{}, "/v1/mcp": []any{}, "/v1/accounts": []any{}, "/v1/skills": []any{},
	}
	for path, doc := range docs {
		all[path] = doc
	}
	p.do(os.MkdirAll(p.path("state", "run"), 0o700))
	l, err := net.Listen("unix", p.path("state", "run", "hob.sock"))
	p.do(err)
	p.do(os.Chmod(p.path("state", "run", "hob.sock"), 0o600))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.meet != nil {
			p.meet(r)
		}
		doc, ok := all[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if p, ok := doc.(api.Problem); ok {
			w.WriteHeader(p.Status)
		}
		if err := json.NewEncoder(w).Encode(doc); err != nil {
			p.t.Error(err)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return func() {
		p.do(server.Close())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			p.t.Error(err)
		}
	}
}

// statusAnswer answers with a status.
func statusAnswer(fields map[string]any) map[string]any { return map[string]any{"/v1/status": fields} }

// memoryAnswer is a daemon's answer about its memory.
func memoryAnswer(doc map[string]any) map[string]any {
	return map[string]any{"/v1/memory/status": doc}
}

// voiceAnswer answers with the state of the endpoint for voice notes.
func voiceAnswer(at, fault string) map[string]any {
	return map[string]any{"/v1/model/voice": map[string]any{"base_url": at, "key": true, "error": fault}}
}

// A broken thing: how it breaks, what doctor prints about it, and how it is repaired: by --fix, or by hand as the hint says.
type brokenCase struct {
	name, check   string
	answer        map[string]any // somebody answers with this meanwhile
	hurt          func(p *testHome)
	state         doctor.State
	found, repair string
	fixed         string            // what --fix says it did; "": it does nothing
	heal          func(p *testHome) // nil: --fix, or the end of the answer
	well          doctor.State      // afterwards; "": ok
}

func brokenCases() []brokenCase {
	const model = "[model]\nbackend = \"ollama\"\nmodel = \"qwen\"\n"
	now := time.Now().UTC().Format(time.RFC3339Nano)
	return []brokenCase{
		{name: "open state", check: "home", hurt: func(p *testHome) { p.rights(0o755, "state") }, state: doctor.Fail, found: "state has the rights 0755", repair: "chmod 700 ", fixed: "the rights 0700"},
		{name: "open index", check: "files", hurt: func(p *testHome) { p.write("", 0o644, "state", "index.db") }, state: doctor.Fail, found: "index.db has the rights 0644", repair: "chmod 600", fixed: "index.db the rights 0600"},
		{name: "open token", check: "files", hurt: func(p *testHome) { p.rights(0o644, "state", "token") }, state: doctor.Fail, found: "token has the rights 0644", repair: "chmod 600 ", fixed: "the rights 0600"},
		{name: "unknown key", check: "config", hurt: func(p *testHome) { p.write("[guard]\nmoed = \"ask\"\n", 0o600, "config.toml") }, state: doctor.Warn, found: `"moed"`, repair: "correct that line", heal: func(p *testHome) { p.write("[guard]\nmode = \"ask\"\n", 0o600, "config.toml") }},
		{name: "S6, T4: a folder that others fill", check: "config", hurt: func(p *testHome) {
			p.write("[tools]\nroots = [\"~/downloads:ro\", \"/data/Maildir:rw\", \"~/notes:ro\"]\n[tools.exec]\nbinds = [\"~/Dropbox:ro\"]\n", 0o600, "config.toml")
		}, state: doctor.Warn, found: "what others put into the root ~/downloads counts as your own words; what others put into the root /data/Maildir counts as your own words; others put files into the bind ~/Dropbox", repair: "\"~/downloads:foreign\" in [tools] roots", heal: func(p *testHome) {
			p.write("[tools]\nroots = [\"~/downloads:foreign\", \"/data/Maildir:foreign\", \"~/notes:ro\"]\n", 0o600, "config.toml")
		}},
		{name: "section off", check: "config", hurt: func(p *testHome) { p.write("[guard]\nmode = 7\n", 0o600, "config.toml") }, state: doctor.Fail, found: "[guard] is off", repair: "correct that line", heal: func(p *testHome) { p.do(os.Remove(p.path("config.toml"))) }},
		{name: "no TOML", check: "config", hurt: func(p *testHome) { p.write("[guard\n", 0o600, "config.toml") }, state: doctor.Fail, found: "config.toml:1", repair: "last good one", heal: func(p *testHome) { p.do(os.Remove(p.path("config.toml"))) }},
		{name: "told by hob", check: "config", answer: statusAnswer(map[string]any{"config": []string{"channel alerts: no topic"}}), state: doctor.Warn, found: "no topic", repair: "hob status"},
		{name: "no secret", check: "secrets", hurt: func(p *testHome) { p.write(model+"api_key = \"file:key\"\n", 0o600, "config.toml") }, state: doctor.Fail, found: "there is no file", repair: "give it a value", heal: func(p *testHome) { p.write("k", 0o600, "key") }},
		{name: "open secret", check: "secrets", hurt: func(p *testHome) {
			p.write(model+"api_key = \"file:key\"\n", 0o600, "config.toml")
			p.write("k", 0o640, "key")
		}, state: doctor.Fail, found: "key has the rights 0640", repair: "hob doctor --fix", fixed: "the rights 0600"},
		{name: "key in an open config", check: "secrets", hurt: func(p *testHome) { p.write(model+"api_key = \"sk-secret\"\n", 0o644, "config.toml") }, state: doctor.Fail, found: "config.toml has the rights 0644", repair: "chmod 600", fixed: "config.toml the rights 0600", well: doctor.Warn},
		{name: "open secret of a channel", check: "secrets", hurt: func(p *testHome) {
			p.write("[channels.tg]\ntype = \"telegram\"\ntoken = \"file:keys/tg\"\n", 0o600, "config.toml")
			p.write("k", 0o644, "keys", "tg")
		}, state: doctor.Fail, found: "keys/tg has the rights 0644", repair: "hob doctor --fix", fixed: "keys/tg the rights 0600"},
		{name: "secret of a channel in an open config", check: "secrets", hurt: func(p *testHome) {
			p.write("[channels.tg]\ntype = \"telegram\"\ntoken = \"123:canary\"\n", 0o644, "config.toml")
		}, state: doctor.Fail, found: "config.toml has the rights 0644", repair: "chmod 600", fixed: "config.toml the rights 0600"},
		{name: "open secret with a space in its name", check: "secrets", hurt: func(p *testHome) { p.write("k", 0o644, "secrets", "old key") }, state: doctor.Fail, found: "secrets/old key has the rights 0644", repair: "secrets/old key'", fixed: "secrets/old key the rights 0600"},
		{name: "open secret that nothing names", check: "secrets", hurt: func(p *testHome) { p.write("k", 0o644, "secrets", "old") }, state: doctor.Fail, found: "secrets/old has the rights 0644", repair: "chmod 600", fixed: "secrets/old the rights 0600"},
		{name: "open config without a secret", check: "secrets", hurt: func(p *testHome) {
			p.write("[channels.tg]\ntype = \"telegram\"\ntoken = \"env:TG\"\n", 0o644, "config.toml")
		}, state: doctor.OK, found: "no key of a model"},
		{name: "open secret with a broken config", check: "secrets", hurt: func(p *testHome) {
			p.write("[guard\n", 0o600, "config.toml")
			p.write("k", 0o644, "secrets", "old")
		}, state: doctor.Fail, found: "secrets/old has the rights 0644", repair: "chmod 600", fixed: "secrets/old the rights 0600", well: doctor.Skip},
		{name: "no variable", check: "secrets", hurt: func(p *testHome) { p.write(model+"api_key = \"env:HOB_TEST_NOT_SET\"\n", 0o600, "config.toml") }, state: doctor.Fail, found: "HOB_TEST_NOT_SET is not set", repair: "give it a value", heal: func(p *testHome) { p.do(os.Setenv("HOB_TEST_NOT_SET", "k")) }},
		{name: "not running", check: "daemon", state: doctor.Warn, found: "hob does not run", repair: "hob up", heal: func(p *testHome) { p.t.Cleanup(p.answers(nil)) }},
		{name: "stuck thread", check: "daemon", answer: statusAnswer(map[string]any{"thread": map[string]any{"state": "stuck"}}), state: doctor.Fail, found: "thread makes no progress", repair: "hob service restart", well: doctor.Warn},
		{name: "stuck scheduler", check: "daemon", answer: statusAnswer(map[string]any{"scheduler": map[string]any{"state": "stuck"}}), state: doctor.Fail, found: "scheduler makes no progress", repair: "hob service restart", well: doctor.Warn},
		{name: "safe mode", check: "daemon", answer: statusAnswer(map[string]any{"safe_mode": map[string]any{"on": true, "why": "three crashes"}}), state: doctor.Fail, found: "three crashes", repair: "hob safe-mode off", well: doctor.Warn},
		{name: "no status", check: "daemon", answer: statusAnswer(nil), hurt: func(*testHome) {}, state: doctor.OK, found: "answers in", well: doctor.Warn},
		{name: "little room", check: "disk", hurt: func(p *testHome) { p.world.Free = 500 << 20 }, state: doctor.Warn, found: "500.0 MB are free", repair: "free some space", heal: func(p *testHome) { p.world.Free = 2 << 30 }},
		{name: "no room", check: "disk", hurt: func(p *testHome) { p.world.Free = 1 << 20 }, state: doctor.Fail, found: "1.0 MB are free", repair: "free some space", heal: func(p *testHome) { p.world.Free = 2 << 30 }},
		{name: "early clock", check: "clock", hurt: func(p *testHome) { p.world.Now = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC) }, state: doctor.Fail, found: "before hob was written", repair: "set the clock", heal: func(p *testHome) { p.world.Now = time.Now() }},
		{name: "clock went back", check: "clock", hurt: func(p *testHome) { p.world.Now = p.world.Now.Add(-3 * time.Hour) }, state: doctor.Fail, found: "but the database was written at", repair: "set the clock", heal: func(p *testHome) { p.world.Now = time.Now() }},
		{name: "no such zone", check: "clock", answer: statusAnswer(map[string]any{"zone": "Mars/Base"}), state: doctor.Fail, found: `no time zone "Mars/Base"`, repair: "timezone ="},
		// U43: what is set is said, and what cannot be read is not guessed.
		{name: "interpreter chosen", check: "model", answer: statusAnswer(map[string]any{"model": "builtin"}), hurt: func(p *testHome) { p.write("[model]\nbackend = \"ollama\"\nmodel = \"qwen\"\n", 0o600, "config.toml") }, state: doctor.OK, found: "although [model] is set to ollama/qwen", well: doctor.Skip},
		{name: "zone of a broken file", check: "clock", answer: statusAnswer(map[string]any{"zone": "Europe/Berlin"}), hurt: func(p *testHome) { p.write("[owner", 0o600, "config.toml") }, state: doctor.OK, found: "zone Europe/Berlin (the one that hob runs with: config.toml cannot be read)"},
		{name: "key refused", check: "model", answer: map[string]any{"/v1/model/servers": []any{map[string]any{"backend": "openai", "base_url": "http://x", "names": []string{"default"}, "error": "the key is refused", "hint": "look at api_key"}}}, state: doctor.Fail, found: "the key is refused", repair: "look at api_key; then: hob model test default", well: doctor.Skip},
		{name: "model fault", check: "model", answer: map[string]any{"/v1/model": map[string]any{"models": []any{map[string]any{"name": "local", "fault": "no key"}}}}, state: doctor.Fail, found: "local cannot be asked: no key", repair: "hob model list", well: doctor.Skip},
		{name: "others' servers", check: "model", answer: map[string]any{"/v1/model/servers": []any{map[string]any{"names": []string{}, "error": "nobody asked it"}}}, state: doctor.OK, found: "ollama/qwen can be reached", well: doctor.Skip},
		{name: "no voice", check: "voice", answer: map[string]any{}, state: doctor.OK, found: "no [voice] is set", well: doctor.Skip},
		{name: "voice", check: "voice", answer: voiceAnswer("http://v", ""), state: doctor.OK, found: "http://v is there, and takes the key", well: doctor.Skip},
		{name: "voice without a key", check: "voice", answer: map[string]any{"/v1/model/voice": map[string]any{"base_url": "http://v"}}, state: doctor.OK, found: "http://v is there, and asks for no key", well: doctor.Skip},
		{name: "voice refused", check: "voice", answer: voiceAnswer("http://v", "the endpoint does not accept the key"), state: doctor.Fail, found: "http://v: the endpoint does not accept the key", repair: "api_key in [voice]", well: doctor.Skip},
		{name: "voice's key lost", check: "voice", answer: voiceAnswer("", "the key of [voice] cannot be read"), state: doctor.Fail, found: "the key of", repair: "api_key in [voice]", well: doctor.Skip},
		{name: "voice busy", check: "voice", answer: map[string]any{"/v1/model/voice": map[string]any{"base_url": "http://v", "error": "HTTP 503", "passing": true}}, state: doctor.Warn, found: "http://v: HTTP 503", repair: "again in a while", well: doctor.Skip},
		{name: "memory", check: "memory", answer: memoryAnswer(map[string]any{"files": 2, "chunks": 7, "passages": 5, "vectors": map[string]any{"have": 5}}), state: doctor.OK, found: "2 memory files in 5 passages, 5 vectors", well: doctor.Skip},
		{name: "memory not brought up to date", check: "memory", answer: memoryAnswer(map[string]any{"error": "the disk is full"}), state: doctor.Fail, found: "could not be brought up to date: the disk is full", repair: "hob memory reindex", well: doctor.Skip},
		{name: "memory on a full disk", check: "memory", answer: memoryAnswer(map[string]any{"error": "the disk is full: nothing was stored", "hint": "free some space"}), state: doctor.Fail, found: "could not be brought up to date: the disk is full", repair: "free some space", well: doctor.Skip},
		{name: "no room for an index", check: "memory", answer: map[string]any{"/v1/memory/status": api.Problem{Status: http.StatusServiceUnavailable, Kind: event.Unavailable, Detail: "the disk is full: nothing was stored", Hint: "free some space"}}, state: doctor.Fail, found: "its index cannot be used: the disk is full", repair: "free some space", well: doctor.Skip},
		{name: "memory left out", check: "memory", answer: memoryAnswer(map[string]any{"problems": []string{"memory/x: permission denied"}}), state: doctor.Warn, found: "left out: memory/x: permission denied", repair: "hob memory status", well: doctor.Skip},
		{name: "memory skipped", check: "memory", answer: memoryAnswer(map[string]any{"skipped": []any{map[string]any{"path": "memory/a.md", "state": "binary", "problem": "it is no text"}}}), state: doctor.Warn, found: "memory/a.md: it is no text", repair: "hob memory list", well: doctor.Skip},
		{name: "embeddings fail", check: "memory", answer: memoryAnswer(map[string]any{"vectors": map[string]any{"fault": "the embedding server gives vectors of another length than before"}}), state: doctor.Fail, found: "embeddings: the embedding server gives vectors of another length", repair: "[memory.embeddings]", well: doctor.Skip},
		{name: "deaf channel", check: "channels", answer: statusAnswer(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "down", "last_error": "refused"}}}}), state: doctor.Fail, found: "alerts cannot receive", repair: "[channels.alerts]", well: doctor.Skip},
		{name: "silent channel", check: "channels", answer: statusAnswer(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "ok"}, "sending": map[string]any{"state": "not tried"}}}}), state: doctor.OK, found: "1 channel can receive; 0 can send, 1 was not tried", well: doctor.Skip},
		{name: "tried channel", check: "channels", answer: statusAnswer(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "ok"}, "sending": map[string]any{"state": "ok"}}}}), state: doctor.OK, found: "1 channel can receive and send", well: doctor.Skip},
		{name: "shaky channel", check: "channels", answer: statusAnswer(map[string]any{"channels": []any{map[string]any{"name": "alerts", "sending": map[string]any{"state": "degraded", "last_error": "timeout"}}}}), state: doctor.Warn, found: "alerts had trouble to send: timeout", well: doctor.Skip},
		{name: "broken job", check: "jobs", answer: map[string]any{"/v1/jobs": []any{map[string]any{"name": "morning", "broken": "no such zone"}}}, state: doctor.Fail, found: "morning is broken: no such zone", repair: "hob cron update morning", well: doctor.Skip},
		{name: "failing job", check: "jobs", answer: map[string]any{"/v1/jobs": []any{map[string]any{"name": "morning", "failures": 2}}}, state: doctor.Warn, found: "the last 2 runs of morning failed", repair: "hob cron runs morning", well: doctor.Skip},
		{name: "dead letter", check: "failures", answer: map[string]any{"/v1/inbox": []any{map[string]any{"received": now}, map[string]any{"received": "2026-01-01T00:00:00Z"}}}, state: doctor.Warn, found: "1 × input", repair: "hob inbox retry SEQ", well: doctor.Skip},
		{name: "failed turn", check: "failures", answer: map[string]any{"/v1/turns": []any{map[string]any{"ended": now}}}, state: doctor.Warn, found: "1 × failed turn", repair: "hob turns show ID", well: doctor.Skip},
		{name: "bad backup", check: "backup", hurt: func(p *testHome) { p.write("junk", 0o600, "state", "backups", "hob-auto-20991231-034000.db") }, state: doctor.Fail, found: "is not good", repair: "hob backup create --database", heal: func(p *testHome) { p.do(os.Remove(p.path("state", "backups", "hob-auto-20991231-034000.db"))) }},
		{name: "another backup", check: "backup", hurt: func(p *testHome) { p.write("x", 0o600, "state", "backups", "hob-20991231-034000.tar.gz") }, state: doctor.OK, found: "is whole and sound; others, which are not looked at: 1", well: doctor.OK, heal: func(p *testHome) { p.do(os.Remove(p.path("state", "backups", "hob-20991231-034000.tar.gz"))) }}, // the stranger's 22
		{name: "old backup", check: "backup", answer: map[string]any{}, hurt: func(p *testHome) { p.world.Now = p.world.Now.Add(73 * time.Hour) }, state: doctor.Fail, found: "3 days old", repair: "hob backup create --database", heal: func(p *testHome) { p.world.Now = time.Now() }},
		{name: "no backup", check: "backup", hurt: func(p *testHome) {
			p.do(os.Rename(p.path("state", "backups"), p.path("aside")))
			p.world.Now = p.world.Now.Add(25 * time.Hour)
		}, state: doctor.Warn, found: "no backup of the database yet", repair: "hob backup create --database", heal: func(p *testHome) {
			p.do(os.Rename(p.path("aside"), p.path("state", "backups")))
			p.world.Now = time.Now()
		}},
		{name: "no backup in a new home", check: "backup", hurt: func(p *testHome) { p.do(os.Rename(p.path("state", "backups"), p.path("aside"))) }, state: doctor.OK, found: "none of the database yet, which is right for a new home", heal: func(p *testHome) { p.do(os.Rename(p.path("aside"), p.path("state", "backups"))) }},
		{name: "damaged database", check: "database", hurt: func(p *testHome) {
			p.write(strings.Repeat("junk", 9000), 0o600, "state", "hob.db")
			p.write("", 0o600, "state", "hob.db-wal") // which would make up for it
		}, state: doctor.Fail, found: "damaged", repair: "hob backup restore ", heal: func(p *testHome) {
			list, err := daemon.Backups(p.home)
			p.do(err)
			_, _, err = daemon.RestoreBackup(p.t.Context(), p.home, daemon.NewestBackup(list).Path)
			p.do(err)
		}},
		{name: "cannot store", check: "daemon", answer: statusAnswer(map[string]any{"database": map[string]any{"fault": "the disk is full"}}), state: doctor.Fail, found: "hob cannot store: the disk is full", repair: "hob status", well: doctor.Warn},
		{name: "R4: empty database", check: "database", hurt: func(p *testHome) {
			p.do(os.Remove(p.path("state", "hob.db")))
			p.write("", 0o600, "state", "hob.db")
		}, state: doctor.Fail, found: "is empty, and this home was used before", repair: "hob backup restore ", heal: func(p *testHome) {
			list, err := daemon.Backups(p.home)
			p.do(err)
			_, _, err = daemon.RestoreBackup(p.t.Context(), p.home, daemon.NewestBackup(list).Path)
			p.do(err)
		}},
		{name: "leftovers", check: "leftovers", hurt: func(p *testHome) {
			p.write("127.0.0.1:1\n", 0o600, "state", "address")
			p.write("half", 0o600, "state", "backups", "hob.db.part")
			p.write("half", 0o600, "state", "restoring", "hob.db")
			p.write("half", 0o600, "state", "token.tmp")
		}, state: doctor.Warn, found: "state/address is left", repair: "hob doctor --fix", fixed: "removed "},
	}
}

// Each thing is broken once, seen, and repaired.
func TestEachCheck(t *testing.T) {
	seen := map[string]bool{"service": true, "program": true, "sandbox": true} // TestService, TestProgram, TestSandbox
	p := newTestHome(t)
	for _, b := range append(brokenCases(), brokenMachine()...) {
		seen[b.check] = true
		t.Run(b.name, func(t *testing.T) {
			p.t = t
			end := func() {}
			if b.hurt != nil {
				b.hurt(p)
			}
			if b.answer != nil {
				end = p.answers(b.answer)
			}
			r := p.check(b.check, false)
			if r.State != b.state || !strings.Contains(r.Found, b.found) || !strings.Contains(r.Repair, b.repair) || r.Why == "" || len(r.Fixed) > 0 {
				t.Errorf("broken: %+v", r)
			}
			end()
			fixed := strings.Join(p.check(b.check, true).Fixed, "\n")
			if again := p.check(b.check, true).Fixed; len(again) > 0 && b.check != "memory" {
				t.Errorf("a second --fix did: %q", again)
			}
			if (b.fixed == "") != (fixed == "") || !strings.Contains(fixed, b.fixed) {
				t.Errorf("fixed: %q", fixed)
			}
			if b.heal != nil {
				b.heal(p)
			}
			want := b.well
			if want == "" {
				want = doctor.OK
			}
			if r := p.check(b.check, false); r.State != want || len(r.Fixed) > 0 {
				t.Errorf("repaired: %+v, want %s", r, want)
			}
			if err := os.Remove(p.path("config.toml")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		})
	}
	p.t = t
	for _, name := range doctor.Names() {
		if !seen[name] {
			t.Errorf("nothing breaks the check %s", name)
		}
	}
}

// A hob that holds the home and does not answer is no hob that does not run, and nothing of its is swept.
func TestSilentHob(t *testing.T) {
	p := newTestHome(t)
	f, err := os.Open(p.path("state", "hob.lock"))
	p.do(err)
	p.do(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	p.write("127.0.0.1:1\n", 0o600, "state", "address")
	if r := p.check("daemon", true); r.State != doctor.Fail || !strings.Contains(r.Found, "does not answer") {
		t.Errorf("%+v", r)
	}
	if r := p.check("database", true); r.State != doctor.Skip {
		t.Errorf("%+v", r)
	}
	if r := p.check("leftovers", true); r.State != doctor.Skip || len(r.Fixed) > 0 {
		t.Errorf("%+v", r)
	}
	p.do(f.Close())
	if r := p.check("leftovers", true); r.State != doctor.OK || len(r.Fixed) != 1 {
		t.Errorf("after it ended: %+v", r)
	}
}

// Nothing is made in a home that is not there, and nothing fails.
func TestEmptyHome(t *testing.T) {
	p := newTestHome(t)
	p.home = filepath.Join(filepath.Dir(p.home), "none")
	for _, name := range []string{"home", "files", "secrets", "database", "backup", "leftovers"} {
		if r := p.check(name, true); r.State != doctor.Skip {
			t.Errorf("%+v", r)
		}
	}
	if _, err := os.Lstat(p.home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home was made: %v", err)
	}
}

// What belongs to another user is not looked into, not even by root: what root made there, its owner could not read.
func TestAnotherUsersHome(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a home away")
	}
	p := newTestHome(t)
	p.do(os.Chown(p.home, 1, 1))
	p.rights(0o755, "state")
	if r := p.check("home", true); r.State != doctor.Skip || !strings.Contains(r.Found, "another user") || !strings.Contains(r.Repair, "sudo -u '#1' hob --home "+p.home+" doctor") || len(r.Fixed) > 0 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"files", "config", "secrets", "database", "backup", "leftovers"} {
		if r := p.check(name, true); r.State != doctor.Skip || !strings.Contains(r.Found, "closed to you") {
			t.Errorf("%+v", r)
		}
	}
	if _, err := os.Lstat(p.path("state", "hob.db-shm")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the database was opened: %v", err)
	}
}

// The service is asked of the manager.
func TestService(t *testing.T) {
	p := newTestHome(t)
	if r := p.check("service", false); r.State != doctor.Skip {
		t.Errorf("without a manager: %+v", r)
	}
	state := func(load, active, enabled string) {
		p.write("#!/bin/sh\ncase \"$*\" in *Version) echo Version=252; exit;; esac\necho LoadState="+load+"\necho ActiveState="+active+"\necho SubState=x\necho UnitFileState="+enabled+"\necho NRestarts=0\necho MainPID=0\n", 0o755, "..", "bin", "systemctl")
		p.write("#!/bin/sh\necho yes\n", 0o755, "..", "bin", "loginctl")
	}
	for _, c := range []struct {
		load, active, enabled string
		want                  doctor.State
		found                 string
	}{
		{"not-found", "inactive", "", doctor.Warn, "not installed"},
		{"loaded", "failed", "enabled", doctor.Fail, "does not run"},
		{"loaded", "active", "disabled", doctor.Warn, "does not start by itself"},
		{"loaded", "active", "enabled", doctor.OK, "runs and starts by itself"},
	} {
		state(c.load, c.active, c.enabled)
		if r := p.check("service", false); r.State != c.want || !strings.Contains(r.Found, c.found) {
			t.Errorf("%v: %+v", c, r)
		}
	}
}

// The sandbox is tried where no hob runs, and else asked for: a service may do less than the shell that doctor runs in.
func TestSandbox(t *testing.T) {
	p := newTestHome(t)
	if r := p.check("sandbox", false); r.State != doctor.Warn || !strings.Contains(r.Found, "bubblewrap is not installed") || !strings.Contains(r.Repair, "apt install bubblewrap") {
		t.Errorf("without bubblewrap: %+v", r)
	}
	p.write("[tools.exec]\nsandbox = \"require\"\n", 0o600, "config.toml")
	if r := p.check("sandbox", false); r.State != doctor.Fail || !strings.HasPrefix(r.Found, "no command runs: ") {
		t.Errorf("where it must be: %+v", r)
	}
	p.write("[tools.exec]\nsandbox = \"off\"\n", 0o600, "config.toml")
	if r := p.check("sandbox", false); r.State != doctor.Warn || !strings.HasPrefix(r.Found, "commands are not confined: switched off") {
		t.Errorf("switched off: %+v", r)
	}
	end := p.answers(map[string]any{"/v1/status": map[string]any{"version": "test", "zone": "UTC", "sandbox": map[string]any{"kind": "bubblewrap", "mode": "auto", "works": true, "network": true, "why": "no /proc"}}})
	defer end()
	if r := p.check("sandbox", false); r.State != doctor.OK || r.Found != "bubblewrap works, with the network; no /proc" {
		t.Errorf("as the daemon says: %+v", r)
	}
}

// The checks wait for the answers of others at the same time: nobody is answered before all were asked.
func TestChecksRunSideBySide(t *testing.T) {
	p := newTestHome(t)
	all := []string{"/v1/model", "/v1/model/voice", "/v1/jobs", "/v1/inbox"}
	var asked sync.Map
	var left sync.WaitGroup
	left.Add(len(all))
	together := make(chan struct{})
	go func() {
		left.Wait()
		close(together)
	}()
	p.meet = func(r *http.Request) {
		if _, again := asked.LoadOrStore(r.URL.Path, true); again || !slices.Contains(all, r.URL.Path) {
			return
		}
		left.Done()
		select {
		case <-together:
		case <-r.Context().Done(): // the check gave up
		}
	}
	defer p.answers(nil)()
	if r := p.check("voice", false); r.State != doctor.OK {
		t.Errorf("%+v", r)
	}
}

// A check that gets no answer ends by itself and says so.
func TestCheckWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := doctor.SlowCheck(t.Context())
		if took := time.Since(began); r.State != doctor.Fail || !strings.HasPrefix(r.Found, "no answer within 5s") || took != 5*time.Second {
			t.Errorf("after %s: %+v", took, r)
		}
	})
}
