package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	main "hob/cmd/hob"
	"hob/config"
	"hob/config/schema"
)

// sampleReference is a reference with one channel and a job, as a plug-in would describe them.
func sampleReference() config.Reference {
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

const sampleConfig = `# hob on the desk

[model]    # the clever one
backend = "openrouter"   # not the cheap one
  model = 'a/b'
price = { input = 3, output = 15.0 } # of March
fallback = [
  "local", # at home
]

[models.local]
backend = "lmstudio"

# what it may do
[turn]
# max_steps = 5
[owner]
name = """Sam"""
`

func TestSet(t *testing.T) {
	tests := []struct {
		name    string
		changes []main.KeyChange
		old     string // what of commented is replaced,
		now     string // and by what
	}{
		{"a text", []main.KeyChange{{Key: "model.backend", Value: "ollama"}}, `backend = "openrouter" `, `backend = "ollama" `},
		{"a text in single quotes", []main.KeyChange{{Key: "model.model", Value: `c "d"`}}, `'a/b'`, `"c \"d\""`},
		{"a text in three quotes", []main.KeyChange{{Key: "owner.name", Value: "Eve"}}, `"""Sam"""`, `"Eve"`},
		{"a number in a table", []main.KeyChange{{Key: "model.price.input", Value: "4"}}, "input = 3,", "input = 4,"},
		{"a new number in a table", []main.KeyChange{{Key: "model.price.cached", Value: "0.25"}}, "15.0 }", "15.0, cached = 0.25 }"},
		{"a whole table", []main.KeyChange{{Key: "model.price", Value: "{ input = 1 }"}}, "{ input = 3, output = 15.0 }", "{ input = 1 }"},
		{"a list over lines", []main.KeyChange{{Key: "model.fallback", Value: "local, local"}}, "[\n  \"local\", # at home\n]", `["local", "local"]`},
		{"a list as TOML", []main.KeyChange{{Key: "model.fallback", Value: "[]"}}, "[\n  \"local\", # at home\n]", `[]`},
		{"a key that is not there", []main.KeyChange{{Key: "models.local.model", Value: "qwen"}}, "\"lmstudio\"\n", "\"lmstudio\"\nmodel = \"qwen\"\n"},
		{"a key of an empty section", []main.KeyChange{{Key: "turn.max_steps", Value: "7"}}, "[turn]\n", "[turn]\nmax_steps = 7\n"},
		{"a section that is not there", []main.KeyChange{{Key: "guard.mode", Value: "open"}}, "\"\"\"Sam\"\"\"\n", "\"\"\"Sam\"\"\"\n\n[guard]\nmode = \"open\"\n"},
		{"a section with a name", []main.KeyChange{{Key: `models."a.b".model`, Value: "m"}}, "\"\"\"Sam\"\"\"\n", "\"\"\"Sam\"\"\"\n\n[models.\"a.b\"]\nmodel = \"m\"\n"},
		{
			"several",
			[]main.KeyChange{{Key: "channels.x.kind", Value: "bell"}, {Key: "channels.x.loud", Value: "true"}, {Key: "channels.x.size", Value: "+08"}},
			"\"\"\"Sam\"\"\"\n", "\"\"\"Sam\"\"\"\n\n[channels.x]\nkind = \"bell\"\nloud = true\nsize = 8\n",
		},
		{"a time", []main.KeyChange{{Key: "turn.max_running", Value: "90s"}}, "[turn]\n", "[turn]\nmax_running = \"90s\"\n"},
		{"a key less", []main.KeyChange{{Key: "model.backend", Unset: true}}, "backend = \"openrouter\"   # not the cheap one\n", ""},
		{"a list less", []main.KeyChange{{Key: "model.fallback", Unset: true}}, "fallback = [\n  \"local\", # at home\n]\n", ""},
		{"the first of a table", []main.KeyChange{{Key: "model.price.input", Unset: true}}, "{ input = 3, ", "{ "},
		{"the last of a table", []main.KeyChange{{Key: "model.price.output", Unset: true}}, ", output = 15.0 }", " }"},
	}
	for _, tt := range tests {
		want := strings.Replace(sampleConfig, tt.old, tt.now, 1)
		for _, eol := range []string{"\n", "\r\n"} {
			got, err := main.SetKeys(sampleReference(), "config.toml", []byte(strings.ReplaceAll(sampleConfig, "\n", eol)), tt.changes...)
			if want := strings.ReplaceAll(want, "\n", eol); err != nil || string(got) != want {
				t.Errorf("%s: %v\ngot\n%s\nwant\n%s", tt.name, err, got, want)
			}
		}
	}
}

func TestSetInOtherSpellings(t *testing.T) {
	tests := []struct{ doc, key, value, want string }{
		{"", "turn.max_steps", "5", "[turn]\nmax_steps = 5\n"},
		{"\xef\xbb\xbf# x\n", "turn.max_steps", "5", "\xef\xbb\xbf# x\n\n[turn]\nmax_steps = 5\n"},
		{"[turn]", "turn.max_steps", "5", "[turn]\nmax_steps = 5"},
		{"# no end", "turn.max_steps", "5", "# no end\n\n[turn]\nmax_steps = 5\n"},
		{"turn.max_running = \"1m\" # a\n", "turn.max_steps", "5", "turn.max_running = \"1m\" # a\nturn.max_steps = 5\n"},
		{"turn = {}\n", "turn.max_steps", "5", "turn = { max_steps = 5 }\n"},
		{"turn = { max_running = \"1m\" }\n", "turn.max_steps", "5", "turn = { max_running = \"1m\", max_steps = 5 }\n"},
		{"model.price.input = 1\n", "model.model", "m", "model.price.input = 1\nmodel.model = \"m\"\n"},
		{"[model.price]\ninput = 1\n", "model.model", "m", "[model.price]\ninput = 1\n\n[model]\nmodel = \"m\"\n"},
		{"[ \"turn\" ]\n\t'max_steps' = 1_0#c\n", "turn.max_steps", "5", "[ \"turn\" ]\n\t'max_steps' = 5#c\n"},
		{"[turn]\n\tmax_steps = 0x1\n", "turn.max_running", "1m", "[turn]\n\tmax_steps = 0x1\n\tmax_running = \"1m\"\n"},
		{"[owner]\nname = '''a'''''\n[turn]\n", "turn.max_steps", "5", "[owner]\nname = '''a'''''\n[turn]\nmax_steps = 5\n"},
		{"[owner]\nname = '''a'''''#'\n", "owner.name", "b", "[owner]\nname = \"b\"#'\n"},
		{"[owner]\nname = \"\"\"\n[turn]\nmax_steps = 1\n\"\"\"\n", "turn.max_steps", "5", "[owner]\nname = \"\"\"\n[turn]\nmax_steps = 1\n\"\"\"\n\n[turn]\nmax_steps = 5\n"},
	}
	for _, tt := range tests {
		got, err := main.SetKeys(sampleReference(), "config.toml", []byte(tt.doc), main.KeyChange{Key: tt.key, Value: tt.value})
		if err != nil || string(got) != tt.want {
			t.Errorf("%q: %v\ngot  %q\nwant %q", tt.doc, err, got, tt.want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct {
		doc, key, value, want string
	}{
		{"", "turn.max_steps", "0", `config.toml:2:13: max_steps: want 1 or more, found 0, so [turn] is off`},
		{"", "turn.max_steps", "many", `max_steps: want a whole number, found "many"`},
		{"", "turn.max_steps", "1\nx = 2", `want a whole number`},
		{"", "turn.max_running", "15", `max_running: want a time with its unit, like "30m" or "1h30m", found "15"`},
		{"", "budget.per_day", "nan", `per_day: want a number, found "nan"`},
		{"", "channels.door.loud", "yes", `there is no kind of channel named "door": set its kind first: channels.door.kind is one of bell`},
		{"", "turn.max_stps", "1", `there is no key "max_stps" in [turn]: did you mean "max_steps"?`},
		{"", "turm.max_steps", "1", `there is no section "turm": did you mean "turn"?`},
		{"", "turn", "1", `turn is a section: name a key in it, for example turn.max_steps`},
		{"", "models.model", "1", `models.model is a section: name a key in it, for example models.model.backend`},
		{"", "jobs.a.b.c", "1", `there is no key "b.c" in [jobs.a]: known here: cron, prompt`},
		{"", "a b", "1", `"a b" is no name of a key: want section.key`},
		{"", "turn.max_steps = 1 #", "1", `is no name of a key`},
		{"", "model.price", "{ input = 1 }\n", ""},
		{"", "model.price", "3 # x", `price: want a value as TOML writes it, like { input = 3.0 }`},
		{"", "model.price", "3", `price: want a section, found 3`},
		{"", "model.fallback", "[\"a\"", `fallback: want a list`},
		{"", "model.fallback", "a", `there is no [models.a]`},
		{"", "model.backend", "hal", `backend: want one of openrouter, lmstudio, ollama, found "hal"`},
		{"[turn\n", "turn.max_steps", "1", "config.toml:1:6:"},
		{"[[turn]]\n", "turn.max_steps", "1", main.ErrEditByHand.Error()},
		{"[turn]\nmax_steps = 1\n", "turn.max_steps.x", "1", `there is no key "max_steps.x"`},
		{"", "owner.name", "\xff", "not UTF-8"},
	}
	for _, tt := range tests {
		got, err := main.SetKeys(sampleReference(), "config.toml", []byte(tt.doc), main.KeyChange{Key: tt.key, Value: tt.value})
		if tt.want == "" && err == nil {
			continue
		}
		if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) || got != nil {
			t.Errorf("%s = %q: got %q, %v; want an error with %q", tt.key, tt.value, got, err, tt.want)
		}
	}
	for key, want := range map[string]string{"turn.max_steps": "nothing to take out"} {
		if _, err := main.SetKeys(sampleReference(), "config.toml", []byte(sampleConfig), main.KeyChange{Key: key, Unset: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unset %s: %v", key, err)
		}
	}
}

// A mistake that was there before is no reason to refuse a change elsewhere; it may be mended in steps.
func TestSetMayLeaveOldMistakes(t *testing.T) {
	doc := "[turn]\nmax_steps = 0\nmax_runing = \"1m\"\n"
	got, err := main.SetKeys(sampleReference(), "config.toml", []byte(doc), main.KeyChange{Key: "guard.mode", Value: "open"})
	if err != nil || string(got) != doc+"\n[guard]\nmode = \"open\"\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err = main.SetKeys(sampleReference(), "config.toml", []byte(doc), main.KeyChange{Key: "turn.max_runing", Unset: true}); err != nil || string(got) != "[turn]\nmax_steps = 0\n" {
		t.Errorf("an unknown key is taken out: %q, %v", got, err)
	}
}

// setting draws a key of the core or of a plug-in with a value that a person would type, and what Look gives for it.
func setting(t *rapid.T) (main.KeyChange, any) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("abc äß\"'\\#[]{}=,.-_\t\n中🙂"))).Draw(t, "text")
	n := rapid.Int64Range(1, 1<<40).Draw(t, "number")
	word := rapid.SampledFrom([]string{"off", "minimal", "low", "medium", "high", "xhigh"}).Draw(t, "word")
	list := rapid.SliceOfN(rapid.SampledFrom(config.ToolNames()), 0, 4).Draw(t, "list")
	minutes := rapid.IntRange(1, 59).Draw(t, "minutes")
	name := rapid.SampledFrom([]string{"model", "models.local", `models."a b"`}).Draw(t, "model")
	type choice struct {
		change main.KeyChange
		want   any
	}
	c := rapid.SampledFrom([]choice{
		{main.KeyChange{Key: name + ".model", Value: text}, text},
		{main.KeyChange{Key: "owner.name", Value: text}, text},
		{main.KeyChange{Key: name + ".thinking", Value: word}, word},
		{main.KeyChange{Key: "turn.max_steps", Value: fmt.Sprint(n)}, n},
		{main.KeyChange{Key: "budget.tokens_per_day", Value: fmt.Sprint(n)}, n},
		{main.KeyChange{Key: name + ".price.output", Value: fmt.Sprint(float64(minutes) / 8)}, float64(minutes) / 8},
		{main.KeyChange{Key: name + ".idle_timeout", Value: fmt.Sprintf("%dm", minutes)}, fmt.Sprintf("%dm", minutes)},
		{main.KeyChange{Key: "tools.deny", Value: strings.Join(list, ",")}, list},
		{main.KeyChange{Key: "channels.door.topic", Value: text}, text},
		{main.KeyChange{Key: "channels.door.loud", Value: "true"}, true},
		{main.KeyChange{Key: "channels.door.size", Value: fmt.Sprint(minutes)}, int64(minutes)},
	}).Draw(t, "setting")
	return c.change, c.want
}

