package importer_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/importer"
)

var update = flag.Bool("update", false, "write the golden files")

// lines are the items of a plan, a line each.
func lines(t *testing.T, program, dir string, secrets bool) string {
	t.Helper()
	r, err := importer.ReadPlan(t.Context(), program, dir, secrets)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, it := range r.Items {
		fmt.Fprintf(&b, "%s %s %s -> %s (%s)\n", it.State, it.Kind, it.From, it.To, it.Why)
	}
	return b.String()
}

// The folder of each program, as its sources describe it, is planned whole: every file has a line.
func TestPlans(t *testing.T) {
	for _, program := range []string{"openclaw", "hermes"} {
		for _, secrets := range []bool{false, true} {
			path := filepath.Join("testdata", fmt.Sprintf("%s-%t.golden", program, secrets))
			got := lines(t, program, filepath.Join("testdata", program), secrets)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != got {
				t.Errorf("%s is stale (%v): look at what changed, then: go test ./cmd/hob/importer -update\n%s", path, err, got)
			}
			if strings.Contains(got, "example-") {
				t.Error("the value of a secret is shown")
			}
		}
	}
}

// A workspace alone can be imported too.
func TestWorkspaceAlone(t *testing.T) {
	got := lines(t, "openclaw", "testdata/openclaw/workspace", false)
	for _, want := range []string{"imported file AGENTS.md -> workspace/AGENTS.md", "imported file memory/2026-02-01.md -> workspace/memory/2026-02-01.md", "left other canvas"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// Settings that cannot be read are named once, and settings of an older version are known.
func TestSettingsAreNamedOnce(t *testing.T) {
	for _, c := range []struct {
		program string
		files   map[string]string
		want    string
	}{
		{"openclaw", map[string]string{"AGENTS.md": "x", "openclaw.json": "{"}, "left other openclaw.json ->  (it cannot be used: "},
		{"openclaw", map[string]string{"AGENTS.md": "x", "openclaw.json": "{}"}, "left other openclaw.json ->  (hob has other settings"},
		{"openclaw", map[string]string{"cron/jobs.json": "{}", "openclaw.json": "{}", "moltbot.json": "{"}, "left other moltbot.json ->  (settings of an older version)"},
		{"openclaw", map[string]string{"cron/jobs.json": "{}", "moltbot.json": "{}"}, "left other moltbot.json ->  (hob has other settings"},
		{"hermes", map[string]string{"SOUL.md": "x", "config.yaml": "a: ["}, "left other config.yaml ->  (it cannot be used: "},
		{"hermes", map[string]string{"SOUL.md": "x", "config.yaml": "a: 1"}, "left other config.yaml ->  (the rest of it"},
	} {
		dir, name := t.TempDir(), strings.Fields(c.want)[2]
		for file, text := range c.files {
			path := filepath.Join(dir, filepath.FromSlash(file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got := lines(t, c.program, dir, true); !strings.Contains(got, c.want) || strings.Count(got, " "+name+" ") != 1 {
			t.Errorf("%s of %v: want %q once in\n%s", c.program, c.files, c.want, got)
		}
	}
}

// The folder of OpenClaw's state is noted with a reason that is true without a database too, when no other line names it.
func TestStateWithoutDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "workspace"), 0o700), os.Mkdir(filepath.Join(dir, "state"), 0o700)); err != nil {
		t.Fatal(err)
	}
	const want = "left other state ->  (its own state; hob reads only state/openclaw.sqlite)\n"
	if got := lines(t, "openclaw", dir, false); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Another folder is refused with a sentence and a hint.
func TestWrongFolder(t *testing.T) {
	for program, dir := range map[string]string{"openclaw": t.TempDir(), "hermes": t.TempDir(), "other": "."} {
		_, err := importer.ReadPlan(t.Context(), program, dir, false)
		if p := (*cli.Problem)(nil); !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%s: %v", program, err)
		}
	}
	for program, expected := range map[string]string{"openclaw": "neither openclaw.json nor a folder workspace", "hermes": "neither config.yaml nor SOUL.md"} {
		if _, err := importer.ReadPlan(t.Context(), program, t.TempDir(), false); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v", program, err)
		}
	}
	if _, err := importer.ReadPlan(t.Context(), "hermes", filepath.Join(t.TempDir(), "none"), false); err == nil {
		t.Error("a folder that is not there is read")
	}
}

