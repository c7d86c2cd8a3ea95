//go:build linux

package doctor_test

import (
	"errors"
	"flag"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"hob/cmd/hob/doctor"
	"hob/daemon/sys/systest"
)

var update = flag.Bool("update", false, "write docs/doctor.md")

// rows answers a list.
func rows(path string, list ...map[string]any) map[string]any { return map[string]any{path: list} }

// brokenMachine breaks what is around hob, and what hob says of its work.
func brokenMachine() []brokenCase {
	old := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	roster := func(row map[string]any) map[string]any {
		return map[string]any{"/v1/model": map[string]any{"models": []any{row}}}
	}
	const skip = doctor.Skip
	return []brokenCase{
		{name: "file of root", check: "owner", hurt: func(p *testHome) { p.world.Others = map[string]bool{p.path("state", "hob.db"): true} }, state: doctor.Fail, found: "1 file of the home belong to another user, for example", repair: "sudo chown -R $(id -un) ", heal: func(p *testHome) { p.world.Others = nil }},
		{name: "hob as root", check: "root", hurt: func(p *testHome) { p.world.UID = 0 }, state: doctor.Warn, found: "hob works as root", repair: "hob service install --system", heal: func(p *testHome) { p.world.UID = 1000 }},
		{name: "no workspace", check: "folders", hurt: func(p *testHome) { p.do(os.RemoveAll(p.path("workspace"))) }, state: doctor.Warn, found: "workspace is missing", repair: "mkdir -m 700 ", fixed: "made "},
		{name: "a file as workspace", check: "folders", hurt: func(p *testHome) {
			p.do(os.RemoveAll(p.path("workspace")))
			p.write("", 0o600, "workspace")
		}, state: doctor.Fail, found: "is a file and not a folder", repair: "move it away", heal: func(p *testHome) {
			p.do(errors.Join(os.Remove(p.path("workspace")), os.Mkdir(p.path("workspace"), 0o700)))
		}},
		{name: "folder that cannot be written", check: "folders", hurt: func(p *testHome) { p.heal = systest.ReadOnly(p.t, p.path("state", "backups")) }, state: doctor.Fail, found: "cannot be written: ", repair: "or choose another with --home", heal: func(p *testHome) { p.heal() }},
		{name: "read-only home", check: "database", hurt: func(p *testHome) { p.heal = systest.ReadOnly(p.t, p.path("state")) }, state: skip, found: "it cannot be checked: the home ", heal: func(p *testHome) { p.heal() }},
		{name: "root that is gone", check: "roots", hurt: func(p *testHome) { p.write("[tools]\nroots = [\"/no/such/folder:ro\"]\n", 0o600, "config.toml") }, state: doctor.Warn, found: "the root /no/such/folder cannot be used", repair: "[tools] roots", heal: func(p *testHome) { p.do(os.Remove(p.path("config.toml"))) }},
		{name: "another version runs", check: "version", answer: statusAnswer(map[string]any{"version": "v0.1"}), state: doctor.Warn, found: "hob v0.1 runs, and this program is hob test", repair: "hob service restart", well: skip},
		{name: "built in the future", check: "clock", hurt: func(p *testHome) { p.world.Build.At = time.Now().Add(48 * time.Hour) }, state: doctor.Fail, found: "but this hob was built from a commit of", repair: "set the clock", heal: func(p *testHome) { p.world.Build.At = time.Time{} }},
		{name: "two services", check: "services", hurt: func(p *testHome) {
			p.write("[Service]\n", 0o600, "..", "root", "etc", "systemd", "system", "hob.service")
			p.write("[Service]\n", 0o600, "..", ".config", "systemd", "user", "hob.service")
		}, state: doctor.Warn, found: "a service of yours and also a service of the whole machine", repair: "hob service uninstall", heal: func(p *testHome) {
			p.do(errors.Join(os.RemoveAll(p.world.Root), os.RemoveAll(p.path("..", ".config"))))
		}},
		{name: "port taken", check: "port", hurt: func(p *testHome) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			p.do(err)
			p.close = l.Close
			p.write("[web]\nlisten = \""+l.Addr().String()+"\"\n", 0o600, "config.toml")
		}, state: doctor.Fail, found: "another program has 127.0.0.1:", repair: "[web] listen", heal: func(p *testHome) { p.do(p.close()) }},
		{name: "long write-ahead log", check: "wal", hurt: func(p *testHome) {
			p.do(os.Rename(p.path("state", "hob.db"), p.path("state", "aside")))
			p.write("", 0o600, "state", "hob.db-wal")
			p.do(os.Truncate(p.path("state", "hob.db-wal"), 300<<20))
		}, state: doctor.Warn, found: "300.0 MB of changes are not merged into the database", repair: "hob service restart", heal: func(p *testHome) {
			p.do(errors.Join(os.Remove(p.path("state", "hob.db-wal")), os.Rename(p.path("state", "aside"), p.path("state", "hob.db"))))
		}},
		{name: "long log", check: "logs", hurt: func(p *testHome) {
			p.write("", 0o600, "state", "log", "service.log")
			p.do(os.Truncate(p.path("state", "log", "service.log"), 300<<20))
		}, state: doctor.Warn, found: "the logs take 300.0 MB", repair: "truncate -s 0 ", heal: func(p *testHome) { p.do(os.Remove(p.path("state", "log", "service.log"))) }},
		{name: "locale without UTF-8", check: "terminal", hurt: func(p *testHome) { p.world.Env["LANG"] = "de_DE" }, state: doctor.Warn, found: "the locale de_DE has no UTF-8", repair: "export LANG=C.UTF-8", heal: func(p *testHome) { p.world.Env["LC_ALL"] = "en_US.UTF-8" }},
		{name: "name not found", check: "dns", hurt: func(p *testHome) {
			p.write("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = \"https://models.example.org/v1\"\n", 0o600, "config.toml")
			p.world.Hosts = map[string]error{"models.example.org": errors.New("no such host")}
		}, state: doctor.Fail, found: "the name models.example.org is not found", repair: "base_url", heal: func(p *testHome) { p.world.Hosts = nil }},
		{name: "name of a default", check: "dns", answer: roster(map[string]any{"name": "default", "order": 1, "base_url": "https://api.example.org/v1"}), hurt: func(p *testHome) {
			p.world.Hosts = map[string]error{"api.example.org": errors.New("no such host")}
		}, state: doctor.Fail, found: "api.example.org", repair: "base_url"},
		{name: "price not known", check: "price", answer: roster(map[string]any{"name": "default", "order": 1, "backend": "openai", "model": "x"}), state: doctor.Warn, found: "the price of default (x) is not known", repair: "price = {", well: skip},
		{name: "price known, or free", check: "price", answer: roster(map[string]any{"name": "default", "order": 1, "bills": true}), state: doctor.OK, found: "0 models", well: skip},
		{name: "budget used up", check: "budget", answer: statusAnswer(map[string]any{"budget": map[string]any{"per_day_micros": 5, "used_micros": 5}}), state: doctor.Warn, found: "today's budget is used up", repair: "hob budget set", well: skip},
		{name: "tokens used up", check: "budget", answer: statusAnswer(map[string]any{"budget": map[string]any{"tokens_per_day": 5, "tokens_used": 6}}), state: doctor.Warn, found: "today's tokens", repair: "hob budget set", well: skip},
		{name: "nobody paired", check: "pairing", answer: rows("/v1/channels", map[string]any{"name": "phone", "pairs": true}, map[string]any{"name": "cli"}), state: doctor.Warn, found: "nobody is paired on phone", repair: "hob pairing start phone", well: skip},
		{name: "pairing lapsed", check: "pairing", answer: rows("/v1/channels", map[string]any{"name": "phone", "pairs": true, "lapsed": []string{"7"}}), state: doctor.Warn, found: "another account on phone", repair: "hob pairing start phone", well: skip},
		{name: "gate without its program", check: "gates", answer: rows("/v1/jobs", map[string]any{"name": "sums", "gate": "exit:nosuchprogram -x"}, map[string]any{"name": "shell", "gate": "test -e x"}), state: doctor.Warn, found: "sums: the program nosuchprogram of its gate is not in the PATH of this terminal", repair: "hob cron update sums", well: skip},
		{name: "folder gone", check: "watches", answer: rows("/v1/watches", map[string]any{"name": "papers", "paths": []string{"/no/such/folder", "/no/*.pdf"}}), state: doctor.Warn, found: "papers watches /no/such/folder, which is not there", repair: "hob watch rm papers", well: skip},
		{name: "glob without a match", check: "watches", answer: rows("/v1/watches", map[string]any{"name": "papers", "paths": []string{"/no/*.pdf"}}), state: doctor.OK, found: "watches that work: 1", well: skip},
		{name: "broken watch", check: "watches", answer: rows("/v1/watches", map[string]any{"name": "papers", "broken": "no right"}), state: doctor.Fail, found: "papers is broken: no right", repair: "hob watch show papers", well: skip},
		{name: "few watches", check: "inotify", answer: rows("/v1/watches", map[string]any{"name": "papers"}), hurt: func(p *testHome) { p.write("8192\n", 0o600, "..", "proc", "sys", "fs", "inotify", "max_user_watches") }, state: doctor.Warn, found: "can watch 8192 folders", repair: "fs.inotify.max_user_watches=", well: skip},
		{name: "open question", check: "questions", answer: statusAnswer(map[string]any{"questions": 2}), state: doctor.Warn, found: "wait for your answer: 2", repair: "hob approvals list", well: skip},
		{name: "held input", check: "held", answer: rows("/v1/inbox", map[string]any{"seq": 4, "state": "held"}), state: doctor.Warn, found: "held inputs: 1", repair: "hob inbox list --state held", well: skip},
		{name: "held message", check: "held", answer: statusAnswer(map[string]any{"outbox": map[string]any{"held": 3}}), state: doctor.Warn, found: "held messages: 3", repair: "hob outbox list --state held", well: skip},
		{name: "stuck message", check: "outbox", answer: rows("/v1/outbox", map[string]any{"created": old}, map[string]any{"created": old, "not_before": "2099-01-01T00:00:00Z"}), state: doctor.Warn, found: "for more than an hour: 1", repair: "hob channels list", well: skip},
		{name: "server to accept", check: "mcp", answer: rows("/v1/mcp", map[string]any{"name": "notes", "state": "changed"}), state: doctor.Warn, found: "notes waits until you accept", repair: "hob mcp accept notes", well: skip},
		{name: "server down", check: "mcp", answer: rows("/v1/mcp", map[string]any{"name": "notes", "state": "off", "problem": "it failed: exit 1"}), state: doctor.Fail, found: "notes: it failed", repair: "hob mcp test notes", well: skip},
		{name: "account refused", check: "accounts", answer: rows("/v1/accounts", map[string]any{"name": "home", "problem": "the password is refused"}), state: doctor.Fail, found: "home: the password is refused", repair: "hob account test home", well: skip},
		{name: "skill changed", check: "skills", answer: rows("/v1/skills", map[string]any{"name": "tidy", "state": "changed"}), state: doctor.Warn, found: "the copy that you accepted stays in use", repair: "hob skills trust tidy", well: skip},
		{name: "skill new", check: "skills", answer: rows("/v1/skills", map[string]any{"name": "tidy", "state": "new"}), state: doctor.Warn, found: "tidy is not accepted", repair: "hob skills trust tidy", well: skip},
		{name: "skill broken", check: "skills", answer: rows("/v1/skills", map[string]any{"name": "tidy", "state": "broken", "problem": "no description"}), state: doctor.Warn, found: "tidy: no description", repair: "hob skills check tidy", well: skip},
	}
}