// document draws a file: sections in any order, keys in several spellings, comments and blank lines between.
func document(t *rapid.T) string {
	noise := rapid.SampledFrom([]string{"", "\n", "# [turn] max_steps = 1\n", "\t# ü \"\"\" '''\n"})
	spot := rapid.SampledFrom([]string{"", " ", " # c = [ { \"", "\t#"})
	sections := map[string][]string{
		"[model]":          {`backend = "ollama"`, `model="a#b"`, "price = {input=1,output = 2.5}", "thinking = 'low'", "\"idle_timeout\" = '''1m'''"},
		"[models.local]":   {`  model = """x"""`, "\tprice.input = 3", "fallback = []"},
		"[ models.'a b' ]": {`model = "\u00e4"`, "thinking = \"off\""},
		"[owner]":          {"name = \"\"\"\n[turn]\nmax_steps = 9\n\"\"\"", `timezone = "UTC"`},
		"[tools]":          {"deny = [ # none\n  \"exec\", 'write' # ]\n  ,\n]", `roots = ["/a:ro"]`},
		"[turn]":           {"max_steps = 5_0", `max_running = "1h"`},
		"[channels.door]":  {`kind = "bell"`, `topic = "a]b"`, "names = [ 'x', \"y\" ]", "size = 0x10"},
		"[jobs.m]":         {`cron = "@daily"`, `prompt = "p"`},
	}
	var b strings.Builder
	order := rapid.Permutation(slices.Sorted(keysOf(sections))).Draw(t, "order")
	for _, header := range order {
		needed := header == "[channels.door]"
		if !needed && rapid.Bool().Draw(t, "left out") {
			continue
		}
		b.WriteString(noise.Draw(t, "noise") + header + spot.Draw(t, "behind") + "\n")
		for i, pair := range sections[header] {
			if needed && i == 0 || rapid.Bool().Draw(t, "pair") {
				b.WriteString(noise.Draw(t, "noise") + pair + spot.Draw(t, "behind") + "\n")
			}
		}
	}
	doc := b.String() + noise.Draw(t, "noise")
	if rapid.Bool().Draw(t, "CRLF") {
		doc = strings.ReplaceAll(doc, "\n", "\r\n")
	}
	return doc
}

