package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
)

// texts are the problems of a document, an error's among them.
func texts(doc string, env ...string) []string {
	_, problems, err := config.Parse("config.toml", []byte(doc), env)
	var list config.Errors
	if errors.As(err, &list) {
		problems = append(problems, list...)
	}
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}

const every = `
[model]
backend = "openrouter"
model = "provider/name"
api_key = "env:OPENROUTER_API_KEY"
base_url = "https://host/v1"
max_output_tokens = 8192
context_tokens = 200000
thinking = "medium"
fallback = ["local"]

[models.local]
backend = "lmstudio"
model = "qwen"

[owner]
name = "Sam"
timezone = "Europe/Berlin"
addresses = ["telegram:123456"]

[channels.telegram]
token = "env:TELEGRAM_TOKEN"
groups = []
[channels.alerts]
kind = "ntfy"
topic = "hob"

[jobs.morning]
cron = "0 9 * * 1-5"
prompt = "Brief me."
[jobs.an-hour]
every = "1h"
prompt = "Look."

[tools]
roots = ["~/Downloads:ro", "/srv/a:b:rw"]
allow = ["read"]
deny = ["write"]
[guard]
mode = "open"
[budget]
per_day = 2
tokens_per_day = 10
[web]
listen = "localhost:0"
[daemon]
max_attempts = 5
safe_mode_after = 4
[turn]
max_steps = 7
max_running = "1h30m"
`