// The program in the unit is compared with this one.
func TestProgram(t *testing.T) {
	p := newTestHome(t)
	if r := p.check("program", false); r.State != doctor.Skip {
		t.Errorf("without a service: %+v", r)
	}
	unit := p.path("..", "unit")
	p.write("#!/bin/sh\ncase \"$*\" in *Version) echo Version=252; exit;; esac\necho LoadState=loaded\necho ActiveState=active\necho SubState=x\necho UnitFileState=enabled\necho NRestarts=0\necho MainPID=77\necho FragmentPath="+unit+"\n", 0o755, "..", "bin", "systemctl")
	p.write("#!/bin/sh\necho yes\n", 0o755, "..", "bin", "loginctl")
	self, err := os.Executable()
	p.do(err)
	for _, c := range []struct {
		text  string
		want  doctor.State
		found string
	}{
		{"ExecStart=/no/hob up\n", doctor.Fail, "starts /no/hob, which cannot be used"},
		{"ExecStart=\"/bin/sh\" up\n", doctor.Warn, "starts /bin/sh, and this program is"},
		{"ExecStart=" + self + " up --no-chat\n", doctor.OK, "the service starts " + self},
		{"<key>ProgramArguments</key><array><string>" + self + "</string>", doctor.OK, self},
		{"[Service]\n", doctor.Skip, "does not say which program"},
	} {
		p.write(c.text, 0o600, "..", "unit")
		if r := p.check("program", false); r.State != c.want || !strings.Contains(r.Found, c.found) {
			t.Errorf("%q: %+v", c.text, r)
		}
	}

	// The gates of jobs run with the PATH of the service's process.
	p.write("A=1\x00PATH="+p.path("..", "service")+"\x00", 0o600, "..", "proc", "77", "environ")
	p.write("", 0o755, "..", "bin", "mytool")
	defer p.answers(rows("/v1/jobs", map[string]any{"name": "sums", "gate": "mytool"}))()
	if r := p.check("gates", false); r.State != doctor.Warn || !strings.Contains(r.Found, "not in the PATH of the service") {
		t.Errorf("only in the terminal's PATH: %+v", r)
	}
	p.write("", 0o755, "..", "service", "mytool")
	if r := p.check("gates", false); r.State != doctor.OK || r.Found != "1 gate with a command that is there" {
		t.Errorf("in the service's PATH: %+v", r)
	}
}

// An index that cannot be read is made again, by the daemon.
func TestReindex(t *testing.T) {
	p := newTestHome(t)
	asked := 0
	p.meet = func(r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/memory/reindex" {
			asked++
		}
	}
	all := memoryAnswer(map[string]any{"error": "the index is damaged"})
	all["/v1/memory/reindex"] = map[string]any{}
	defer p.answers(all)()
	if r := p.check("memory", true); asked != 1 || len(r.Fixed) != 1 || !strings.Contains(r.Fixed[0], "index of the memory") {
		t.Errorf("asked %d times: %+v", asked, r)
	}
}

// TestPage is docs/doctor.md, and keeps the number of checks.
//
//go:generate go test . -run ^TestPage$ -update
func TestPage(t *testing.T) {
	if n := len(doctor.Names()); n < 30 {
		t.Errorf("%d checks", n)
	}
	const page = "../../../docs/doctor.md"
	if *update {
		if err := os.WriteFile(page, []byte(doctor.Page()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != doctor.Page() {
		t.Errorf("docs/doctor.md is old (%v): go generate ./cmd/...", err)
	}
}
