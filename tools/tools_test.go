package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/tools"
)

type item struct {
	Label string `json:"label" jsonschema:"what it says" min:"1"`
}

type input struct {
	Path  string            `json:"path" jsonschema:"a path" min:"1"`
	Limit int               `json:"limit,omitempty" jsonschema:"how many" min:"1" max:"5" default:"2"`
	Ratio float64           `json:"ratio,omitempty" jsonschema:"a number"`
	Mode  string            `json:"mode,omitempty" jsonschema:"how" enum:"fast,slow" default:"fast"`
	All   bool              `json:"all,omitempty" jsonschema:"everything"`
	Items []item            `json:"items,omitempty" jsonschema:"a list" max:"2"`
	Tags  []string          `json:"tags,omitempty" jsonschema:"words" enum:"a,b"`
	Env   map[string]string `json:"env,omitempty" jsonschema:"variables"`
	Sub   *item             `json:"sub,omitempty" jsonschema:"one thing"`
}

type output struct {
	Got input `json:"got" jsonschema:"what came"`
}

func echo(run func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error)) tools.Tool {
	if run == nil {
		run = func(_ context.Context, _ tools.Call, in input, _ tools.Intent) (tools.Result, error) {
			return tools.Result{Content: "ok", Data: output{in}}, nil
		}
	}
	return tools.New[input, output](tools.Spec{Name: "echo", Group: "test", Description: "says what came"},
		func(context.Context, tools.Call, input) (tools.Intent, error) { return tools.Intent{}, nil }, run)
}

func TestSchema(t *testing.T) {
	const want = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"a path","minLength":1},` +
		`"limit":{"type":"integer","description":"how many","default":2,"minimum":1,"maximum":5},` +
		`"ratio":{"type":"number","description":"a number"},` +
		`"mode":{"type":"string","description":"how","default":"fast","enum":["fast","slow"]},` +
		`"all":{"type":"boolean","description":"everything"},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string","description":"what it says","minLength":1}},"required":["label"],"additionalProperties":false},"description":"a list","maxItems":2},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"description":"words"},` +
		`"env":{"type":"object","description":"variables","additionalProperties":{"type":"string"}},` +
		`"sub":{"type":"object","properties":{"label":{"type":"string","description":"what it says","minLength":1}},"description":"one thing","required":["label"],"additionalProperties":false}},` +
		`"required":["path"],"additionalProperties":false}`
	if got := string(echo(nil).Spec().Parameters); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       []string // all of them in the answer; none: valid
	}{
		{"least", `{"path": "a"}`, nil},
		{"everything", `{"path":"a","limit":5,"ratio":0.5,"mode":"slow","all":true,"items":[{"label":"x"}],"tags":["a"],"env":{"A":"1"},"sub":{"label":"y"}}`, nil},
		{"null is left out", `{"path":"a","limit":null,"items":null}`, nil},
		{"number in a string", `{"path":"a","limit":"3","ratio":" 1.5 "}`, nil},
		{"whole float", `{"path":"a","limit":3.0}`, nil},
		{"whole exponent", `{"path":"a","limit":3e0}`, nil},
		{"boolean in a string", `{"path":"a","all":"true"}`, nil},
		{"empty", ``, []string{"path: missing (a string)"}},
		{"null", `null`, []string{"path: missing"}},
		{"required null", `{"path":null}`, []string{"path: missing"}},
		{"empty string", `{"path":""}`, []string{"path: must not be empty"}},
		{"every fault", `{"limit":9,"mode":"quick","ofset":1,"tags":["c"],"items":[{"labl":"x"},{},{"label":1}]}`, []string{
			"10 things are wrong", "path: missing", "limit: want at most 5, got 9", `mode: want one of fast, slow, got "quick"`, "ofset: unknown",
			`tags[0]: want one of a, b, got "c"`, "items[0].labl: unknown; did you mean label?", "items[1].label: missing",
			"items[2].label: want a string, got the number 1",
			"items: want at most 2, got 3",
		}},
		{"nearest name", `{"path":"a","limt":1}`, []string{"limt: unknown; did you mean limit?", "the parameters are: path (required), limit,"}},
		{"case matters", `{"Path":"a"}`, []string{"Path: unknown; did you mean path?", "path: missing"}},
		{"given twice", `{"path":"a","path":"b"}`, []string{"path: given twice"}},
		{"given twice deep down", `{"path":"a","sub":{"label":"a","label":"b"}}`, []string{"sub.label: given twice"}},
		{"no object", `[1]`, []string{"want a JSON object, got a list"}},
		{"a string", `"x"`, []string{`want a JSON object, got the string "x"`}},
		{"cut", `{"path":`, []string{"not valid JSON", "they end too early"}},
		{"broken", `{path: 1}`, []string{"not valid JSON"}},
		{"two", `{"path":"a"} {"path":"b"}`, []string{"text after the JSON object"}},
		{"deep", `{"path":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, []string{"nested more than 64 deep"}},
		{"fraction", `{"path":"a","limit":2.5}`, []string{"limit: want a whole number, got the number 2.5"}},
		{"words for a number", `{"path":"a","limit":"many"}`, []string{`limit: want a whole number, got the string "many"`}},
		{"huge number", `{"path":"a","limit":1e99}`, []string{"limit: want a whole number"}},
		{"beyond all numbers", `{"path":"a","ratio":1e999}`, []string{"ratio: 1e999 is too large"}},
		{"list for a string", `{"path":["a"]}`, []string{"path: want a string, got a list"}},
		{"string for a list", `{"path":"a","tags":"a"}`, []string{"tags: want a list"}},
		{"map value", `{"path":"a","env":{"A":1}}`, []string{"env.A: want a string, got the number 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, ok := tools.Validate(echo(nil), json.RawMessage(c.args))
			if ok != (c.want == nil) || !ok && res.Code != tools.Validation {
				t.Fatalf("ok %v, %+v", ok, res)
			}
			for _, w := range c.want {
				if !strings.Contains(res.Content, w) {
					t.Errorf("%q is not in:\n%s", w, res.Content)
				}
			}
		})
	}
}

func TestValidateWithASchemaFromElsewhere(t *testing.T) {
	foreign := foreignTool{json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":["string","null"]}},"required":["b"]}`)}
	if res, ok := tools.Validate(foreign, json.RawMessage(`{"b":1,"a":null,"more":true}`)); !ok {
		t.Error(res.Content)
	}
	if res, ok := tools.Validate(foreign, json.RawMessage(`{"a":"x"}`)); ok || !strings.Contains(res.Content, "b: missing (a whole number)") {
		t.Error(res.Content)
	}
}

