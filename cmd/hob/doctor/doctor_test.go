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
	"syscall"
	"testing"
	"time"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/doctor"
	"hob/daemon"
	"hob/daemon/api/client"
)

// patient is a home that a hob has lived in, with the world around it.
type patient struct {
	t    *testing.T
	home string
	now  time.Time
	free int64
}

// newPatient lets a hob run once in a new home and make a backup. No service manager is there.
func newPatient(t *testing.T) *patient {
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
	p := &patient{t: t, home: filepath.Join(dir, "h"), now: time.Now(), free: 100 << 30}
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
		err = c.Act(t.Context(), "backup", "", "create", nil, nil)
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *patient) path(parts ...string) string {
	return filepath.Join(append([]string{p.home}, parts...)...)
}

func (p *patient) write(text string, mode os.FileMode, parts ...string) {
	p.t.Helper()
	path := p.path(parts...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) rights(mode os.FileMode, parts ...string) {
	p.t.Helper()
	p.do(os.Chmod(p.path(parts...), mode))
}

func (p *patient) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// check is the result of one check; fix mends what can be mended.
func (p *patient) check(name string, fix bool) doctor.Result {
	p.t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	p.do(err)
	defer null.Close() //nolint:errcheck // nothing is there
	list, err := doctor.Look(p.t.Context(), &cli.App{Home: p.home, In: null, Out: null, Err: null}, fix, p.now, p.free)
	p.do(err)
	if len(list) != 17 {
		p.t.Fatalf("%d checks", len(list))
	}
	i := slices.IndexFunc(list, func(r doctor.Result) bool { return r.Name == name })
	if i < 0 {
		p.t.Fatalf("there is no check %s", name)
	}
	return list[i]
}

// answers lets somebody answer on the socket as a hob in that state would, until end is called.
func (p *patient) answers(docs map[string]any) (end func()) {
	p.t.Helper()
	all := map[string]any{
		"/v1/status": map[string]any{"version": "test", "model": "ollama/qwen", "zone": "Europe/Berlin"}, "/v1/model": map[string]any{}, "/v1/model/servers": []any{}, "/v1/model/voice": map[string]any{},
		"/v1/jobs": []any{}, "/v1/inbox": []any{}, "/v1/turns": []any{}, "/v1/outbox": []any{},
	}
	for path, doc := range docs {
		all[path] = doc
	}
	p.do(os.MkdirAll(p.path("state", "run"), 0o700))
	l, err := net.Listen("unix", p.path("state", "run", "hob.sock"))
	p.do(err)
	p.do(os.Chmod(p.path("state", "run", "hob.sock"), 0o600))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, ok := all[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
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

// status answers with a status.
func status(fields map[string]any) map[string]any { return map[string]any{"/v1/status": fields} }

// voice answers with the state of the endpoint for voice notes.
func voice(at, fault string) map[string]any {
	return map[string]any{"/v1/model/voice": map[string]any{"base_url": at, "key": true, "error": fault}}
}

// A broken thing: how it breaks, what is said of it, and how it is mended: by --fix, or by what the mend says.
type broken struct {
	name, check string
	answer      map[string]any // somebody answers with this meanwhile
	hurt        func(p *patient)
	state       doctor.State
	found, mend string
	fixed       string           // what --fix says it did; "": it does nothing
	heal        func(p *patient) // nil: --fix, or the end of the answer
	well        doctor.State     // afterwards; "": ok
}

func table() []broken {
	const model = "[model]\nbackend = \"ollama\"\nmodel = \"qwen\"\n"
	now := time.Now().UTC().Format(time.RFC3339Nano)
	return []broken{
		{name: "open state", check: "home", hurt: func(p *patient) { p.rights(0o755, "state") }, state: doctor.Fail, found: "state has the rights 0755", mend: "chmod 700 ", fixed: "the rights 0700"},
		{name: "open token", check: "files", hurt: func(p *patient) { p.rights(0o644, "state", "token") }, state: doctor.Fail, found: "token has the rights 0644", mend: "chmod 600 ", fixed: "the rights 0600"},
		{name: "unknown key", check: "config", hurt: func(p *patient) { p.write("[guard]\nmoed = \"ask\"\n", 0o600, "config.toml") }, state: doctor.Warn, found: `"moed"`, mend: "mend that line", heal: func(p *patient) { p.write("[guard]\nmode = \"ask\"\n", 0o600, "config.toml") }},
		{name: "S6: a folder that others fill", check: "config", hurt: func(p *patient) {
			p.write("[tools]\nroots = [\"~/downloads:ro\", \"/data/Maildir:rw\", \"~/notes:ro\"]\n", 0o600, "config.toml")
		}, state: doctor.Warn, found: "what others put into the root ~/downloads counts as your own words; what others put into the root /data/Maildir", mend: "\"~/downloads:foreign\" in [tools] roots", heal: func(p *patient) {
			p.write("[tools]\nroots = [\"~/downloads:foreign\", \"/data/Maildir:foreign\", \"~/notes:ro\"]\n", 0o600, "config.toml")
		}},
		{name: "section off", check: "config", hurt: func(p *patient) { p.write("[guard]\nmode = 7\n", 0o600, "config.toml") }, state: doctor.Fail, found: "[guard] is off", mend: "mend that line", heal: func(p *patient) { p.do(os.Remove(p.path("config.toml"))) }},
		{name: "no TOML", check: "config", hurt: func(p *patient) { p.write("[guard\n", 0o600, "config.toml") }, state: doctor.Fail, found: "config.toml:1", mend: "last good one", heal: func(p *patient) { p.do(os.Remove(p.path("config.toml"))) }},
		{name: "told by hob", check: "config", answer: status(map[string]any{"config": []string{"channel alerts: no topic"}}), state: doctor.Warn, found: "no topic", mend: "hob status"},
		{name: "no secret", check: "secrets", hurt: func(p *patient) { p.write(model+"api_key = \"file:key\"\n", 0o600, "config.toml") }, state: doctor.Fail, found: "there is no file", mend: "give it a value", heal: func(p *patient) { p.write("k", 0o600, "key") }},
		{name: "open secret", check: "secrets", hurt: func(p *patient) {
			p.write(model+"api_key = \"file:key\"\n", 0o600, "config.toml")
			p.write("k", 0o640, "key")
		}, state: doctor.Fail, found: "key has the rights 0640", mend: "hob doctor --fix", fixed: "the rights 0600"},
		{name: "key in an open config", check: "secrets", hurt: func(p *patient) { p.write(model+"api_key = \"sk-secret\"\n", 0o644, "config.toml") }, state: doctor.Fail, found: "config.toml has the rights 0644", mend: "chmod 600", fixed: "config.toml the rights 0600", well: doctor.Warn},
		{name: "no variable", check: "secrets", hurt: func(p *patient) { p.write(model+"api_key = \"env:HOB_TEST_NOT_SET\"\n", 0o600, "config.toml") }, state: doctor.Fail, found: "HOB_TEST_NOT_SET is not set", mend: "give it a value", heal: func(p *patient) { p.do(os.Setenv("HOB_TEST_NOT_SET", "k")) }},
		{name: "not running", check: "daemon", state: doctor.Warn, found: "hob does not run", mend: "hob up", heal: func(p *patient) { p.t.Cleanup(p.answers(nil)) }},
		{name: "stuck thread", check: "daemon", answer: status(map[string]any{"thread": map[string]any{"state": "stuck"}}), state: doctor.Fail, found: "thread makes no progress", mend: "hob service restart", well: doctor.Warn},
		{name: "stuck scheduler", check: "daemon", answer: status(map[string]any{"scheduler": map[string]any{"state": "stuck"}}), state: doctor.Fail, found: "scheduler makes no progress", mend: "hob service restart", well: doctor.Warn},
		{name: "safe mode", check: "daemon", answer: status(map[string]any{"safe_mode": map[string]any{"on": true, "why": "three crashes"}}), state: doctor.Fail, found: "three crashes", mend: "hob safe-mode off", well: doctor.Warn},
		{name: "no status", check: "daemon", answer: status(nil), hurt: func(*patient) {}, state: doctor.OK, found: "answers in", well: doctor.Warn},
		{name: "little room", check: "disk", hurt: func(p *patient) { p.free = 500 << 20 }, state: doctor.Warn, found: "500.0 MB are free", mend: "free some space", heal: func(p *patient) { p.free = 2 << 30 }},
		{name: "no room", check: "disk", hurt: func(p *patient) { p.free = 1 << 20 }, state: doctor.Fail, found: "1.0 MB are free", mend: "free some space", heal: func(p *patient) { p.free = 2 << 30 }},
		{name: "early clock", check: "clock", hurt: func(p *patient) { p.now = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC) }, state: doctor.Fail, found: "before hob was written", mend: "set the clock", heal: func(p *patient) { p.now = time.Now() }},
		{name: "clock went back", check: "clock", hurt: func(p *patient) { p.now = p.now.Add(-3 * time.Hour) }, state: doctor.Fail, found: "but the database was written at", mend: "set the clock", heal: func(p *patient) { p.now = time.Now() }},
		{name: "no such zone", check: "clock", answer: status(map[string]any{"zone": "Mars/Base"}), state: doctor.Fail, found: `no time zone "Mars/Base"`, mend: "timezone ="},
		// U43: what is set is said, and what cannot be read is not guessed.
		{name: "interpreter chosen", check: "model", answer: status(map[string]any{"model": "builtin"}), hurt: func(p *patient) { p.write("[model]\nbackend = \"ollama\"\nmodel = \"qwen\"\n", 0o600, "config.toml") }, state: doctor.OK, found: "although [model] is set to ollama/qwen", well: doctor.Skip},
		{name: "zone of a broken file", check: "clock", answer: status(map[string]any{"zone": "Europe/Berlin"}), hurt: func(p *patient) { p.write("[owner", 0o600, "config.toml") }, state: doctor.OK, found: "zone Europe/Berlin (the one that hob runs with: config.toml cannot be read)"},
		{name: "key refused", check: "model", answer: map[string]any{"/v1/model/servers": []any{map[string]any{"backend": "openai", "base_url": "http://x", "names": []string{"default"}, "error": "the key is refused", "hint": "look at api_key"}}}, state: doctor.Fail, found: "the key is refused", mend: "look at api_key; then: hob model test default", well: doctor.Skip},
		{name: "model fault", check: "model", answer: map[string]any{"/v1/model": map[string]any{"models": []any{map[string]any{"name": "local", "fault": "no key"}}}}, state: doctor.Fail, found: "local cannot be asked: no key", mend: "hob model list", well: doctor.Skip},
		{name: "others' servers", check: "model", answer: map[string]any{"/v1/model/servers": []any{map[string]any{"names": []string{}, "error": "nobody asked it"}}}, state: doctor.OK, found: "ollama/qwen can be reached", well: doctor.Skip},
		{name: "no voice", check: "voice", answer: map[string]any{}, state: doctor.OK, found: "no [voice] is set", well: doctor.Skip},
		{name: "voice", check: "voice", answer: voice("http://v", ""), state: doctor.OK, found: "http://v is there, and takes the key", well: doctor.Skip},
		{name: "voice without a key", check: "voice", answer: map[string]any{"/v1/model/voice": map[string]any{"base_url": "http://v"}}, state: doctor.OK, found: "http://v is there, and asks for no key", well: doctor.Skip},
		{name: "voice refused", check: "voice", answer: voice("http://v", "the endpoint does not accept the key"), state: doctor.Fail, found: "http://v: the endpoint does not accept the key", mend: "api_key in [voice]", well: doctor.Skip},
		{name: "voice's key lost", check: "voice", answer: voice("", "the key of [voice] cannot be read"), state: doctor.Fail, found: "the key of", mend: "api_key in [voice]", well: doctor.Skip},
		{name: "voice busy", check: "voice", answer: map[string]any{"/v1/model/voice": map[string]any{"base_url": "http://v", "error": "HTTP 503", "passing": true}}, state: doctor.Warn, found: "http://v: HTTP 503", mend: "again in a while", well: doctor.Skip},
		{name: "deaf channel", check: "channels", answer: status(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "down", "last_error": "refused"}}}}), state: doctor.Fail, found: "alerts cannot receive", mend: "[channels.alerts]", well: doctor.Skip},
		{name: "silent channel", check: "channels", answer: status(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "ok"}, "sending": map[string]any{"state": "not tried"}}}}), state: doctor.OK, found: "1 channel can receive; 0 can send, 1 was not tried", well: doctor.Skip},
		{name: "tried channel", check: "channels", answer: status(map[string]any{"channels": []any{map[string]any{"name": "alerts", "receiving": map[string]any{"state": "ok"}, "sending": map[string]any{"state": "ok"}}}}), state: doctor.OK, found: "1 channel can receive and send", well: doctor.Skip},
		{name: "shaky channel", check: "channels", answer: status(map[string]any{"channels": []any{map[string]any{"name": "alerts", "sending": map[string]any{"state": "degraded", "last_error": "timeout"}}}}), state: doctor.Warn, found: "alerts had trouble to send: timeout", well: doctor.Skip},
		{name: "broken job", check: "jobs", answer: map[string]any{"/v1/jobs": []any{map[string]any{"name": "morning", "broken": "no such zone"}}}, state: doctor.Fail, found: "morning is broken: no such zone", mend: "hob cron update morning", well: doctor.Skip},
		{name: "failing job", check: "jobs", answer: map[string]any{"/v1/jobs": []any{map[string]any{"name": "morning", "failures": 2}}}, state: doctor.Warn, found: "morning failed 2 times in a row", mend: "hob cron runs morning", well: doctor.Skip},
		{name: "dead letter", check: "failures", answer: map[string]any{"/v1/inbox": []any{map[string]any{"received": now}, map[string]any{"received": "2026-01-01T00:00:00Z"}}}, state: doctor.Warn, found: "1 × input", mend: "hob inbox retry SEQ", well: doctor.Skip},
		{name: "failed turn", check: "failures", answer: map[string]any{"/v1/turns": []any{map[string]any{"ended": now}}}, state: doctor.Warn, found: "1 × failed turn", mend: "hob turns show ID", well: doctor.Skip},
		{name: "bad backup", check: "backup", hurt: func(p *patient) { p.write("junk", 0o600, "state", "backups", "hob-auto-20991231-034000.db") }, state: doctor.Fail, found: "is not good", mend: "hob backup create", heal: func(p *patient) { p.do(os.Remove(p.path("state", "backups", "hob-auto-20991231-034000.db"))) }},
		{name: "old backup", check: "backup", answer: map[string]any{}, hurt: func(p *patient) { p.now = p.now.Add(73 * time.Hour) }, state: doctor.Fail, found: "3 days old", mend: "hob backup create", heal: func(p *patient) { p.now = time.Now() }},
		{name: "no backup", check: "backup", hurt: func(p *patient) { p.do(os.Rename(p.path("state", "backups"), p.path("aside"))) }, state: doctor.Warn, found: "no backup yet", mend: "hob backup create", heal: func(p *patient) { p.do(os.Rename(p.path("aside"), p.path("state", "backups"))) }},
		{name: "damaged database", check: "database", hurt: func(p *patient) {
			p.write(strings.Repeat("junk", 9000), 0o600, "state", "hob.db")
			p.write("", 0o600, "state", "hob.db-wal") // which would make up for it
		}, state: doctor.Fail, found: "damaged", mend: "hob backup restore ", heal: func(p *patient) {
			list, err := daemon.Backups(p.home)
			p.do(err)
			_, err = daemon.RestoreBackup(p.t.Context(), p.home, list[0].Path)
			p.do(err)
		}},
		{name: "cannot store", check: "daemon", answer: status(map[string]any{"database": map[string]any{"fault": "the disk is full"}}), state: doctor.Fail, found: "hob cannot store: the disk is full", mend: "hob status", well: doctor.Warn},
		{name: "R4: empty database", check: "database", hurt: func(p *patient) {
			p.do(os.Remove(p.path("state", "hob.db")))
			p.write("", 0o600, "state", "hob.db")
		}, state: doctor.Fail, found: "is empty, and this home was used before", mend: "hob backup restore ", heal: func(p *patient) {
			list, err := daemon.Backups(p.home)
			p.do(err)
			_, err = daemon.RestoreBackup(p.t.Context(), p.home, list[0].Path)
			p.do(err)
		}},
		{name: "leftovers", check: "leftovers", hurt: func(p *patient) {
			p.write("127.0.0.1:1\n", 0o600, "state", "address")
			p.write("half", 0o600, "state", "backups", "hob.db.part")
			p.write("half", 0o600, "state", "restoring", "hob.db")
			p.write("half", 0o600, "state", "token.tmp")
		}, state: doctor.Warn, found: "state/address is left", mend: "hob doctor --fix", fixed: "removed "},
	}
}