// A folder of the other of the two programs is refused, and the hint is the command for it.
func TestFolderOfTheOtherProgram(t *testing.T) {
	for _, c := range []struct{ program, dir, right string }{
		{"hermes", "testdata/openclaw", "openclaw"}, {"hermes", "testdata/openclaw/workspace", "openclaw"}, {"openclaw", "testdata/hermes", "hermes"},
	} {
		_, err := importer.ReadPlan(t.Context(), c.program, c.dir, false)
		if p := (*cli.Problem)(nil); !errors.As(err, &p) || p.Text != c.dir+" is a folder of "+c.right+" and not of "+c.program || p.Hint != "hob import "+c.right+" "+c.dir {
			t.Errorf("%s of %s: %v", c.program, c.dir, err)
		}
	}
}

// planned imports a list of jobs with other files beside it, and returns of each its schedule and zone, or else why it is left.
func planned(t *testing.T, program, jobs string, beside map[string]string) (list []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cron"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"cron/jobs.json": `{"jobs": [` + jobs + `]}`}
	maps.Copy(all, beside)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := importer.ReadPlan(t.Context(), program, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range r.Items {
		if schedule, zone := importer.Scheduled(it); schedule != "" {
			list = append(list, strings.TrimSpace(schedule+" "+zone))
		} else if it.Kind == "job" {
			list = append(list, it.Why)
		}
	}
	return list
}

// A cron expression keeps its meaning: OpenClaw reads the seconds first, Hermes last.
func TestCronExpressions(t *testing.T) {
	for _, c := range []struct{ program, cron, want string }{
		{"openclaw", "*/10 * * * * *", "*/10 * * * * *"},
		{"openclaw", "30 0 9 * * MON-FRI", "30 0 9 * * MON-FRI"},
		{"openclaw", "@daily", "@daily"},
		{"hermes", "0 9 * * 1-5", "0 9 * * 1-5"},
		{"hermes", "0 9 * * 1-5 30", "30 0 9 * * 1-5"},
		{"openclaw", "0 0 9 * * 1 2030", "hob does not have its schedule: cron spec"},
		{"openclaw", "0 9 15W * *", "hob does not have its schedule: cron spec"},
		{"openclaw", "", "hob does not have its schedule: the cron spec is empty"},
	} {
		job := `{"name": "a", "prompt": "x", "schedule": {"kind": "cron", "expr": "` + c.cron + `"}, "payload": {"kind": "agentTurn", "message": "x"}}`
		if got := planned(t, c.program, job, nil); len(got) != 1 || got[0] != c.want && (!strings.HasPrefix(c.want, "hob") || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s %q: %q, want %q", c.program, c.cron, got, c.want)
		}
	}
}

// A time without an offset is local time in the zone of Hermes, and UTC with OpenClaw.
func TestTimesWithoutOffset(t *testing.T) {
	for _, c := range []struct{ program, at, zone, want string }{
		{"hermes", "2099-02-03T14:00:00", "America/New_York", "at 2099-02-03T14:00:00-05:00 America/New_York"},
		{"hermes", "2099-07-03T14:00:00.25", "America/New_York", "at 2099-07-03T14:00:00-04:00 America/New_York"},
		{"hermes", "2099-02-03T14:00:00+01:00", "America/New_York", "at 2099-02-03T14:00:00+01:00 America/New_York"},
		{"hermes", "2099-02-03T14:00:00", "Mars/Base", `time zone "Mars/Base" is not known: want a name such as Europe/Berlin, America/New_York or UTC`},
		{"openclaw", "2099-02-03T14:00:00", "", "at 2099-02-03T14:00:00Z"},
	} {
		job := `{"name": "a", "prompt": "x", "schedule": {"kind": "once", "run_at": "` + c.at + `"}}`
		beside := map[string]string{"config.yaml": "timezone: " + c.zone}
		if c.program == "openclaw" {
			job, beside = `{"name": "a", "schedule": {"kind": "at", "at": "`+c.at+`"}, "payload": {"kind": "agentTurn", "message": "x"}}`, nil
		}
		if got := planned(t, c.program, job, beside); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s %s in %s: %q, want %q", c.program, c.at, c.zone, got, c.want)
		}
	}
}