type foreignTool struct{ schema json.RawMessage }

func (f foreignTool) Spec() tools.Spec { return tools.Spec{Name: "foreign", Parameters: f.schema} }
func (foreignTool) Intent(context.Context, tools.Call) (tools.Intent, error) {
	return tools.Intent{}, nil
}

func (foreignTool) Run(context.Context, tools.Call, tools.Intent) (tools.Result, error) {
	return tools.Result{}, nil
}

func TestRunDecodesDefaultsAndSlips(t *testing.T) {
	res, err := echo(nil).Run(t.Context(), tools.Call{Args: json.RawMessage(`{"path":"a","ratio":"1.5","all":"true","sub":null}`)}, tools.Intent{})
	if err != nil || res.IsError {
		t.Fatal(err, res.Content)
	}
	data, ok := res.Data.(output)
	if !ok {
		t.Fatalf("%T", res.Data)
	}
	got := data.Got
	if got.Limit != 2 || got.Mode != "fast" || got.Ratio != 1.5 || !got.All || got.Sub != nil {
		t.Errorf("%+v", got)
	}
}

func TestRunTurnsEveryFailureIntoAResult(t *testing.T) {
	type runner = func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error)
	for _, c := range []struct {
		name string
		run  runner
		code tools.Code
		text string
	}{
		{"panic", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) { panic("boom") }, tools.Unknown, "echo: internal error: boom"},
		{"error", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
			return tools.Result{}, errors.New("disk full")
		}, tools.Unknown, "disk full"},
		{"refusal", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
			return tools.Result{}, fmt.Errorf("deep: %w", tools.Refuse(tools.NotFound, "try b", "no a"))
		}, tools.NotFound, "no a\nhint: try b"},
		{"cancelled", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
			return tools.Result{}, fmt.Errorf("read: %w", context.Canceled)
		}, tools.Cancelled, "stopped"},
		{"late", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
			return tools.Result{}, context.DeadlineExceeded
		}, tools.Timeout, "time is over"},
		{"wrong data", func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
			return tools.Result{Data: 5}, nil
		}, tools.Unknown, "result data is a int"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := echo(c.run).Run(t.Context(), tools.Call{Args: json.RawMessage(`{"path":"a"}`)}, tools.Intent{})
			if err != nil || !res.IsError || res.Code != c.code || !strings.Contains(res.Content, c.text) {
				t.Errorf("%v %+v", err, res)
			}
		})
	}
}

func TestNewPanicsForAProgrammersMistake(t *testing.T) {
	type badBound struct {
		All bool `json:"all" jsonschema:"x" min:"1"`
	}
	for name, make := range map[string]func(){
		"no description": func() { tools.New[input, output](tools.Spec{Name: "x", Group: "g"}, nil, nil) },
		"no struct":      func() { tools.New[int, output](tools.Spec{Name: "x", Group: "g", Description: "d"}, nil, nil) },
		"bad bound":      func() { tools.New[badBound, output](tools.Spec{Name: "x", Group: "g", Description: "d"}, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			make()
		})
	}
}

