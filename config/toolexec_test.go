package config_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
)

func TestExec(t *testing.T) {
	s, got := parsed(t, "[tools.exec]\nsandbox = \"require\"\nnetwork = true\nsockets = true\nbinds = [\"~/.gitconfig:ro\", \"here:rw\", \"/srv/x:rw\", \"/srv/y\"]\nnet = true\n")
	want := config.Exec{Sandbox: "require", Network: true, Binds: []string{"~/.gitconfig:ro", "/srv/x:rw"}}
	if e := s.Tools.Exec; e.Sandbox != want.Sandbox || e.Network != want.Network || !e.Sockets || !slices.Equal(e.Binds, want.Binds) {
		t.Errorf("got %+v, want %+v", e, want)
	}
	if len(s.OffSections()) > 0 || len(s.Tools.Deny) > 0 {
		t.Errorf("off %q, denied %q", s.OffSections(), s.Tools.Deny)
	}
	const rule = ": binds: want an absolute path, or one that begins with ~/, followed by :ro or :rw, found "
	if !slices.Equal(got, []string{"config.toml:5:29" + rule + `"here:rw"`, "config.toml:5:53" + rule + `"/srv/y"`, `config.toml:6:1: unknown key "net": known here: binds, hosts, life, memory, network, path, processes, sandbox, sockets, timeout, yield`}) {
		t.Errorf("got\n  %s", strings.Join(got, "\n  "))
	}
	if s, _ := parsed(t, ""); s.Tools.Exec.Sandbox != "auto" || s.Tools.Exec.Network || len(s.Tools.Exec.Binds) > 0 {
		t.Errorf("left out: %+v", s.Tools.Exec)
	}
}

func TestTimesAndNumbersOfExec(t *testing.T) {
	s, got := parsed(t, "")
	e := s.Tools.Exec
	if len(got) > 0 || e.Timeout != 30*time.Minute || e.Yield != 2*time.Minute || e.Life != time.Hour || e.Processes != 10 || len(e.Hosts) > 0 {
		t.Errorf("left out: %+v, %q", e, got)
	}
	s, got = parsed(t, "[tools.exec]\ntimeout = \"45m\"\nyield = \"1s\"\nlife = \"720h\"\nprocesses = 100\nmemory = \"1.5GB\"\n")
	e = s.Tools.Exec
	if len(got) > 0 || e.Memory != 3<<29 || e.Timeout != 45*time.Minute || e.Yield != time.Second || e.Life != 720*time.Hour || e.Processes != 100 || len(s.Tools.Deny) > 0 {
		t.Errorf("%+v, %q, denied %q", e, got, s.Tools.Deny)
	}
	for _, c := range []struct{ doc, want string }{
		{`timeout = "9s"`, `timeout: want "10s" to "24h", found "9s"`},
		{`timeout = "25h"`, `timeout: want "10s" to "24h", found "25h"`},
		{`timeout = 1800`, `timeout: want a time with its unit, like "30m" or "2h", found 1800`},
		{`yield = "0s"`, `yield: want "1s" to "24h", found "0s"`},
		{`life = "-1s"`, `life: want "10s" to "720h", found "-1s"`},
		{`processes = 0`, `processes: want 1 to 100, found 0`},
		{`memory = "1MB"`, `memory: want at least 64MB, found "1MB"`},
		{`memory = "much"`, `memory: want a number with its unit, like "512MB" or "4GB", found "much"`},
		{`memory = 512`, `memory: want a text, found 512`},
		{`memory = "-1GB"`, `found "-1GB"`},
		{`path = "bin:/usr/bin"`, `path: want absolute folders, or folders that begin with ~/, found "bin"`},
		{`path = "~/bin:"`, `found ""`},
		{`processes = 101`, `processes: want 1 to 100, found 101`},
	} {
		refusedExec(t, c.doc, c.want)
	}
}