func keysOf(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// differ returns the lines that are only in one of two documents, between those that they begin and end with together.
func differ(before, after string) (gone, come []string) {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// keyLine reports whether the lines that a change took away are those of its key alone.
func keyLine(gone []string, key string) bool {
	if len(gone) == 0 {
		return true
	}
	parts := strings.Split(key, ".")
	return strings.Contains(gone[0], parts[len(parts)-1]) || strings.Contains(gone[0], "price")
}

// TestWhatIsSetIsGot sets a random key of a random file: Look gives the value, every other line stays byte by byte, and so does the comment
// TestWhatIsSetIsGot a value on one line. Taking the key out again leaves no trace of it in what Look gives.
func TestWhatIsSetIsGot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t)
		c, want := setting(t)
		next, err := main.SetKeys(sampleReference(), path, []byte(doc), c)
		if err != nil {
			t.Fatalf("set %s to %q: %v", c.Key, c.Value, err)
		}
		if err := os.WriteFile(path, next, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := sampleReference().Look(path, nil, c.Key)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Value, want) || got[0].From != config.FromFile {
			t.Fatalf("set %s to %q: got %+v, %v; want %#v", c.Key, c.Value, got, err, want)
		}
		gone, come := differ(doc, string(next))
		if !keyLine(gone, c.Key) || len(come) > 3 {
			t.Fatalf("set %s to %q took away %q for %q", c.Key, c.Value, gone, come)
		}
		if len(gone) == 1 && strings.Contains(gone[0], "# c = ") && !strings.HasSuffix(come[0], gone[0][strings.LastIndex(gone[0], "# c = "):]) {
			t.Fatalf("the comment of %q is lost: %q", gone, come)
		}
		without, err := main.SetKeys(sampleReference(), path, next, main.KeyChange{Key: c.Key, Unset: true})
		if err != nil {
			t.Fatalf("unset %s: %v", c.Key, err)
		}
		if again, err := main.SetKeys(sampleReference(), path, without, c); err != nil || !same(t, again, next) {
			t.Fatalf("out and in again: %q, %v; want the content of %q", again, err, next)
		}
	})
}

