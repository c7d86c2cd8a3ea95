package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
)

// parsed is a document that is TOML, and its problems as texts.
func parsed(t *testing.T, doc string, env ...string) (*config.Snapshot, []string) {
	t.Helper()
	s, _, err := config.Parse("config.toml", []byte(doc), env)
	if err != nil {
		t.Fatal(err)
	}
	return s, texts(doc, env...)
}

// A mistake about the sandbox must not mean that commands run without one.
func TestAMistakeInExecSwitchesItOff(t *testing.T) {
	for value, why := range map[string]string{
		`"Require"`: `want one of require, auto, off, found "Require"`, `"bwrap"`: `want one of require, auto, off, found "bwrap"`, `""`: `want one of require, auto, off, found ""`,
		"true": "want a text, found true", "[]": "want a text, found a list",
	} {
		s, got := parsed(t, "[tools]\ndeny = [\"write\"]\n[tools.exec]\nsandbox = "+value+"\nnetwork = true\n")
		if want := []string{"config.toml:4:11: sandbox: " + why + ", so [tools.exec] is off"}; !slices.Equal(got, want) {
			t.Errorf("%s: got\n  %s", value, strings.Join(got, "\n  "))
		}
		if !slices.Equal(s.Tools.Deny, []string{"write", "exec", "tmux"}) || !slices.Equal(s.OffSections(), []string{"tools.exec"}) {
			t.Errorf("%s: denied %q, off %q", value, s.Tools.Deny, s.OffSections())
		}
		if s.Tools.Exec.Network || s.Tools.Exec.Sandbox != "auto" {
			t.Errorf("%s: %+v of a section that is off", value, s.Tools.Exec)
		}
	}
	s, got := parsed(t, "", "HOB_TOOLS__EXEC__SANDBOX=always")
	if !slices.Equal(s.Tools.Deny, []string{"exec", "tmux"}) || len(got) != 1 || !strings.HasPrefix(got[0], "HOB_TOOLS__EXEC__SANDBOX: sandbox: want one of") {
		t.Errorf("from the environment: denied %q, %q", s.Tools.Deny, got)
	}
	s, _ = parsed(t, "[tools]\nexec = \"require\"\n")
	if !slices.Equal(s.Tools.Deny, []string{"exec", "tmux"}) {
		t.Errorf("no section at all: denied %q", s.Tools.Deny)
	}
	s, _ = parsed(t, "[tools]\ndeny = 1\n[tools.exec]\nsandbox = true\n")
	if !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) || !s.Off("tools") || !s.Off("tools.exec") {
		t.Errorf("a bad [tools] as well: denied %q", s.Tools.Deny)
	}
	// A mistake elsewhere in [tools] must not take the sandbox away.
	s, _ = parsed(t, "[tools]\ndeny = 1\n[tools.exec]\nsandbox = \"require\"\n")
	if s.Tools.Exec.Sandbox != "require" {
		t.Errorf("a bad [tools] leaves %+v", s.Tools.Exec)
	}
}

func TestListen(t *testing.T) {
	for _, good := range []string{"", "127.0.0.1:4620", "localhost:0", "[::1]:80", "127.9.9.9:65535", "[::ffff:127.0.0.1]:1"} {
		s, got := parsed(t, "[web]\nlisten = \""+good+"\"\n")
		if len(got) > 0 || s.Web.Listen != good {
			t.Errorf("%q: in force %q, %q", good, s.Web.Listen, got)
		}
	}
	for _, bad := range []string{
		":4620", "0.0.0.0:4620", "192.168.1.2:4620", "[::]:4620", "example.org:80", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:http", "127.0.0.1:-1", "4620", "::1:80", "/run/x",
	} {
		s, got := parsed(t, "[web]\nlisten = \""+bad+"\"\n")
		want := `config.toml:2:10: listen: want host:port of this machine only, found "` + bad + `", so [web] is off: for example "127.0.0.1:4620"`
		if !slices.Equal(got, []string{want}) || s.Web != config.Default().Web || !s.Off("web") {
			t.Errorf("%q: in force %q, %q", bad, s.Web.Listen, got)
		}
	}
	_, problems, err := config.Parse("config.toml", nil, []string{"HOB_WEB__LISTEN=0.0.0.0:1"})
	if err != nil || len(problems) != 1 || problems[0].Key != "web.listen" || problems[0].File != "HOB_WEB__LISTEN" || !problems[0].Fatal {
		t.Errorf("from the environment: %+v, %v", problems, err)
	}
}