func TestEverySectionIsRead(t *testing.T) {
	got, problems, err := config.Parse("config.toml", []byte(every), nil)
	if err != nil || !config.Valid(problems) || len(got.OffSections()) > 0 {
		t.Fatal(problems, err)
	}
	want := config.Default()
	want.Model = config.Model{
		Backend: "openrouter", Model: "provider/name", APIKey: "env:OPENROUTER_API_KEY", BaseURL: "https://host/v1",
		MaxOutputTokens: 8192, ContextTokens: 200000, Thinking: "medium", Fallback: []string{"local"},
	}
	want.Models = map[string]config.Model{"local": {Backend: "lmstudio", Model: "qwen"}}
	want.Owner = config.Owner{Name: "Sam", Timezone: "Europe/Berlin", Addresses: []string{"telegram:123456"}}
	want.Guard.Mode = "open"
	want.Budget = config.Budget{PerDay: 2, TokensPerDay: 10}
	want.Web.Listen = "localhost:0"
	want.Daemon = config.Daemon{MaxAttempts: 5, SafeModeAfter: 4}
	want.Turn = config.Turn{MaxSteps: 7, MaxRunning: 90 * time.Minute}
	want.Tools = config.Tools{Roots: []string{"~/Downloads:ro", "/srv/a:b:rw"}, Allow: []string{"read"}, Deny: []string{"write"}, Exec: config.Default().Tools.Exec, Web: config.Default().Tools.Web}
	want.Channels, want.Jobs = got.Channels, got.Jobs
	want.Secrets = []config.NamedSecret{{Name: "model.api_key", Value: "env:OPENROUTER_API_KEY"}, {Name: "channels.telegram", Value: "env:TELEGRAM_TOKEN"}}
	if !reflect.DeepEqual(got.WithoutDocument(), want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(got.Channels) != 2 || got.Channels[0].Kind != "telegram" || got.Channels[1].Kind != "ntfy" || got.Channels[1].Name != "alerts" {
		t.Errorf("channels: %+v", got.Channels)
	}
	if len(got.Jobs) != 2 || got.Jobs[0].Name != "morning" || got.Jobs[1].Path() != "jobs.an-hour" {
		t.Errorf("jobs: %+v", got.Jobs)
	}
}

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	for _, doc := range []string{"", "# nothing\n", "\xef\xbb\xbf", "[model]\n[tools]\n[tools.exec]\n[channels]\n[jobs]\n"} {
		got, problems, err := config.Parse("config.toml", []byte(doc), nil)
		if err != nil || len(problems) > 0 || got.Turn != config.Default().Turn || got.Guard.Mode != "ask" || got.Budget.PerDay != 5 || got.Web.Listen != "" {
			t.Errorf("%q: %+v, %v, %v", doc, got, problems, err)
		}
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		doc  string
		want []string
	}{
		{"[modle]\n", []string{`config.toml:1:2: unknown section "modle": did you mean "model"?`}},
		{"\n\n  modle = 1\n", []string{`config.toml:3:3: unknown key "modle": did you mean "model"?`}},
		{"[pulse]\nevery = \"1h\"\n", []string{`config.toml:1:2: unknown section "pulse"`}},
		{"[model]\napi_kye = \"x\"\n", []string{`config.toml:2:1: unknown key "api_kye": did you mean "api_key"?`}},
		{"[turn]\nmax-steps = 3\n", []string{`config.toml:2:1: unknown key "max-steps": did you mean "max_steps"?`}},
		{"[turn]\n\"ü\" = 1\nmax_steps = \"ü\" # ü\n", []string{
			`config.toml:2:1: unknown key "ü": known here: max_running, max_steps`,
			`config.toml:3:13: max_steps: want a whole number, found "ü", so [turn] is off`,
		}},
		{"turn = {max_steps = 1.5, max_running = 15}\n", []string{
			`config.toml:1:21: max_steps: want a whole number, found 1.5, so [turn] is off`,
			`config.toml:1:40: max_running: want a time with its unit, like "30m" or "2h", found 15, so [turn] is off`,
		}},
		{"turn = {\"ü\" = 1, max_steps = \"x\"}\n", []string{
			`config.toml:1:9: unknown key "ü": known here: max_running, max_steps`,
			`config.toml:1:30: max_steps: want a whole number, found "x", so [turn] is off`,
		}},
		{"[turn]\nmax_running = \"15\"\n", []string{`config.toml:2:15: max_running: "15" is no time with its unit; want something like "30m" or "1h30m", so [turn] is off`}},
		{"[turn]\nmax_running = \"10ms\"\nmax_steps = 0\n", []string{
			`config.toml:2:15: max_running: want "1s" or more, found "10ms", so [turn] is off`,
			`config.toml:3:13: max_steps: want 1 or more, found 0, so [turn] is off`,
		}},
		{"model = \"gpt\"\n", []string{`config.toml:1:9: model: want a section, found "gpt", so [model] is off`}},
		{"[[guard]]\nmode = \"ask\"\n", []string{`config.toml:1:3: guard: want a section, found a list, so [guard] is off`}},
		{"[guard]\nmode = \"Open\"\n", []string{`config.toml:2:8: mode: want one of ask, open, found "Open", so [guard] is off`}},
		{"[guard]\nmode = [\n  \"ask\",\n]\n", []string{`config.toml:2:8: mode: want a text, found a list, so [guard] is off`}},
		{"[guard]\nmode = 2026-11-21\n", []string{`config.toml:2:8: mode: want a text, found a date or time, so [guard] is off`}},
		{"[budget]\nper_day = -0.5\ntokens_per_day = -2\n", []string{
			`config.toml:2:11: per_day: want 0 to 1000000000, or -1 for no cap, found -0.5, so [budget] is off`,
			`config.toml:3:18: tokens_per_day: want 0 or more, or -1 for no cap, found -2, so [budget] is off`,
		}},
		{"[budget]\nper_day = 1e300\n", []string{`config.toml:2:11: per_day: want 0 to 1000000000, or -1 for no cap, found 1e+300, so [budget] is off`}},
		{"[budget]\nper_day = nan\n", []string{`config.toml:2:11: per_day: want a number, found NaN, so [budget] is off`}},
		{"daemon.max_attempts = 0\n", []string{`config.toml:1:23: max_attempts: want 1 or more, found 0, so [daemon] is off`}},
		{"[owner]\nquiet = \"22:00-7:00\"\n", []string{`config.toml:2:9: quiet: want two times of the day, like "22:00-07:00", found "22:00-7:00"`}},
		{"[owner]\nquiet = \"22:00-22:00\"\n", []string{`config.toml:2:9: quiet: want two times of the day, like "22:00-07:00", found "22:00-22:00"`}},
		{"[owner]\nquiet = \"22:00-07:00\"\n[outbox]\nhold = \"0s\"\nannounce = true\n", nil},
		{"[outbox]\nhold = \"2h\"\n", []string{`config.toml:2:8: hold: want "0s" to "1h", found "2h", so [outbox] is off`}},
		{"[owner]\ntimezone = \"local\"\n", []string{`config.toml:2:12: timezone: want a zone by its name, like "Europe/Berlin", found "local"`}},
		{"[owner]\ntimezone = \"Europe/Berln\"\n", []string{`config.toml:2:12: timezone: there is no time zone "Europe/Berln"; want a name like "Europe/Berlin" or "UTC"`}},
		{"[owner]\naddresses = [\"cli:main\",\n  \"123\"]\n", []string{`config.toml:3:3: addresses: want channel:address, like "telegram:123456", found "123"`}},
		{"[owner]\naddresses = [1]\n", []string{`config.toml:2:14: addresses[0]: want a text, found 1, so [owner] is off`}},
		{"[model]\napi_key = 123456\n", []string{`config.toml:2:11: api_key: want a text, so [model] is off`}},
		{"[model]\nthinking = \"lots\"\nbase_url = \"host/v1\"\n", []string{
			`config.toml:2:12: thinking: want one of off, minimal, low, medium, high, xhigh, found "lots", so [model] is off`,
			`config.toml:3:12: base_url: want an address like https://host/v1, found "host/v1", so [model] is off`,
		}},
		{"[model]\ncontext_tokens = 10\nmax_output_tokens = 10\n", []string{`config.toml:3:21: max_output_tokens: want less than context_tokens (10), found 10, so [model] is off`}},
		{"[model]\nfallback = [\"locl\"]\n[models.local]\nbackend = \"x\"\n", []string{
			`config.toml:2:13: fallback: there is no [models.locl]: did you mean "local"?`,
		}},
		{"[model]\nidle_timeout = \"10ms\"\n", []string{`config.toml:2:16: idle_timeout: want "1s" to "1h", found "10ms", so [model] is off`}},
		{"[model]\nfirst_byte_timeout = 5\n", []string{`config.toml:2:22: first_byte_timeout: want a time with its unit, like "30m" or "2h", found 5, so [model] is off`}},
		{"[models.x.price]\ninput = -1.0\n", []string{`config.toml:2:9: price.input: want 0 to 100000, found -1, so [models.x] is off`}},
		{"[model]\nprice = 3\n", []string{`config.toml:2:9: price: want a section, found 3, so [model] is off`}},
		{"[model]\nprice = { inptu = 3.0 }\n", []string{`config.toml:2:11: unknown key "inptu": did you mean "input"?`}},
		{"[model]\nfallback = [\"local\"]\n", []string{`config.toml:2:13: fallback: there is no [models.local]: add that section`}},
		{"[model]\nfallback = [\"local\"]\n[models.local]\nmodel = 1\n", []string{
			`config.toml:2:13: fallback: [models.local] is off: correct that section`,
			`config.toml:4:9: model: want a text, found 1, so [models.local] is off`,
		}},
		{"[models]\nlocal = \"x\"\n", []string{`config.toml:2:9: local: want a section, found "x", so [models.local] is off`}},
		{"models = 1\n", []string{`config.toml:1:10: models: want a section [models], found 1, so [models] is off`}},
		{"[channels]\ntelegram = true\n", []string{`config.toml:2:12: telegram: want a section [channels.telegram], found true, so [channels.telegram] is off`}},
		{"[channels.telegram]\nkind = 1\n", []string{`config.toml:2:8: kind: want a text, found 1, so [channels.telegram] is off`}},
		{"[[jobs]]\nname = \"x\"\n", []string{`config.toml:1:3: jobs: want a section [jobs], found a list, so [jobs] is off`}},
		{"[tools]\nroots = [\"~/a:ro\", \"a:rw\", \"/b\", \"/c:rwx\"]\n", []string{
			`config.toml:2:20: roots: want an absolute path, or one that begins with ~/, followed by :ro or :rw or :foreign, found "a:rw"`,
			`config.toml:2:28: roots: want an absolute path, or one that begins with ~/, followed by :ro or :rw or :foreign, found "/b"`,
			`config.toml:2:34: roots: want an absolute path, or one that begins with ~/, followed by :ro or :rw or :foreign, found "/c:rwx"`,
		}},
		{"[tools]\ndeny = \"exec\"\nexec = true\n", []string{`config.toml:2:8: deny: want a list, found "exec", so [tools] is off, and with it every tool`, `config.toml:3:8: exec: want a section, found true, so [tools.exec] is off`}},
		{"[tools]\nexec = true\n", []string{`config.toml:2:8: exec: want a section, found true, so [tools.exec] is off`}},
		{"[tools.webb]\n", []string{`config.toml:1:8: unknown section "webb": did you mean "web"?`}},
		{"a = \n", []string{`config.toml:1:5: unexpected end of line at start of value: there is no value after the =`}},
		{"[model]\nmodel = gpt-4\n", []string{`config.toml:2:9: unexpected 'g' at start of value: write a text, or a time with its unit, in quotes: model = "…"`}},
		{"[turn]\nmax_running = 5m\n", []string{`config.toml:2:16: strings must be quoted: write a text, or a time with its unit, in quotes: max_running = "…"`}},
		{"[turn]\nmax_steps = 05\n", []string{`config.toml:2:13: integers cannot have leading zeroes`}},
		{"[model\n", []string{`config.toml:1:7: expected ']' to close table name: a section is written [name]`}},
		{"[model]\nmodel: \"a\"\n", []string{`config.toml:2:6: expected '=' after key: want key = value`}},
		{"[model]\napi_key = \"canary\n", []string{`config.toml:2:18: basic strings cannot have new lines: close the text with a quote on the same line`}},
		{"[channels.a]\nowner = True\n", []string{`config.toml:2:9: unexpected 'T' at start of value: write true or false`}},
		{"[model]\nmodel = \"ü\" ü\n", []string{`config.toml:2:13: expected newline but got 'ü'`}},
		{"[model]\nmodel = \"x\"\nmodel = \"y\"\n", []string{`config.toml:3:1: key model is already defined`}},
		{"a = \"\xff\"\n", []string{`config.toml: the file is not UTF-8 text: save it as UTF-8`}},
		{"a = " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", []string{`config.toml:1:5: nested deeper than 32 levels`}},
		{strings.Repeat("a.", 40) + "a = 1\n", []string{`config.toml:1:65: nested deeper than 32 levels`}},
		{"[" + strings.Repeat("a.", 40) + "a]\n", []string{`config.toml:1:66: nested deeper than 32 levels`}},
	}
	for _, tt := range tests {
		if got := texts(tt.doc); !slices.Equal(got, tt.want) {
			t.Errorf("%q:\ngot\n  %s\nwant\n  %s", tt.doc, strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
		}
	}
}

func TestABadSectionDisablesOnlyItself(t *testing.T) {
	doc := strings.NewReplacer(`max_steps = 7`, `max_steps = "7"`, `model = "qwen"`, `model = 1`, `deny = ["write"]`, `deny = 1`,
		`kind = "ntfy"`, `kind = 1`).Replace(every)
	s, problems, err := config.Parse("config.toml", []byte(doc), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"channels.alerts", "models.local", "tools", "turn"}
	if got := s.OffSections(); !slices.Equal(got, want) {
		t.Errorf("off: %q, want %q; %v", got, want, problems)
	}
	if !s.Off("turn") || s.Off("guard") {
		t.Error("turn is off, guard is not")
	}
	if s.Turn != config.Default().Turn || len(s.Models) > 0 || len(s.Channels) != 1 || s.Guard.Mode != "open" || s.Model.Model != "provider/name" {
		t.Errorf("got %+v", s)
	}
	if !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) || len(s.Tools.Roots) > 0 {
		t.Errorf("a bad [tools] must deny everything, got %+v", s.Tools)
	}
	if config.Valid(problems) {
		t.Error("such a file is not valid")
	}
}

func TestOverrides(t *testing.T) {
	env := []string{
		"HOME=/x", "HOB_HOME=/y", "HOB_FAIL=turn.claimed:2",
		"HOB_MODEL__API_KEY=sk-1", "HOB_MODEL__MAX_OUTPUT_TOKENS=12", "HOB_MODEL__FALLBACK=local, other",
		"HOB_MODELS__OTHER__MODEL=m", "HOB_OWNER__NAME=A=B", "HOB_TURN__MAX_RUNNING=2m", "HOB_BUDGET__PER_DAY=1.5",
		"HOB_CHANNELS__NTFY__TOKEN=tk",
		"HOB_CHANNELS__ALERTS__TOPIC=t", "HOB_JOBS__AN_HOUR__EVERY=2h", "HOB_WEB__LISTEN=127.0.0.1:1",
	}
	s, problems, err := config.Parse("config.toml", []byte(every), env)
	if err != nil || !config.Valid(problems) {
		t.Fatal(problems, err)
	}
	if s.Model.APIKey != "sk-1" || s.Model.MaxOutputTokens != 12 || !slices.Equal(s.Model.Fallback, []string{"local", "other"}) ||
		s.Models["other"].Model != "m" || s.Owner.Name != "A=B" || s.Turn.MaxRunning != 2*time.Minute || s.Budget.PerDay != 1.5 || s.Web.Listen != "127.0.0.1:1" {
		t.Errorf("got %+v", s)
	}
	if len(s.Channels) != 3 || s.Channels[2].Name != "ntfy" || s.Channels[2].Kind != "ntfy" {
		t.Errorf("channels: %+v", s.Channels)
	}
	var job struct{ Every, Prompt string }
	if err := s.Jobs[1].Decode(&job); err != nil || job.Every != "2h" || job.Prompt != "Look." {
		t.Errorf("job: %+v, %v", job, err)
	}
}

func TestUselessOverrides(t *testing.T) {
	tests := []struct{ pair, want string }{
		{"HOB_MODLE__API_KEY=x", `HOB_MODLE__API_KEY: unknown section "modle": did you mean "model"?`},
		{"HOB_MODEL__APIKYE=x", `HOB_MODEL__APIKYE: unknown key "apikye": did you mean "api_key"?`},
		{"HOB_TURN__MAX_STEPS=many", `HOB_TURN__MAX_STEPS: max_steps: want a whole number, found "many", so [turn] is off`},
		{"HOB_TURN__MAX_STEPS=0", `HOB_TURN__MAX_STEPS: max_steps: want 1 or more, found 0, so [turn] is off`},
		{"HOB_MODEL__API_KEY__X=x", `HOB_MODEL__API_KEY__X: model.api_key is not a section, so it has no keys to set`},
		{"HOB_MODEL__=x", `HOB_MODEL__: a part of this variable's name is missing`},
		{"HOB_MODEL_API_KEY=x", `HOB_MODEL_API_KEY: this variable is not read: put two underscores between section and key: HOB_MODEL__API_KEY`},
	}
	for _, tt := range tests {
		got := texts("[model]\napi_key = \"env:A\"\n", tt.pair)
		if !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: got %q, want %q", tt.pair, got, tt.want)
		}
	}
}