// same reports whether two documents have the same values.
func same(t interface{ Fatal(...any) }, a, b []byte) bool {
	var x, y map[string]any
	if err := errors.Join(toml.Unmarshal(a, &x), toml.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// FuzzSet edits hostile documents: it may refuse, but what it returns is TOML, holds the value, and has every comment that stood outside.
func FuzzSet(f *testing.F) {
	for _, doc := range []string{sampleConfig, "turn.x=1", "turn={a=1}", "[[turn]]\n[turn.a]", "a='''\n'''''\n[turn]#", "[turn]\nmax_steps=1#\r\n", "x=[{a=[1,\n#]\n]}]", "[turn.max_steps]\n", "\xef\xbb\xbf[turn]"} {
		f.Add(doc, "owner.name", "a\"b\\\n")
		f.Add(doc, "turn.max_steps", "7")
	}
	f.Fuzz(func(t *testing.T, doc, key, value string) {
		next, err := main.SetKeys(sampleReference(), "config.toml", []byte(doc), main.KeyChange{Key: key, Value: value})
		if err != nil {
			return
		}
		var tree map[string]any
		if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(next), "\xef\xbb\xbf")), &tree); err != nil {
			t.Fatalf("no TOML: %v\n%s", err, next)
		}
		again, err := main.SetKeys(sampleReference(), "config.toml", next, main.KeyChange{Key: key, Value: value})
		if err != nil || string(again) != string(next) {
			t.Fatalf("the same once more is something else: %v\n%q\n%q", err, next, again)
		}
		if strings.Count(string(next), "#") < strings.Count(doc, "#")-strings.Count(longest(differ(doc, string(next))), "#") {
			t.Fatalf("a comment is lost:\n%q\n%q", doc, next)
		}
	})
}

func longest(gone, _ []string) string { return strings.Join(gone, "") }
