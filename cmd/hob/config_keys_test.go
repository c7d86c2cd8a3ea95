package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"

	main "hob/cmd/hob"
	"hob/config"
	"hob/config/schema"
	"hob/daemon"
	"hob/daemon/sys/systest"
)

func reference() config.Reference { return config.NewReference(daemon.ConfigSections(nil)) }

// example is the document of the page, with every key that excludes no other.
func example(t *testing.T) string {
	t.Helper()
	for _, secret := range []string{"HOOK_SECRET", "OLD_HOOK_SECRET"} {
		t.Setenv(secret, "of the example") // without it the example's webhook is off, which is said
	}
	_, rest, ok := strings.Cut(main.ConfigPage(reference()), "```toml\n")
	doc, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatal("the page shows no config")
	}
	return doc
}

// problems are all mistakes of a document, those included for which it is no TOML.
func problems(doc string) []config.Problem {
	found, err := reference().Check("config.toml", []byte(doc), nil)
	var list config.Errors
	if errors.As(err, &list) {
		found = list
	}
	return slices.DeleteFunc(found, func(p config.Problem) bool {
		return strings.Contains(p.Text, "is not there: nothing fires until it is") // the example's folder, on this machine
	})
}

func all(keys []schema.Key) []schema.Key {
	var list []schema.Key
	for _, k := range keys {
		list = append(append(list, k), all(k.Keys)...)
	}
	return list
}

// inPlaceOf are keys that exclude one that the example has.
func inPlaceOf() map[string]string {
	return map[string]string{"topics": "topic", "cron": "when", "every": "when", "at": "when"}
}

// row is where a key stands in the example, and the document without it.
type row struct {
	part config.Part
	key  schema.Key
	line int // from 1
	doc  []string
}

// with is the document with another line in the place of the key's.
func (r row) with(text string) string {
	doc := slices.Clone(r.doc)
	doc[r.line-1] = text
	return strings.Join(doc, "\n")
}

// rows finds each key of each section in the example.
func rows(t *testing.T) []row {
	t.Helper()
	doc := strings.Split(example(t), "\n")
	var list []row
	for _, p := range reference().Parts() {
		if p.Like != "" {
			continue // its keys are those of another part
		}
		header := slices.IndexFunc(doc, func(s string) bool { return strings.Trim(s, "[]") == strings.ReplaceAll(p.Path, "NAME", p.Named) })
		for _, k := range all(p.Keys) {
			name, _, _ := strings.Cut(k.Name, ".")
			if other, ok := inPlaceOf()[name]; ok && p.Named != "" {
				name = other
			}
			i := slices.IndexFunc(doc[header+1:], func(s string) bool { return strings.HasPrefix(s, name+" = ") })
			if header < 0 || i < 0 {
				t.Fatalf("%s.%s does not stand in the example", p.Path, k.Name)
			}
			list = append(list, row{p, k, header + i + 2, doc})
		}
	}
	if len(list) < 45 {
		t.Fatalf("only %d keys", len(list))
	}
	return list
}

// pair is the line that sets a key.
func (r row) pair(value string) string {
	if table, inner, ok := strings.Cut(r.key.Name, "."); ok {
		return table + " = { " + inner + " = " + value + " }"
	}
	return r.key.Name + " = " + value
}

func TestEveryKeyIsDescribed(t *testing.T) {
	for _, p := range reference().Parts() {
		if !strings.HasSuffix(p.Doc, ".") || len(p.Keys) == 0 {
			t.Errorf("[%s]: %q, %d keys", p.Path, p.Doc, len(p.Keys))
		}
		for _, k := range all(p.Keys) {
			if !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s.%s: %q is not a sentence", p.Path, k.Name, k.Doc)
			}
			if k.Example == "" || k.Default == nil && k.Unset == "" {
				t.Errorf("%s.%s: no example, or nothing about leaving it out", p.Path, k.Name)
			}
		}
	}
}

func TestTheExampleIsValid(t *testing.T) {
	if found := problems(example(t)); len(found) > 0 {
		t.Error(found)
	}
}

