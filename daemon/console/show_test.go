package console_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/daemon/console"
)

func TestLayout(t *testing.T) {
	head := func() []string { return []string{"A", "TEXT"} }
	for _, c := range []struct {
		name  string
		rows  [][]string
		width int
		want  string
	}{
		{"whole", [][]string{{"1", "short"}}, 0, "A  TEXT\n1  short\n"},
		{"cut", [][]string{{"1", "a text that is too long"}}, 16, "A  TEXT\n1  a text that…\n"},
		{"not cut when it fits", [][]string{{"1", "exactly this."}}, 16, "A  TEXT\n1  exactly this.\n"},
		{"a wide column makes room", [][]string{{strings.Repeat("x", 30), "0123456789abc"}}, 30, "A" + strings.Repeat(" ", 19) + "TEXT\n" + strings.Repeat("x", 17) + "…  012345678…\n"},
		{"no room at all", [][]string{{strings.Repeat("x", 30), "0123456789abc"}}, 15, "A         TEXT\nxxxxxxx…  012345678…\n"},
		{"an instant stays whole", [][]string{{"2026-11-21 09:00 CET", "0123456789abc"}}, 34, "A                     TEXT\n2026-11-21 09:00 CET  0123456789a…\n"},
		{"lines and controls", [][]string{{"1", "a\nb\x1b[2J"}}, 0, "A  TEXT\n1  a b\n"},
		{"wide letters", [][]string{{"日本", "x"}, {"ab", "y"}}, 0, "A     TEXT\n日本  x\nab    y\n"},
		{"wide letters cut", [][]string{{"1", "日本語日本語日本語"}}, 14, "A  TEXT\n1  日本語日本…\n"},
		{"off a terminal", [][]string{{strings.Repeat("y", 300), strings.Repeat("x", 300)}}, 0, "A" + strings.Repeat(" ", 201) + "TEXT\n" + strings.Repeat("y", 199) + "…  " + strings.Repeat("x", 199) + "…\n"},
		{"empty last cell", [][]string{{"1", ""}}, 0, "A  TEXT\n1\n"},
	} {
		if got := console.Table(head(), c.rows, c.width); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// TestNarrow: a table that is too wide first loses what says nothing and the end of its last column, then that of other texts, then
// columns from the right. Instants and states stay whole.
func TestNarrow(t *testing.T) {
	table := func(width int) string {
		return console.Table([]string{"NAME", "DUE", "STATE", "LATE", "BEGAN", "REASON"}, [][]string{
			{"water-the-plants", "2026-11-21 09:00 CET", "coalesced", "-", "09:00:05", "waiting for the one before it"},
			{"tea", "2026-11-20 09:00 CET", "ran", "", "11-21 08:00", "run by hand"},
		}, width)
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "NAME              DUE                   STATE      LATE  BEGAN        REASON\n" +
			"water-the-plants  2026-11-21 09:00 CET  coalesced  -     09:00:05     waiting for the one before it\n" +
			"tea               2026-11-20 09:00 CET  ran              11-21 08:00  run by hand\n"},
		{80, "NAME              DUE                   STATE      BEGAN        REASON\n" +
			"water-the-plants  2026-11-21 09:00 CET  coalesced  09:00:05     waiting for the…\n" +
			"tea               2026-11-20 09:00 CET  ran        11-21 08:00  run by hand\n"},
		{70, "NAME          DUE                   STATE      BEGAN        REASON\n" +
			"water-the-p…  2026-11-21 09:00 CET  coalesced  09:00:05     waiting f…\n" +
			"tea           2026-11-20 09:00 CET  ran        11-21 08:00  run by ha…\n"},
	} {
		if got := table(c.width); got != c.want {
			t.Errorf("in %d cells:\n%s", c.width, got)
		}
	}
}

// TestTablesFit holds for all texts: no line is wider than the terminal.
func TestTablesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(40, 100).Draw(t, "width")
		var rows [][]string
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows = append(rows, []string{rapid.String().Draw(t, "first"), rapid.String().Draw(t, "last")})
		}
		for _, line := range strings.Split(console.Table([]string{"A", "B"}, rows, room), "\n") {
			if n := console.Cells(line); n > room {
				t.Fatalf("a line of %d cells in %d: %q", n, room, line)
			}
		}
	})
}