// Each thing is broken once, seen, and mended.
func TestEachCheck(t *testing.T) {
	seen := map[string]bool{"service": true} // TestService
	p := newPatient(t)
	for _, b := range table() {
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
			if r.State != b.state || !strings.Contains(r.Found, b.found) || !strings.Contains(r.Mend, b.mend) || r.Why == "" || len(r.Fixed) > 0 {
				t.Errorf("broken: %+v", r)
			}
			end()
			fixed := strings.Join(p.check(b.check, true).Fixed, "\n")
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
				t.Errorf("mended: %+v, want %s", r, want)
			}
			if err := os.Remove(p.path("config.toml")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		})
	}
	p.t = t
	for _, name := range []string{"home", "files", "config", "secrets", "daemon", "service", "database", "disk", "clock", "model", "voice", "channels", "jobs", "failures", "backup", "leftovers"} {
		if !seen[name] {
			t.Errorf("nothing breaks the check %s", name)
		}
	}
}

// A hob that holds the home and does not answer is no hob that does not run, and nothing of its is swept.
func TestSilentHob(t *testing.T) {
	p := newPatient(t)
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
	p := newPatient(t)
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
	p := newPatient(t)
	p.do(os.Remove(p.path("state", "hob.db-shm")))
	p.do(os.Chown(p.home, 1, 1))
	p.rights(0o755, "state")
	if r := p.check("home", true); r.State != doctor.Skip || !strings.Contains(r.Found, "another user") || !strings.Contains(r.Mend, "sudo -u '#1' hob --home "+p.home+" doctor") || len(r.Fixed) > 0 {
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
	p := newPatient(t)
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
	p := newPatient(t)
	if r := p.check("sandbox", false); r.State != doctor.Warn || !strings.Contains(r.Found, "bubblewrap is not installed") || !strings.Contains(r.Mend, "apt install bubblewrap") {
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