func TestSet(t *testing.T) {
	named := func(name string) tools.Tool {
		return tools.New[input, output](tools.Spec{Name: name, Group: "g", Description: "d"},
			func(context.Context, tools.Call, input) (tools.Intent, error) { return tools.Intent{}, nil },
			func(context.Context, tools.Call, input, tools.Intent) (tools.Result, error) {
				return tools.Result{}, nil
			})
	}
	if _, err := tools.NewSet(named("a"), named("a")); err == nil {
		t.Error("two tools of one name")
	}
	s, err := tools.NewSet(named("read"), named("write"), named("result_read"), named("exec"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find("Read"); ok {
		t.Error("Find takes another case")
	}
	for name, want := range map[string]string{
		"raed": "read", "READ": "read", "wirte": "write", "read_result": "read", "execute": "exec", "zzzz": "", "": "", "raxx": "",
	} {
		got := strings.Join(s.Nearest(name), " ")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q first", name, got, want)
		}
	}
}

func TestNearestIsAmongTheKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,8}`), rapid.ID).Draw(t, "known")
		word := rapid.String().Draw(t, "word")
		got := tools.Nearest(word, known, 3)
		if len(got) > 3 {
			t.Fatalf("%d words", len(got))
		}
		for _, g := range got {
			if !slices.Contains(known, g) {
				t.Fatalf("%q is not known", g)
			}
		}
		if slices.Contains(known, word) && (len(got) == 0 || got[0] != word) {
			t.Fatalf("%q is known, got %q", word, got)
		}
	})
}

func TestInstant(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	now := at("2026-11-21T08:00:00Z") // 09:00 in Berlin, Saturday
	for _, c := range []struct{ in, zone, now, want string }{
		{"2026-12-24T17:00:00+01:00", "Europe/Berlin", "", "2026-12-24T16:00:00Z"},
		{"2026-12-24 17:00", "Europe/Berlin", "", "2026-12-24T16:00:00Z"},
		{"17:00", "Europe/Berlin", "", "2026-11-21T16:00:00Z"},
		{"09:00", "Europe/Berlin", "", "2026-11-22T08:00:00Z"}, // now is not later
		{"08:59", "Europe/Berlin", "", "2026-11-22T07:59:00Z"},
		{"9:00", "UTC", "", "2026-11-21T09:00:00Z"},
		{"90m", "", "", "2026-11-21T09:30:00Z"},
		{"2d", "", "", "2026-11-23T08:00:00Z"},
		{"1w 1d12h", "", "", "2026-11-29T20:00:00Z"},
		{"02:30", "Europe/Berlin", "2026-03-28T20:00:00Z", "2026-03-29T01:00:00Z"},       // in the gap: its end, 03:00 CEST
		{"02:30", "America/New_York", "2026-03-08T04:00:00Z", "2026-03-08T07:00:00Z"},    // Date moves it backward here
		{"02:15", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"}, // a gap of half an hour
		{"02:30", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T00:30:00Z"},       // in the fold: the first one
		{"tomorrow", "UTC", "", ""},
		{"25:00", "UTC", "", ""},
		{"", "UTC", "", ""},
		{"17:00", "Local", "", ""},
		{"17:00", "Mars/Base", "", ""},
		{"d", "", "", ""},
		{"-1d", "", "", ""},
	} {
		from := now
		if c.now != "" {
			from = at(c.now)
		}
		got, err := tools.Instant(c.in, from, c.zone)
		if (err != nil) != (c.want == "") || err == nil && !got.Equal(at(c.want)) {
			t.Errorf("%q in %s: %v %v, want %s", c.in, c.zone, got.UTC(), err, c.want)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"path":"a","limit":"3.0","items":[{"label":"x"}]}`)
	f.Add(`{"path":"a","limit":1e-999999999}`)
	f.Fuzz(func(t *testing.T, args string) {
		tool := echo(nil)
		res, ok := tools.Validate(tool, json.RawMessage(args))
		ran, err := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(args)}, tools.Intent{})
		if err != nil || ok == res.IsError || ok == ran.IsError {
			t.Fatalf("valid %v, ran %+v, %v", ok, ran, err)
		}
	})
}

// What an approval binds names the tool first, and has no escapes that a person would have to decode.
func TestCanonicalCall(t *testing.T) {
	t.Parallel()
	type in struct {
		A string   `json:"a,omitempty"`
		B []string `json:"b,omitempty"`
	}
	for want, one := range map[string]in{`{"tool":"t"}`: {}, `{"tool":"t","a":"<&>"}`: {A: "<&>"}, `{"tool":"t","b":["x"]}`: {B: []string{"x"}}} {
		if got, err := tools.CanonicalCall("t", one); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if _, err := tools.CanonicalCall("t", struct{ F func() }{}); err == nil {
		t.Error("a function was encoded")
	}
}