// What is hostile or broken is left with a reason, and the rest is imported.
func TestHostileFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	outside := filepath.Join(t.TempDir(), "outside.md")
	dir := t.TempDir()
	at := func(name string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "the neighbour's secret")
	write(at("workspace/AGENTS.md"), "fine")
	write(at("workspace/USER.md"), "\x00\x01")
	write(at("workspace/IDENTITY.md"), "\n \n")
	write(at("workspace/memory/long.md"), "")
	write(at("openclaw.json"), "{ channels: { telegram: { allowFrom: [1, ")
	write(at("cron/jobs.json"), `{"jobs": [{"name": "../../x\u0000", "schedule": {"kind": "every", "everyMs": -5}, "payload": {"kind": "agentTurn", "message": "x"}},
		{"name": "`+strings.Repeat("ü", 99)+`", "schedule": {"kind": "every", "everyMs": 6e4}, "payload": {"kind": "agentTurn", "message": "y"}}, null, 7,
		{"name": "long", "schedule": {"kind": "every", "everyMs": 1e300}, "payload": {"kind": "agentTurn", "message": "y"}}]}`)
	if err := errors.Join(
		os.Truncate(at("workspace/memory/long.md"), 1<<30),
		os.Symlink(outside, at("workspace/SOUL.md")),
		os.Symlink(filepath.Dir(outside), at("workspace/memory/folder.md")),
		os.Symlink("../../../../etc", at("skills")),
		os.Symlink("/dev/zero", at("credentials/telegram-allowFrom.json")),
		os.Symlink(outside, at(".env")),
		os.Link(outside, at("workspace/memory/hard.md")),
	); err != nil {
		t.Fatal(err)
	}
	got := lines(t, "openclaw", dir, true)
	for _, want := range []string{
		"imported file workspace/AGENTS.md", "left file workspace/USER.md ->  (it is not text)", "left file workspace/IDENTITY.md ->  (it is empty)",
		"left file workspace/memory/long.md ->  (it is too long (1.0 GB; at most 1.0 MB))", "left file workspace/SOUL.md ->  (it is a link, and links are not followed)",
		"left file workspace/memory/folder.md ->  (it is a link", "left other openclaw.json ->  (it cannot be used: line 1: a value is missing)",
		"left job ../../x\x00 ->  (hob does not have its schedule: every -5ms is too often", "-> üüüüüüüüüüüüüüüüüüüüüüüüüüüüüü (paused", "left job long ->  (hob does not have its schedule: that period is too long", "left job number 4", "left job number 3",
		"left other credentials/telegram-allowFrom.json ->  (it is a link", "left other .env ->  (it is a link",
		"left other skills ->  (it is a link or a file",
		"left file workspace/memory/hard.md ->  (it has another name somewhere else (a hard link)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, name := range []string{" openclaw.json ", " skills ", " .env "} {
		if n := strings.Count(got, name); n != 1 {
			t.Errorf("%s is named %d times in\n%s", name, n, got)
		}
	}
	if strings.Contains(got, "skill ") || strings.Contains(got, "neighbour") {
		t.Errorf("something outside was read:\n%s", got)
	}
}

