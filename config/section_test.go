package config_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"hob/config"
)

type level int

func (l *level) UnmarshalText(b []byte) error {
	if string(b) != "high" {
		return fmt.Errorf("there is no level %q", b)
	}
	*l = 7
	return nil
}

type host struct {
	Address  string   `toml:"address"`
	Commands []string `toml:"commands"`
}

type plugin struct {
	Text    string          `toml:"text"`
	Whole   int8            `toml:"whole"`
	Count   uint            `toml:"count"`
	Ratio   float64         `toml:"ratio"`
	Flag    *bool           `toml:"flag"`
	Wait    time.Duration   `toml:"wait"`
	Level   level           `toml:"level"`
	Names   []string        `toml:"names"`
	Hosts   map[string]host `toml:"hosts"`
	List    []host          `toml:"list"`
	Any     any             `toml:"any"`
	Skipped string          `toml:"-"`
	Plain   string
	host
	Inner struct {
		Deep int `toml:"deep"`
	} `toml:"inner"`
}

// section is [channels.x] with the given body.
func section(t *testing.T, body string) config.Channel {
	t.Helper()
	s, problems, err := config.Parse("config.toml", []byte("[channels.x]\nkind = \"y\"\n"+body), nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return s.Channels[0]
}

func TestDecode(t *testing.T) {
	c := section(t, `text = "a"
whole = -3
count = 4
ratio = 2
flag = false
wait = "90s"
level = "high"
names = ["a", "b"]
any = {a = [1, "x"]}
plain = "p"
[channels.x.hosts.nas]
address = "sam@nas"
commands = ["docker compose"]
[[channels.x.list]]
address = "one"
[[channels.x.list]]
address = "two"
[channels.x.inner]
deep = 5
`)
	off := false
	want := plugin{
		Text: "a", Whole: -3, Count: 4, Ratio: 2, Flag: &off, Wait: 90 * time.Second, Level: 7, Names: []string{"a", "b"},
		Hosts: map[string]host{"nas": {"sam@nas", []string{"docker compose"}}},
		List:  []host{{Address: "one"}, {Address: "two"}}, Any: map[string]any{"a": []any{int64(1), "x"}}, Plain: "p", Skipped: "kept",
	}
	want.Inner.Deep = 5
	got := plugin{Skipped: "kept"}
	if err := c.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if c.Kind != "y" || c.Name != "x" || c.Path() != "channels.x" || c.Empty() {
		t.Errorf("section: %+v", c)
	}
}

func TestDecodeKeepsWhatIsNotNamed(t *testing.T) {
	got := plugin{Text: "default", Whole: 1}
	if err := section(t, "whole = 2\n").Decode(&got); err != nil || got.Text != "default" || got.Whole != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := (config.Section{}).Decode(&got); err != nil || got.Whole != 2 {
		t.Errorf("an empty section: %+v, %v", got, err)
	}
}

func TestDecodeFaults(t *testing.T) {
	tests := []struct{ body, want string }{
		{"txt = \"a\"", `config.toml:3:1: unknown key "txt": did you mean "text"?`},
		{"skipped = \"a\"", `config.toml:3:1: unknown key "skipped"`},
		{"\n\n[channels.x.hostz.nas]", `config.toml:5:13: unknown section "hostz": did you mean "hosts"?`},
		{"[channels.x.hosts.nas]\n  adress = 1", `config.toml:4:3: unknown key "adress": did you mean "address"?`},
		{"[[channels.x.list]]\naddress = \"a\"\n[[channels.x.list]]\naddress = 1", `config.toml:6:11: address: want a text, found 1, so [channels.x] is off`},
		{"list = [{address = \"a\"}, {address = 2}]", `config.toml:3:37: address: want a text, found 2, so [channels.x] is off`},
		{"names = [\n  \"a\",\n  true]", `config.toml:5:3: names[1]: want a text, found true, so [channels.x] is off`},
		{"names = [\"a\", [\"b\"]]", `config.toml:3:9: names[1]: want a text, found a list, so [channels.x] is off`},
		{"\"whole\" = 128", `config.toml:3:11: whole: want a whole number, found 128, so [channels.x] is off`},
		{"count = -1", `config.toml:3:9: count: want a whole number, not negative, found -1, so [channels.x] is off`},
		{"ratio = \"1\"", `config.toml:3:9: ratio: want a number, found "1", so [channels.x] is off`},
		{"flag = \"true\"", `config.toml:3:8: flag: want true or false, found "true", so [channels.x] is off`},
		{"level = \"low\"", `config.toml:3:9: level: there is no level "low", so [channels.x] is off`},
		{"level = 1", `config.toml:3:9: level: want a text, found 1, so [channels.x] is off`},
		{"inner = 1", `config.toml:3:9: inner: want a section, found 1, so [channels.x] is off`},
		{"inner.deep = true", `config.toml:3:14: deep: want a whole number, found true, so [channels.x] is off`},
		{"hosts = []", `config.toml:3:9: hosts: want a section, found a list, so [channels.x] is off`},
		{"names = {}", `config.toml:3:9: names: want a list, found a section, so [channels.x] is off`},
		{"whole = 'x'\ncount = 'y'", "config.toml:3:9: whole: want a whole number, found \"x\", so [channels.x] is off\n" +
			`config.toml:4:9: count: want a whole number, not negative, found "y", so [channels.x] is off`},
	}
	for _, tt := range tests {
		var dst plugin
		err := section(t, tt.body+"\n").Decode(&dst)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q:\ngot  %v\nwant %s", tt.body, err, tt.want)
		}
	}
}

