package config_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hob/config"
	"hob/config/schema"
)

// known is a reference with one channel and a job, as a plug-in would describe them.
func known() config.Reference {
	type channel struct {
		Topic string   `toml:"topic"`
		Token string   `toml:"token"`
		Names []string `toml:"names"`
		Loud  bool     `toml:"loud"`
		Size  int      `toml:"size"`
	}
	return config.NewReference(config.Owned{
		Backends: []string{"openrouter", "lmstudio", "ollama"},
		Parts: []config.Part{
			{Path: "channels.NAME", Kind: "bell", Named: "door", Keys: schema.Describe(channel{}, nil)},
			{Path: "jobs.NAME", Named: "morning", Keys: schema.Describe(struct{ Cron, Prompt string }{}, nil)},
		},
	})
}

const looked = `[model]
api_key = "sk-canary"
price = { input = 3, cached = 0.3 }
[models.local]
api_key = "keyring:local"
fallback = ["none"]
[tools]
roots = ["~/a:ro", "b:ro"]
deny = 1
[turn]
max_steps = 0
[channels.door]
kind = "bell"
token = "sk-canary"
names = ["a"]
proxy = "http://sam:p@canary@proxy.example.org:3128"
[network]
proxy = "http://sam:env:PROXY@proxy.example.org:3128"
`

func TestLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, looked, 0o600)
	env := []string{"HOB_MODEL__MODEL=m", "HOB_OWNER__ADDRESSES=a:b,c:d", "HOB_CHANNELS__DOOR__LOUD=true", "HOB_CHANNELS__DOOR__SIZE=7", "HOB_CHANNELS__DOOR__NAMES=x,y", "HOB_MODELS__LOCAL__PRICE__INPUT=2", "HOB_MODELS__LOCAL__PRICE__WRITTEN=2.5"}
	tests := []struct {
		key, text, origin string
		value             any
	}{
		{"model.model", "m", "environment HOB_MODEL__MODEL", "m"},
		{"model.api_key", config.Hidden, path + ":2", config.Hidden},
		{"models.local.api_key", "keyring:local", path + ":5", "keyring:local"},
		{"models.local.fallback", "[]", path + ":6", []string{}},
		{"models.local.price.input", "2", "environment HOB_MODELS__LOCAL__PRICE__INPUT", 2.0},
		{"model.price", "{ cached = 0.3, input = 3, output = 0 }", path + ":3", map[string]any{"input": 3.0, "cached": 0.3, "output": 0.0}},
		{"model.price.input", "3", path + ":3", 3.0},
		{"models.local.price", "{ cached = 0, input = 2, output = 0, written = 2.5 }", "environment HOB_MODELS__LOCAL__PRICE__INPUT", map[string]any{"input": 2.0, "cached": 0.0, "output": 0.0, "written": 2.5}},
		{"model.base_url", "the backend's own", "default", nil},
		{"owner.addresses", `["a:b", "c:d"]`, "environment HOB_OWNER__ADDRESSES", []string{"a:b", "c:d"}},
		{"turn.max_steps", "50", "default, since its section is off because of a mistake", int64(50)},
		{"turn.max_running", "15m", "default", "15m"},
		{"tools.deny", `["*"]`, "default, since its section is off because of a mistake", []string{"*"}},
		{"channels.door.kind", "bell", path + ":13", "bell"},
		{"channels.door.token", config.Hidden, path + ":14", config.Hidden},
		{"channels.door.proxy", "http://sam:" + config.Hidden + "@proxy.example.org:3128", path + ":16", "http://sam:" + config.Hidden + "@proxy.example.org:3128"}, // T14
		{"network.proxy", "http://sam:env:PROXY@proxy.example.org:3128", path + ":18", "http://sam:env:PROXY@proxy.example.org:3128"},
		{"channels.door.names", `["x", "y"]`, "environment HOB_CHANNELS__DOOR__NAMES", []any{"x", "y"}},
		{"channels.door.loud", "true", "environment HOB_CHANNELS__DOOR__LOUD", true},
		{"channels.door.size", "7", "environment HOB_CHANNELS__DOOR__SIZE", int64(7)},
		{"models.other.model", "none", "default", nil},
	}
	for _, tt := range tests {
		got, err := known().Look(path, env, tt.key)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", tt.key, got, err)
			continue
		}
		if s := got[0]; s.Key != tt.key || s.Text() != tt.text || s.Origin() != tt.origin || !reflect.DeepEqual(s.Value, tt.value) {
			t.Errorf("%s: %q from %q: %#v", s.Key, s.Text(), s.Origin(), s.Value)
		}
	}
}