// Files are made once, whole, and inside the workspace. What a killed import has left does not matter.
func TestCarryFile(t *testing.T) {
	home := t.TempDir()
	path := func(name string) string { return filepath.Join(home, filepath.FromSlash(name)) }
	for _, c := range []struct{ text, want string }{{"one", "imported"}, {"one", "already"}, {"two", "kept"}} {
		if state, err := importer.CarryFile(t.Context(), home, "workspace/memory/a.md", c.text); err != nil || state != c.want {
			t.Errorf("%s: %s, %v", c.text, state, err)
		}
	}
	if text, err := os.ReadFile(path("workspace/memory/a.md")); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	// A model has made links to the rest of the home.
	if err := errors.Join(
		os.WriteFile(path("config.toml"), []byte("mine"), 0o600),
		os.Symlink("../config.toml", path("workspace/b.md.import.tmp")), os.Symlink("../config.toml", path("workspace/c.md")), os.Symlink("..", path("workspace/out")),
	); err != nil {
		t.Fatal(err)
	}
	if state, err := importer.CarryFile(t.Context(), home, "workspace/b.md", "b"); err != nil || state != "imported" {
		t.Errorf("%s, %v", state, err)
	}
	for _, to := range []string{"workspace/c.md", "workspace/out/new.md"} {
		if state, err := importer.CarryFile(t.Context(), home, to, "x"); err == nil {
			t.Errorf("%s: %s", to, state)
		}
	}
	if text, err := os.ReadFile(path("config.toml")); err != nil || string(text) != "mine" {
		t.Errorf("the config is now %q, %v", text, err)
	}
	left, err := filepath.Glob(path("workspace/*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The forms that JSON does not have (https://spec.json5.org).
func TestParseJSON5(t *testing.T) {
	for text, want := range map[string]any{
		`{a: 1, 'b': "x", $c_: [1, 2,], /* d */ e: null, }// end`: map[string]any{"a": 1.0, "b": "x", "$c_": []any{1.0, 2.0}, "e": nil},
		`"a\u00e9\ud83d\ude00\n\/\q"`:                             "aé😀\n/q",
		`"\x41\xe9\v\0"`:                                          "Aé\v\x00",
		`"\ud83d\ud83d\ude00"`:                                    "\ufffd😀",
		"[1, // one\r2, // two\u20283]":                           []any{1.0, 2.0, 3.0},
		`'it\'s "so"'`:                                            `it's "so"`,
		"'a\\\nb\\\r\nc\\\rd\\\u2028e'":                           "abcde",
		`[+1, -2.5, .5, 5., 0x10, -0XA, 1E2, 0.5, true, false]`:   []any{1.0, -2.5, .5, 5.0, 16.0, -10.0, 100.0, .5, true, false},
	} {
		if got, err := importer.ParseJSON5([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "{", "[1 2]", "{a 1}", "{1}x", "'a", "'a\nb'", `"\u12"`, "/* ", "{a:}", "nope", "010", "1_000", "0b11", "0x", "Infinity", "-NaN", "1e999", "+-1", ".", "-", `"\x4"`, `"\1"`, `"\01"`, "'a\rb'", strings.Repeat("[", 200) + strings.Repeat("]", 200), "1 2"} {
		if got, err := importer.ParseJSON5([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%.20s: %#v, %v", text, got, err)
		}
	}
}

// Every document of JSON means the same in JSON5, and nothing makes the parser fail otherwise than with an error.
func FuzzParseJSON5(f *testing.F) {
	for _, text := range []string{`{"a": [1, -2e3, "x\u00e9\ud83d\ude00"], "b": {"c": null}}`, `{a: 'b',}`, `"\ud83d"`, `[0]`, `{"":""}`, `"\ud83d\ud83d\ude00"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := importer.ParseJSON5(text)
		var want any
		if !utf8.Valid(text) || json.Unmarshal(text, &want) != nil {
			return
		}
		if err != nil && strings.Contains(err.Error(), "too deeply") {
			return
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, %v; JSON has %#v", text, got, err, want)
		}
	})
}