func TestFillTakesUnknownKeysForWarnings(t *testing.T) {
	var dst plugin
	unknown, err := section(t, "txt = 1\nwhole = 2\n").Fill(&dst)
	if err != nil || len(unknown) != 1 || unknown[0].Fatal || unknown[0].Key != "channels.x.txt" || dst.Whole != 2 {
		t.Errorf("got %v, %v, %+v", unknown, err, dst)
	}
	unknown, err = section(t, "txt = 1\nwhole = 'x'\n").Fill(&dst)
	var wrong config.Errors
	if !errors.As(err, &wrong) || len(wrong) != 1 || len(unknown) != 1 || wrong[0].Section != "channels.x" {
		t.Errorf("got %v, %v", unknown, err)
	}
}

func TestFault(t *testing.T) {
	c := section(t, "topic = \"a b\"\n")
	for key, want := range map[string]string{
		"topic": `config.toml:3:9: no topic, so [channels.x] is off`,
		"other": `config.toml:1:11: no topic, so [channels.x] is off`,
	} {
		if got := c.Fault(key, "no topic").String(); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// TestValidDocumentsRoundTrip writes random settings with go-toml and expects them back.
func TestValidDocumentsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		positive := rapid.IntRange(1, 1<<30)
		model := rapid.Custom(func(t *rapid.T) config.Model {
			out := positive.Draw(t, "out")
			return config.Model{
				Backend: text.Draw(t, "backend"), Model: text.Draw(t, "model"), APIKey: text.Draw(t, "key"), BaseURL: rapid.SampledFrom([]string{"", "http://h/v1"}).Draw(t, "url"),
				MaxOutputTokens: out, ContextTokens: out + positive.Draw(t, "more"), Thinking: rapid.SampledFrom([]string{"off", "high"}).Draw(t, "thinking"), Tools: rapid.SampledFrom([]string{"few", "all"}).Draw(t, "tools"), Plain: rapid.SampledFrom([]string{"first", "last"}).Draw(t, "plain"),
				Price: config.Price{Input: rapid.Float64Range(0, 1e5).Draw(t, "input"), Output: rapid.Float64Range(0, 1e5).Draw(t, "output")},
			}
		})
		type document struct {
			Model  config.Model            `toml:"model"`
			Models map[string]config.Model `toml:"models"`
			Owner  config.Owner            `toml:"owner"`
			Guard  config.Guard            `toml:"guard"`
			Budget config.Budget           `toml:"budget"`
			Daemon config.Daemon           `toml:"daemon"`
			Jobs   map[string]plugin       `toml:"jobs"`
		}
		want := document{
			Model: model.Draw(t, "m"), Models: rapid.MapOfN(text, model, 0, 3).Draw(t, "models"),
			Owner:  config.Owner{Name: text.Draw(t, "name"), Timezone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin"}).Draw(t, "zone"), Addresses: rapid.SliceOfN(rapid.StringMatching(`[a-z]+:[a-z0-9:]+`), 1, 3).Draw(t, "addresses")},
			Guard:  config.Guard{Mode: rapid.SampledFrom([]string{"ask", "open"}).Draw(t, "mode")},
			Budget: config.Budget{PerDay: rapid.OneOf(rapid.Just(-1.0), rapid.Float64Range(0, 1e9)).Draw(t, "money"), TokensPerDay: rapid.Int64Min(-1).Draw(t, "tokens")},
			Daemon: config.Daemon{MaxAttempts: positive.Draw(t, "attempts"), SafeModeAfter: positive.Draw(t, "ends")},
		}
		for name := range want.Models {
			want.Model.Fallback = append(want.Model.Fallback, name)
		}
		doc, err := toml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, problems, err := config.Parse("config.toml", doc, nil)
		if err != nil || !config.Valid(problems) {
			t.Fatalf("%v, %v in\n%s", problems, err, doc)
		}
		have := document{Model: got.Model, Models: got.Models, Owner: got.Owner, Guard: got.Guard, Budget: got.Budget, Daemon: got.Daemon}
		if !reflect.DeepEqual(have, want) {
			t.Fatalf("got  %+v\nwant %+v\nfrom\n%s", have, want, doc)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(every), "HOB_MODEL__API_KEY=x")
	f.Add([]byte("[[a]]\n[a.b]\n[[a.c]]\nx = [{y = [1]}]\n"), "HOB_A__B__C=1")
	f.Add([]byte("[tools.exec]\nsandbox = \"require\"\n[budget]\nper_day = -1\n[web]\nlisten = \"0.0.0.0:1\"\n[channels.api]\n"), "HOB_TOOLS__EXEC__SANDBOX=off")
	f.Add([]byte("channels.\"a.b\".x = 1\r\n"), "HOB_CHANNELS__A=1")
	f.Fuzz(func(t *testing.T, doc []byte, pair string) {
		s, problems, err := config.Parse("config.toml", doc, []string{pair})
		if err != nil {
			var list config.Errors
			if !errors.As(err, &list) {
				t.Fatalf("%T: %v", err, err)
			}
			problems = append(problems, list...)
		} else if s.Turn.MaxSteps < 1 || s.Turn.MaxRunning < time.Second || s.Guard.Mode != "ask" && s.Guard.Mode != "open" {
			t.Fatalf("in force: %+v", s)
		}
		lines := strings.Count(string(doc), "\n") + 1
		for _, p := range problems {
			if p.Text == "" || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Fatalf("problem %+v in %d lines", p, lines)
			}
		}
		if s == nil {
			return
		}
		for _, c := range s.Channels {
			var dst plugin
			if err := c.Decode(&dst); err != nil && !strings.Contains(err.Error(), ": ") {
				t.Fatal(err)
			}
		}
		if s.Off("tools") && !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) {
			t.Fatalf("tools are off and not denied: %+v", s.Tools)
		}
		if s.Off("tools.exec") && !s.Off("tools") && !slices.Contains(s.Tools.Deny, "exec") {
			t.Fatalf("exec is off and not denied: %+v", s.Tools)
		}
		if b := s.Budget; b.PerDay < 0 && b.PerDay != -1 || b.TokensPerDay < -1 || s.Off("budget") && b != config.Default().Budget {
			t.Fatalf("caps in force: %+v", b)
		}
	})
}