func TestLookAtSections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, looked, 0o600)
	names := func(key string) []string {
		all, err := known().Look(path, nil, key)
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		var list []string
		for _, s := range all {
			list = append(list, s.Key)
			if strings.Contains(s.Text(), "canary") {
				t.Errorf("%s shows a secret", s.Key)
			}
		}
		return list
	}
	if got := names("turn"); !slices.Equal(got, []string{"turn.max_steps", "turn.max_running"}) {
		t.Errorf("turn: %q", got)
	}
	for _, key := range []string{"channels", "channels.door"} {
		if got := names(key); len(got) != 7 || got[0] != "channels.door.kind" {
			t.Errorf("%s: %q", key, got)
		}
	}
	everything := names("")
	for _, want := range []string{"model.backend", "models.local.model", "channels.door.loud", "daemon.max_attempts"} {
		if !slices.Contains(everything, want) {
			t.Errorf("%s is not among %q", want, everything)
		}
	}
	if _, err := known().Look(path, nil, "modle.model"); err == nil || err.Error() != `there is no section "modle": did you mean "model"?` {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for doc, want := range map[string][]string{
		"":                         {"model.price.input", "models.local.backend", "jobs.morning.cron", "channels.door.kind", "turn.max_steps"},
		"[models.big]\nbackend=1":  {"models.big.backend"},
		"[turn\n":                  {"turn.max_steps"},
		"[channels.bell]\nsize=1":  {"channels.bell.topic"},
		"[models.'a b']\nmodel=''": {`models."a b".model`},
	} {
		write(t, path, doc, 0o600)
		got := known().Names(path)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%q: %s is not among %q", doc, name, got)
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%q: not sorted, or twice: %q", doc, got)
		}
	}
}

// A name that the owner has chosen may have dots in it: its section is checked like any other.
func TestNamesWithDots(t *testing.T) {
	checked := []string{}
	r := config.NewReference(config.Owned{
		Backends: []string{"openrouter", "lmstudio"},
		Parts: []config.Part{
			{Path: "channels.NAME", Kind: "bell", Named: "door", Keys: schema.Describe(struct{ Topic string }{}, nil), Check: func(_ *config.Snapshot, s config.Section) []config.Problem {
				checked = append(checked, s.Path())
				return []config.Problem{s.Fault("topic", "topic: it is too loud")}
			}},
			{Path: "jobs.NAME", Named: "morning", Keys: schema.Describe(struct{ Cron string }{}, nil), Check: func(_ *config.Snapshot, s config.Section) []config.Problem {
				checked = append(checked, s.Path())
				return nil
			}},
		},
	})
	problems, err := r.Check("c", []byte(`[channels."front.door"]
kind = "bell"
topic = "x"
[jobs."every.day"]
cron = "0 9 * * *"
[models."qwen3.5"]
backend = "lmstudioo"
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if want := []string{"channels.front.door", "jobs.every.day"}; !slices.Equal(checked, want) {
		t.Errorf("checked %q, want %q", checked, want)
	}
	if len(got) != 2 || !strings.Contains(got[0], "c:3:9: topic: it is too loud") || !strings.Contains(got[1], `did you mean "lmstudio"`) {
		t.Errorf("problems: %q", got)
	}
	problems, err = r.Check("c", []byte("[models.\"qwen3.5\"]\nbackend = \"lmstudio\"\nmodel = \"x\"\nmax_output_tokens = -5\n"), nil)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "max_output_tokens") {
		t.Errorf("the limits of a model's keys: %v, %v", problems, err)
	}
}