// refusedExec wants a line of [tools.exec] to switch the section off: no host and no limit of it is left.
func refusedExec(t *testing.T, doc, want string) {
	t.Helper()
	s, got := parsed(t, "[tools.exec]\n"+doc+"\n")
	e := s.Tools.Exec
	if text := strings.Join(got, "\n"); !strings.Contains(text, want+", so [tools.exec] is off") {
		t.Errorf("%s: %s", doc, text)
	}
	if !slices.Equal(s.Tools.Deny, []string{"exec", "tmux"}) || len(e.Hosts) > 0 || e.Timeout != 30*time.Minute || e.Processes != 10 {
		t.Errorf("%s: denied %q, %+v", doc, s.Tools.Deny, e)
	}
}

func TestHosts(t *testing.T) {
	s, got := parsed(t, `[tools.exec.hosts.nas]
address = "sam@nas"
commands = ["docker compose", "zpool"]
[tools.exec.hosts."pi.local"]
address = "ssh://pi@pi.local:2222"
`)
	want := map[string]config.ExecHost{
		"nas":      {Address: "sam@nas", Commands: []string{"docker compose", "zpool"}},
		"pi.local": {Address: "ssh://pi@pi.local:2222"},
	}
	same := func(a, b config.ExecHost) bool { return a.Address == b.Address && slices.Equal(a.Commands, b.Commands) }
	if len(got) > 0 || !maps.EqualFunc(s.Tools.Exec.Hosts, want, same) || len(s.Tools.Deny) > 0 {
		t.Errorf("%+v, %q, denied %q", s.Tools.Exec.Hosts, got, s.Tools.Deny)
	}
	s, got = parsed(t, "", "HOB_TOOLS__EXEC__HOSTS__NAS__ADDRESS=sam@nas", "HOB_TOOLS__EXEC__HOSTS__NAS__COMMANDS=docker compose, zpool")
	if len(got) > 0 || !same(s.Tools.Exec.Hosts["nas"], want["nas"]) {
		t.Errorf("from the environment: %+v, %q", s.Tools.Exec.Hosts, got)
	}
}

// A command that was meant for another machine must not run here because of a mistake.
func TestMistakesInHosts(t *testing.T) {
	const example = `: for example { address = "sam@nas", commands = ["docker compose"] }`
	for _, c := range []struct{ doc, want string }{
		{`hosts = "nas"`, `hosts: want a section, found "nas"`},
		{`hosts.nas = "sam@nas"`, `nas: want a section, found "sam@nas"`},
		{`hosts.nas.address = 1`, `address: want a text, found 1`},
		{`hosts.nas.address = "x"` + "\n" + `hosts.nas.commands = "docker"`, `commands: want a list, found "docker"`},
	} {
		refusedExec(t, c.doc, c.want)
	}
	for _, c := range []struct{ doc, want string }{
		{`hosts.nas = {}`, `hosts.nas: address: want what ssh takes, like "sam@nas", found ""`},
		{`hosts.nas.address = "-oProxyCommand=id"`, `hosts.nas: address: want what ssh takes, like "sam@nas", found "-oProxyCommand=id"`},
		{`hosts.nas.address = "sam@nas reboot"`, `hosts.nas: address: want what ssh takes, like "sam@nas", found "sam@nas reboot"`},
		{`hosts."a b".address = "nas"`, `hosts.a b: a name of a host has letters, digits, dots, - and _ only`},
		{`hosts.nas = { address = "nas", commands = ["docker", " "] }`, `hosts.nas: commands: one of them is empty`},
		{"hosts.a = { address = \"a\", commands = [\"docker  ps\"] }\nhosts.b = { address = \"b\", commands = [\"docker ps\"] }", `hosts.b: commands: "docker ps" belongs to hosts.a already`},
	} {
		s, got := parsed(t, "[tools.exec]\n"+c.doc+"\n")
		if len(got) != 1 || !strings.HasSuffix(got[0], c.want+", so [tools.exec] is off"+example) {
			t.Errorf("%s: %q", c.doc, got)
		}
		if !slices.Equal(s.Tools.Deny, []string{"exec", "tmux"}) || len(s.Tools.Exec.Hosts) > 0 {
			t.Errorf("%s: denied %q, %+v", c.doc, s.Tools.Deny, s.Tools.Exec.Hosts)
		}
	}
}