// TestEachKeyMissing leaves out one key after the other. A channel that is not listed here needs no line: it may take the example without the
// key, or say "KEY: missing"; that a section with a name of its own needs its kind holds for all of them.
func TestEachKeyMissing(t *testing.T) {
	needed := map[string]string{
		"channels.matrix.homeserver": "homeserver: missing",
		"channels.matrix.token":      "token: missing",
		"channels.ntfy.topic":        "topic: missing",
		"channels.ntfy.token":        "owner: a topic is the owner's only with an access token",
		"channels.email.address":     "address: missing",
		"channels.email.imap":        "imap: missing",
		"channels.email.password":    "password: missing",
		"channels.email.smtp":        "smtp: missing",
		"channels.irc.server":        "server: missing",
		"channels.signal.account":    "account: missing",
		"channels.slack.app_token":   "app_token: missing",
		"channels.slack.bot_token":   "bot_token: missing",
		"channels.telegram.token":    "token: missing",
		"channels.discord.token":     "token: missing",
		"model.backend":              "[model] is not complete",
		"model.model":                "[model] is not complete",
		"memory.embeddings.model":    "model: want the name of a model",
		"jobs.NAME.prompt":           "prompt: it is empty",
		"jobs.NAME.when":             "schedule",
		"hooks.NAME.kind":            "once: only the kinds github and sha256\nheader: only kind sha256",
		"hooks.NAME.prompt":          "prompt: it is empty",
		"hooks.NAME.secret":          "secret: it is missing",
		"watches.NAME.paths":         "paths: want between 1 and 100",
		"watches.NAME.prompt":        "prompt: it is empty",
		"tool_hooks.tools":           "tools: missing",
		"tool_hooks.when":            "when: missing",
		"tool_hooks.command":         "command: missing",
	}
	listed := map[string]bool{}
	for name := range needed {
		if kind, ok := strings.CutPrefix(name, "channels."); ok {
			kind, _, _ = strings.Cut(kind, ".")
			listed[kind] = true
		}
	}
	for _, r := range rows(t) {
		if r.key.Apart || strings.Contains(r.key.Name, ".") {
			continue // is not there
		}
		part := r.part.Path
		if r.part.Kind != "" { // of several kinds, each has keys of its own
			part = strings.Replace(part, "NAME", r.part.Kind, 1)
		}
		name := part + "." + r.key.Name
		found := problems(r.with(""))
		want := needed[name]
		switch {
		case want != "" || r.part.Kind == "":
		case r.key.Name == "kind" && r.part.Named != r.part.Kind:
			want = fmt.Sprintf("there is no kind of channel named %q", r.part.Named)
		case len(found) > 0 && !listed[r.part.Kind]:
			want = r.key.Name + ": missing"
		}
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("without %s: %v", name, found)
		case want != "" && !slices.EqualFunc(found, strings.Split(want, "\n"), func(p config.Problem, text string) bool { return strings.Contains(p.Text, text) && p.Line > 0 }):
			t.Errorf("without %s: %v; want %q with their lines", name, found, want)
		}
	}
}

// wrongType is a value of another type.
func wrongType(k schema.Key) string {
	switch k.Type {
	case schema.Text, schema.Duration, schema.List, schema.Table:
		return "1"
	default:
		return `"x"`
	}
}

func TestEachKeyWrong(t *testing.T) {
	for _, r := range rows(t) {
		values := map[string]string{wrongType(r.key): "want "}
		if len(r.key.Words) > 0 {
			values[`"nonsense"`] = "nonsense"
		}
		for value, want := range values {
			line := r.pair(value)
			found := problems(r.with(line))
			i := slices.IndexFunc(found, func(p config.Problem) bool {
				return p.Line == r.line && p.Column == strings.Index(line, value)+1 && p.Fatal && strings.Contains(p.Text, want)
			})
			if i < 0 {
				t.Errorf("%s: %s: no problem at %d:%d with %q: %v", r.part.Path, line, r.line, strings.Index(line, value)+1, want, found)
			}
		}
	}
}

func TestEachKeyUnknown(t *testing.T) {
	for _, r := range rows(t) {
		if strings.Contains(r.key.Name, ".") {
			continue
		}
		line := r.key.Name + "x = 1"
		text := strings.Join(slices.Insert(slices.Clone(r.doc), r.line, line), "\n")
		want := fmt.Sprintf(`config.toml:%d:1: unknown key "%sx": did you mean %q?`, r.line+1, r.key.Name, r.key.Name)
		if found := problems(text); len(found) != 1 || found[0].String() != want {
			t.Errorf("%s: got %v, want %s", r.part.Path, found, want)
		}
	}
}

// bounds are values at the limits of a key, and beyond them.
func bounds(k schema.Key) (good, bad []string) {
	quoted := func(s string) string {
		if k.Type == schema.Duration {
			return `"` + s + `"`
		}
		return s
	}
	if k.Least != "" {
		good = append(good, quoted(k.Least))
	}
	if k.Most != "" {
		good = append(good, quoted(k.Most))
	}
	switch {
	case k.Type == schema.Duration && k.Least != "":
		bad = []string{`"-1h"`}
		if k.Least != "0s" {
			bad = append(bad, `"999ms"`)
		}
		if k.Most == "1h" {
			bad = append(bad, `"1h1s"`)
		}
	case k.Least == "0":
		bad = []string{"-2"}
		if k.Also == "" {
			bad = append(bad, "-1")
		}
	case k.Least == "1":
		bad = []string{"0", "-1"}
	}
	if k.Most != "" && k.Type != schema.Duration {
		bad = append(bad, k.Most+"1")
	}
	if other, _, ok := strings.Cut(k.Also, " "); ok {
		good = append(good, other)
	}
	return good, bad
}