func TestCaps(t *testing.T) {
	usual := config.Default().Budget
	for doc, want := range map[string]config.Budget{
		"":                                   usual,
		"per_day = 0\ntokens_per_day = 0":    {},
		"per_day = -1\ntokens_per_day = -1":  {PerDay: -1, TokensPerDay: -1},
		"per_day = -1.0":                     {PerDay: -1, TokensPerDay: usual.TokensPerDay},
		"per_day = 1e9\ntokens_per_day = 1":  {PerDay: 1e9, TokensPerDay: 1},
		"per_day = -1\ntokens_per_day = -2":  usual,
		"per_day = -0.5\ntokens_per_day = 7": usual,
		"per_day = \"none\"":                 usual,
		"per_day = inf":                      usual,
		"per_day = 1000000001":               usual,
		"tokens_per_day = 1.5\nper_day = 0":  usual,
	} {
		s, _, err := config.Parse("config.toml", []byte("[budget]\n"+doc+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Budget != want {
			t.Errorf("%q: %+v, want %+v", doc, s.Budget, want)
		}
	}
}

func TestReservedChannelNames(t *testing.T) {
	for _, name := range []string{"api", "cli", "cron", "none", "owner", "Owner", "CLI"} {
		s, got := parsed(t, "[channels.alerts]\nkind = \"ntfy\"\n\n[channels."+name+"]\nkind = \"ntfy\"\n")
		want := `config.toml:4:11: a channel cannot be named "` + name + `": hob uses that name itself, so [channels.` + name + `] is off: ` +
			`give it another name, and say what it is with kind = "…"`
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got\n  %s", name, strings.Join(got, "\n  "))
		}
		if len(s.Channels) != 1 || s.Channels[0].Name != "alerts" || !s.Off("channels."+name) {
			t.Errorf("%s: channels %+v, off %q", name, s.Channels, s.OffSections())
		}
	}
	if s, got := parsed(t, "[channels.clio]\nkind = \"owner\"\n"); len(got) > 0 || len(s.Channels) != 1 {
		t.Errorf("a name that only begins so, and a kind: %q", got)
	}
}

func TestOtherModels(t *testing.T) {
	s, got := parsed(t, "[model]\nfallback = [\"local\"]\n[models.local]\nmodel = \"m\"\nfallback = [\"other\"]\nfirst_byte_timeout = \"5m\"\nprice = { input = 3, cached = 0.3, output = 15.0 }\n[models.other]\n")
	if len(got) > 0 || len(s.Models) != 2 || !slices.Equal(s.Model.Fallback, []string{"local"}) {
		t.Errorf("%q: got %+v, %+v", got, s.Model, s.Models)
	}
	local := s.Models["local"]
	if local.Price != (config.Price{Input: 3, Cached: 0.3, Output: 15}) || local.FirstByteTimeout != 5*time.Minute || !slices.Equal(local.Fallback, []string{"other"}) {
		t.Errorf("got %+v", local)
	}
}

// Each mistake in the section has its own line, and any of them switches the heartbeat off: one at hours that are none would never be awake.
func TestHeartbeat(t *testing.T) {
	for active, ok := range map[string]bool{"": true, "08:00-22:00": true, "22:00-06:00": true, "8:00 - 24:00": true, "25:00-99:00": false, "08:00": false, "morning": false, "08:00-": false} {
		s, got := parsed(t, "[heartbeat]\nactive = \""+active+"\"\n")
		var want []string
		if !ok {
			want = []string{`config.toml:2:10: active: want hours of the day like 08:00-22:00, found "` + active + `", so [heartbeat] is off`}
		}
		if !slices.Equal(got, want) || s.Heartbeat.Enabled != ok {
			t.Errorf("%q: %q, enabled %v", active, got, s.Heartbeat.Enabled)
		}
	}
	_, got := parsed(t, "[heartbeat]\nevery = \"1ms\"\nactive = \"25:00-99:00\"\ndeliver = \"nowhere\"\n")
	if want := []string{
		`config.toml:2:9: every: want "1s" to "8760h", found "1ms", so [heartbeat] is off`,
		`config.toml:3:10: active: want hours of the day like 08:00-22:00, found "25:00-99:00", so [heartbeat] is off`,
		`config.toml:4:11: deliver: want channel:address, owner or none, found "nowhere", so [heartbeat] is off`,
	}; !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