func TestWords(t *testing.T) {
	cet := time.FixedZone("CET", 3600)
	for got, want := range map[string]string{
		console.Plural(0, "job"): "0 jobs", console.Plural(1, "job"): "1 job", console.Plural(2000, "job"): "2,000 jobs",
		console.Thousands(-1234567): "-1,234,567", console.Thousands(999): "999", console.Thousands(1000): "1,000",
		console.Size(1): "1 byte", console.Size(1536): "1.5 KB", console.Size(3 << 20): "3.0 MB", console.Size(5 << 30): "5.0 GB",
		console.Money(1_234_567): "1.23", console.Span(12): "12ms", console.Span(61_234): "1m1.2s", console.InZone(time.Time{}, cet, false): "-",
		console.Period("every 30m0s"): "every 30m", console.Period("2h0m0s"): "2h", console.Period("every 1h30m0s"): "every 1h30m", console.Period("45s"): "45s",
		console.Period("every 1h0m5s"): "every 1h0m5s", console.Period("cron 0 9 * * 1-5"): "cron 0 9 * * 1-5", console.Period(""): "",
		console.InZone(time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC), cet, false): "2026-11-21 09:00 CET", console.InZone(time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC), cet, true): "2026-11-21 09:00:05 CET",
		console.ToYou("dropped by the owner"):                 "dropped by you",
		console.Nearest("statsu", []string{"status", "chat"}): "status", console.Nearest("ver", []string{"version"}): "version",
		console.Nearest("x", []string{"y", "z"}): "", console.Nearest("sned", []string{"send"}): "send", console.Nearest("completely", []string{"status"}): "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDetails(t *testing.T) {
	in := `{"id":3,"name":"a\nb","at":"2026-11-21T09:00:00Z","took_ms":1500,"cost_micros":2000000,"bytes":2048,"on":true,"gone":null,"none":[],` +
		`"rows":[{"part":0,"state":"sent","text":""}],"inner":{"kind":"step","id":1},"bad":"\u001b[2J"}`
	want := "id           3\nname         a\n             b\nat           " + console.Clock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)) +
		"\ntook_ms      1.5s\ncost_micros  2.00\nbytes        2.0 KB\non           yes\nrows\n  part 0 · state sent\ninner        kind step · id 1\nbad          \\x1b[2J\n"
	if got := (console.Sheet{}).Details(json.RawMessage(in)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSheet(t *testing.T) {
	in := `{"spec":"every 30m0s","next":["2026-11-21T09:00:05Z"],"args":[{"a":"` + strings.Repeat("x", 300) + `"}]}`
	sheet := console.Sheet{
		Clock: func(at time.Time) string { return "at " + at.Format("05") },
		Text:  func(key, text string) string { return key + "=" + text },
	}
	want := "spec  spec=every 30m0s\nnext\n  at 05\nargs\n  a a=" + strings.Repeat("x", 197) + "…\n"
	if got := sheet.Details(json.RawMessage(in)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

const schema = `{"type":"object","required":["path"],"properties":{
	"path":{"type":"string","description":"the file"},"old_text":{"type":"string"},"limit":{"type":"integer"},"score":{"type":"number"},
	"all":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"edits":{"type":"array","items":{"type":"object"}},
	"env":{"type":"object"},"input":{"type":"string"},"mode":{"type":"string","enum":["a","b"]}}}`

func TestForm(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // the input, or what the error has in it
	}{
		{"read", `{}`},
		{"read a.txt", `{"path":"a.txt"}`},
		{"read --path a.txt --limit 3", `{"limit":3,"path":"a.txt"}`},
		{"read --limit=3 a.txt", `{"limit":3,"path":"a.txt"}`},
		{"--limit 3 read a.txt", `{"limit":3,"path":"a.txt"}`},
		{"read --old-text x", `{"old_text":"x"}`},
		{"read --old_text x", `{"old_text":"x"}`},
		{"read --all", `{"all":true}`},
		{"read --all=false a", `{"all":false,"path":"a"}`},
		{"read --score 0.5", `{"score":0.5}`},
		{"read --tags x --tags y,z", `{"tags":["x","y,z"]}`},
		{`read --tags ["x"]`, `{"tags":["x"]}`},
		{`read --edits [{"a":1}]`, `{"edits":[{"a":1}]}`},
		{`read --env {"A":"b"}`, `{"env":{"A":"b"}}`},
		{"read --arg-input x", `{"input":"x"}`},
		{`read --input {"path":"x"}`, `{"path":"x"}`},
		{"read --input -", `{"from":"stdin"}`},
		{"read -- --odd", `{"path":"--odd"}`},
		{"read a b", `"b" is too much`},
		{"read a --path b", `given twice`},
		{"read --limit x", `--limit "x" is not a whole number`},
		{"read --score NaN", `--score "NaN" is not a number`},
		{"read --all=maybe", `--all "maybe" is not true or false`},
		{"read --edits x", `--edits "x" is not JSON`},
		{"read a --limit", `--limit needs a value`},
		{"read --tags {} --tags [] --tags x", `["x"]`},
		{"read --limt 3", `did you mean "--limit"`},
		{"read --input 3", `not a JSON object`},
		{"read --input null", `not a JSON object`},
		{"read --limit 1 --input x", `{"input":"x","limit":1}`},
		{"read a --input {}", `{"input":"{}","path":"a"}`},
		{"read a --input=", `{"input":"","path":"a"}`},
		{"read --input {} --arg-input x", `input is given twice`},
	} {
		f, err := console.NewForm(console.ToolSpec{Name: "read", Positional: "path", Parameters: json.RawMessage(schema)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Parse(strings.Fields(c.args), strings.NewReader(`{"from":"stdin"}`))
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if strings.HasPrefix(c.want, "{") && string(got) != c.want || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
}

// TestFormTexts: what only begins like a flag is a text, wherever one may stand.
func TestFormTexts(t *testing.T) {
	const patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a=1\n+a=2\n"
	quoted, _ := json.Marshal(patch) // a text always can
	for want, args := range map[string][]string{
		`{"path":` + string(quoted) + `}`:            {"read", patch},
		`{"limit":3,"path":` + string(quoted) + `}`:  {"read", patch, "--limit", "3"},
		`{"mode":` + string(quoted) + `}`:            {"read", "--mode", patch},
		`{"mode":` + string(quoted) + `,"path":"a"}`: {"read", "--mode=" + patch, "a"},
		`{"path":"- milk"}`:                          {"read", "- milk"},
		`{"tags":["- a","-b c"]}`:                    {"read", "--tags", "- a", "--tags", "-b c"},
		`{"path":"--odd\n"}`:                         {"read", "--", "--odd\n"},
		`tool read has no field "--zzzzzzzzzz"`:      {"read", "--zzzzzzzzzz=a b"},
	} {
		f, err := console.NewForm(console.ToolSpec{Name: "read", Positional: "path", Parameters: json.RawMessage(schema)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Parse(args, strings.NewReader(""))
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if string(got) != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

// TestFormWithoutAFieldInput: --input is the whole input, and nothing stands beside it.
func TestFormWithoutAFieldInput(t *testing.T) {
	plain := strings.Replace(schema, `"input"`, `"other"`, 1)
	for _, args := range []string{"read --input {} a", "read --input {} --limit 1"} {
		f, err := console.NewForm(console.ToolSpec{Name: "read", Positional: "path", Parameters: json.RawMessage(plain)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Parse(strings.Fields(args), strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "too much") {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
}

// FuzzForm: any arguments give a JSON object or an error.
func FuzzForm(f *testing.F) {
	for _, s := range []string{"read a", "read --tags x --tags [", "read --input {", "--", "read --edits []"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		form, err := console.NewForm(console.ToolSpec{Name: "read", Positional: "path", Parameters: json.RawMessage(schema)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := form.Parse(append([]string{"read"}, strings.Fields(args)...), strings.NewReader(""))
		var object map[string]any
		if err == nil && json.Unmarshal(got, &object) != nil {
			t.Errorf("%q: %s", args, got)
		}
	})
}