func TestLimitsOfEachKey(t *testing.T) {
	tried := 0
	for _, r := range rows(t) {
		good, bad := bounds(r.key)
		for _, value := range good {
			text := r.with(r.pair(value))
			if r.key.Name == "context_tokens" {
				text = strings.Replace(text, "max_output_tokens = 8192\n", "", 1)
			}
			for _, p := range problems(text) {
				t.Errorf("%s.%s = %s: %s", r.part.Path, r.key.Name, value, p)
			}
		}
		for _, value := range bad {
			tried++
			found := problems(r.with(r.pair(value)))
			if len(found) == 0 || found[0].Line != r.line || !strings.Contains(found[0].Text, "want "+r.key.Range()) {
				t.Errorf("%s.%s = %s: %v", r.part.Path, r.key.Name, value, found)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d values were tried", tried)
	}
}

// sample is a document with what the schema must say of it.
type sample struct {
	Name  string         `json:"name"`
	Valid bool           `json:"valid"`
	Doc   map[string]any `json:"doc"`
}

// samples are documents that a schema can judge, as JSON has them.
func samples(t *testing.T) []sample {
	t.Helper()
	var list []sample
	add := func(name string, valid bool, doc string) {
		var tree map[string]any
		if err := toml.Unmarshal([]byte(doc), &tree); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, sample{name, valid, tree})
	}
	add("the example", true, example(t))
	add("nothing", true, "")
	add("an unknown section", false, "[pulse]\nevery = \"1h\"\n")
	add("a channel named as its kind", true, "[channels.ntfy]\ntopic = \"a\"\n")
	add("a channel of no kind", false, "[channels.alerts]\ntopic = \"a\"\n")
	add("a channel of an unknown kind", false, "[channels.ntfy]\nkind = \"pager\"\n")
	add("a channel with a name of hob's", false, "[channels.Cli]\nkind = \"ntfy\"\ntopic = \"a\"\n")
	add("an empty exec", true, "[tools.exec]\n")
	add("a key of exec", true, "[tools.exec]\nsandbox = \"off\"\n")
	add("an unknown key of exec", false, "[tools.exec]\nsandbocks = \"off\"\n")
	add("no hooks", true, "tool_hooks = []\n")
	add("a hook that is no list", false, "[tool_hooks]\ntools = [\"exec\"]\nwhen = \"after\"\ncommand = \"true\"\n")
	add("an unknown key of another model", false, "[models.a]\nmodl = \"x\"\n")
	for _, r := range rows(t) {
		name := r.part.Path + "." + r.key.Name + " "
		add(name+"of the wrong type", false, r.with(r.pair(wrongType(r.key))))
		if len(r.key.Words) > 0 && r.key.Name != "kind" {
			add(name+"nonsense", false, r.with(r.pair(`"nonsense"`)))
		}
		if !strings.Contains(r.key.Name, ".") {
			add(name+"misspelt", false, r.with(r.key.Name+"x = 1"))
		}
		good, bad := bounds(r.key)
		for _, v := range good {
			add(name+v, true, r.with(r.pair(v)))
		}
		for _, v := range bad {
			if r.key.Type != schema.Duration { // lengths are no matter of a schema
				add(name+v, false, r.with(r.pair(v)))
			}
		}
	}
	return list
}

func schemaText(t *testing.T) []byte {
	t.Helper()
	text, err := main.ConfigSchema(reference())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheSchemaTellsGoodFromBad(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(schemaText(t), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples(t) {
		text, err := json.Marshal(s.Doc)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(doc); (err == nil) != s.Valid {
			t.Errorf("%s: valid %v, want %v: %v", s.Name, err == nil, s.Valid, err)
		}
	}
}

const judge = `
import json, sys
from jsonschema import Draft202012Validator
given = json.load(sys.stdin)
Draft202012Validator.check_schema(given["schema"])
v = Draft202012Validator(given["schema"])
print(json.dumps([s["name"] for s in given["samples"] if v.is_valid(s["doc"]) != s["valid"]]))
`

// TestAnotherValidatorTakesTheSchema compares it with the metaschema of its dialect, and the documents with it, by python3-jsonschema
// (https://python-jsonschema.readthedocs.io), which has nothing in common with hob.
func TestAnotherValidatorTakesTheSchema(t *testing.T) {
	python := systest.Program(t, "python3")
	if err := exec.CommandContext(t.Context(), python, "-c", "import jsonschema").Run(); err != nil {
		systest.Missing(t, "python3 has no jsonschema")
	}
	given, err := json.Marshal(map[string]any{"schema": json.RawMessage(schemaText(t)), "samples": samples(t)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", judge)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), os.Stderr
	out, err := cmd.Output()
	if err != nil || string(out) != "[]\n" {
		t.Errorf("judged otherwise than expected: %s, %v", out, err)
	}
}

func TestThePageIsFresh(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != main.ConfigPage(reference()) {
		t.Error("docs/config.md is stale: run go generate ./cmd/hob")
	}
}