func write(t *testing.T, path, doc string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(doc), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestLoadReportsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	write(t, big, strings.Repeat("#", 1<<20+1), 0o600)
	for path, want := range map[string]string{
		dir: "read config: " + dir + " is a folder; want a file",
		big: "read config: " + big + " has 1048577 bytes; at most 1048576 are read",
	} {
		if _, _, err := config.Load(path, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	if s, problems, err := config.Load(filepath.Join(dir, "none.toml"), nil); err != nil || len(problems) > 0 || s.Guard.Mode != "ask" {
		t.Errorf("a missing file: %+v, %v, %v", s, problems, err)
	}
}

func TestReadableSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no mode bits")
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	doc := "[model]\napi_key = \"sk-canary\"\n[channels.a]\ntoken = \"env:A\"\n[channels.b]\nbot_token = \"canary\"\npassword = \"\"\ntokens = \"canary\"\n"
	hint := "the secret itself is in a file that others can read: chmod 600 the file, or write env:NAME, file:PATH, keyring:NAME or cmd:COMMAND instead"
	want := []string{path + ":2:11: api_key: " + hint, path + ":6:13: bot_token: " + hint}
	write(t, path, doc, 0o644)
	_, problems, err := config.Load(path, []string{"HOB_CHANNELS__A__PASSWORD=canary"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if !slices.Equal(got, want) || !config.Valid(problems) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	write(t, path, doc, 0o600)
	if _, problems, err := config.Load(path, nil); err != nil || len(problems) > 0 {
		t.Errorf("0600: %v, %v", problems, err)
	}
}
