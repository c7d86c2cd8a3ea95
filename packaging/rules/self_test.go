package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// repeat is body with 1, 2, … n in place of %d, one per line.
func repeat(n int, body string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, body+"\n", i)
	}
	return b.String()
}

// TestRulesCanFail gives each rule a small source that keeps it and one that breaks it.
func TestRulesCanFail(t *testing.T) {
	tests := []struct {
		rule string
		path string
		good string
		bad  string
		want string // in the report
	}{
		{"imports", "config/a.go", `import _ "hob/daemon/secret"`, `import _ "hob/daemon/llm"`, "config/a.go imports daemon/llm"},
		{"imports", "daemon/agent/a.go", `import _ "hob/daemon/agent/turn"`, `import _ "hob/channels"`, "imports channels"},
		{"imports", "channels/ntfy/a.go", `import _ "hob/channels"`, `import _ "hob/channels/cli"`, "imports channels/cli"},
		{"imports", "channels/all/a.go", `import _ "hob/channels/cli"`, `import _ "hob/tools"`, "imports tools"},
		{"imports", "tools/fs/a.go", `import _ "hob/daemon/fsguard"`, `import _ "hob/daemon/sandbox"`, "imports daemon/sandbox"},
		{"imports", "tools/runtime/a.go", `import _ "hob/daemon/sandbox"`, `import _ "hob/config"`, "imports config"},
		{"imports", "daemon/sys/a.go", `import _ "hob/daemon/fail"`, `import _ "hob/daemon/event"`, "imports daemon/event"},
		{"imports", "cmd/hob/a.go", `import _ "hob/daemon"`, `import _ "hob/daemon/store"`, "only daemon may"},
		{"imports", "daemon/store/a.go", `import _ "hob/daemon/sqlite"`, `import _ "hob/daemon/agent"`, "imports daemon/agent"},
		{"imports", "daemon/sqlite/a.go", `import _ "hob/daemon/event"`, `import _ "hob/daemon/api/server"`, "imports daemon/api/server"},
		{"imports", "daemon/agent/b.go", ``, `import _ "hob/daemon/store"`, "only daemon may"},
		{"imports", "scheduler/a_test.go", `import _ "hob/channels"`, `import _ "hob/daemon/store"`, "only daemon may"},
		{"imports", "daemon/a.go", `import _ "hob/daemon/store"`, `import _ "hob/daemon/llm/llmtest"`, "which is for tests"},
		{"places", "channels/irc/a.go", ``, ``, ""},
		{"places", "daemon/misc/a.go", "", ``, "daemon/misc has no row"},
		{"templates", "daemon/a.go", `import _ "text/tabwriter"`, `import _ "text/template"`, "imports text/template"},
		{"test modules", "a/a.go", `import _ "github.com/openai/openai-go/v3"`, `import _ "github.com/anthropics/anthropic-sdk-go/option"`, "which is for tests"},
		{"test modules", "a/a_test.go", `import _ "github.com/anthropics/anthropic-sdk-go"`, ``, ""},
		{"sizes", "a/a.go", repeat(490, "// %d"), repeat(501, "// %d"), "a/a.go has 502 lines"},
		{"sizes", "a/a_test.go", "func f() {\n" + repeat(90, "_ = %d") + "}", repeat(501, "// %d"), "a/a_test.go has 502 lines"},
		{"sizes", "a/a.go", "func f() {\n" + repeat(78, "_ = %d") + "}", "func f() {\n" + repeat(79, "_ = %d") + "}", "a/a.go f has 81 lines"},
		{"sizes", "a/a.go", "type t interface {\n" + repeat(5, "m%d()") + "}", "type t interface {\n" + repeat(6, "m%d()") + "}", "interface at a/a.go:2 has 6 methods"},
		{"sizes", "a/a.go", "type t interface{ u; a(); b(); c() }\ntype u interface{ d(); e() }", "type t interface{ u; a(); b(); c(); f() }\ntype u interface{ d(); e() }", "has 6 methods"},
		{"lists", "tools/toy/a.go", "import \"hob/tools\"\nfunc newToy() tools.Tool { return nil }", "import \"hob/tools\"\nfunc NewToy() tools.Tool { return nil }", "NewToy is not in tools/all"},
		{"lists", "channels/toy/a.go", "", "import \"hob/channels\"\nfunc Kind() channels.Kind { return nil }", "the channel is not in channels/all"},
		{"lists", "channels/toy/a.go", "", "import \"hob/channels\"\nfunc Kind() channels.Kind { return nil }", "calls channelstest.Run"},
		{"small", "a/a.go", repeat(150, "const c%d = 1"), repeat(140, "const c%d = 1"), "a has 141 lines of code: fold it"},
		{"words", "a/a.go", "// A handler is called.\nfunc handler() {}", "func helpDesk() {}", "\"desk\" in the name helpDesk"},
		{"words", "a/a.go", "// The address of whom it may concern.\nvar _ = 1", "// Whoever comes first.\nvar _ = 1", "begin with the subject"},
		{"init", "a/a.go", "func start() {}\ntype t int\nfunc (t) init() {}", "func init() {}", "a/a.go:2: func init"},
		{"variables", "a/a.go", "import \"errors\"\nvar ErrA = errors.New(\"a\")\nconst c = 1", "var a = 1", "package variable a"},
		{"variables", "a/a.go", "type t int\nvar _ = t(1)", "var a, b = map[int]int{}, []int{}", "package variable b"},
		{"variables", "a/a.go", "import s \"hob/daemon/sys\"\nvar a = s.Regexp(`x`)", "import \"regexp\"\nvar a = regexp.MustCompile(`x`)", "package variable a"},
		{"variables", "a/a.go", "import _ \"embed\"\n//go:embed x\nvar a []byte", "// go:embed x\nvar a []byte", "package variable a"},
		{"variables", "a/a.go", "import \"io\"\nvar ErrEnd = io.ErrUnexpectedEOF", "import \"io\"\nvar end = io.EOF", "package variable end"},
		{"variables", "a/a.go", "import \"reflect\"\nvar a = reflect.TypeFor[int]()", "var a = new(int)", "package variable a"},
		{"go", "a/a.go", "func f() { g.Go(ctx, \"x\", f) }", "func f() { go f() }", "bare go"},
		{"go", "a/a.go", "func f() { g.Once(\"x\", f) }", "func f() { g.Go(f) }", "catches no panics"},
		{"go", "daemon/sys/a.go", "func f() { go f() }", "", ""},
		{"sleep", "a/a_test.go", "import (\n\"time\"\n\"testing/synctest\"\n)\nvar _, _ = synctest.Test, time.Sleep", "import t \"time\"\nvar _ = t.Sleep", "time.Sleep"},
		{"sleep", "a/a.go", "type time struct{ Sleep int }", "import (\n\"time\"\n\"testing/synctest\"\n)\nvar _, _ = synctest.Test, time.Sleep", "time.Sleep"},
		{"times", "a/a.go", "var _ = t.In(zone).Format(\"15:04\")\nvar _ = t.UTC().Format(\"20060102\")", "var _ = t.Format(time.RFC3339)", "a time for programs"},
		{"times", "a/a.go", "", "var _ = t.UTC().Format(\"15:04 MST\")", "a time for programs"},
		{"times", "config/settings.go", "var _ = t.Format(time.RFC3339Nano)", "", ""},
		{"background", "a/a_test.go", "import \"context\"\nvar _ = context.Background()", "", ""},
		{"background", "a/a.go", "import \"context\"\nvar _ = context.WithCancel", "import \"context\"\nvar _ = context.Background()", "take the caller's ctx"},
		{"background", "a/a.go", "import \"context\"\nvar _ context.Context", "import \"context\"\nvar _ = context.TODO()", "context.TODO"},
		{"names", "a/a.go", "func Getter() {}\nfunc get() {}", "func (t) GetX() {}", "GetX"},
		{"errors", "a/a.go", "import \"fmt\"\nvar _ = fmt.Errorf(\"open inbox: %w\", nil)", "import \"errors\"\nvar _ = errors.New(\"Failed to open\")", "says nothing"},
	}
	for _, tt := range tests {
		if found := report(t, tt.rule, tt.path, tt.good); tt.good != "" && len(found) > 0 {
			t.Errorf("%s: what keeps the rule is reported: %q", tt.rule, found)
		}
		found := report(t, tt.rule, tt.path, tt.bad)
		if tt.want != "" && !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tt.want) }) {
			t.Errorf("%s: want a report with %q, got %q", tt.rule, tt.want, found)
		}
		if tt.want == "" && len(found) > 0 {
			t.Errorf("%s: want no report, got %q", tt.rule, found)
		}
	}
}

// report runs one rule over one file.
func report(t *testing.T, rule, path, body string) []string {
	t.Helper()
	name := "a"
	if strings.HasSuffix(path, "_test.go") {
		name = "a_test"
	}
	files := fstest.MapFS{path: {Data: []byte("package " + name + "\n" + body)}}
	all, err := parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return rules()[rule](all)
}

func TestNamesOfPackagesAndOfTestPackages(t *testing.T) {
	all, err := parse(fstest.MapFS{
		"a/util/a.go":      {Data: []byte("package util")},
		"a/a_test.go":      {Data: []byte("package a")},
		"a/b_test.go":      {Data: []byte("package a_test")},
		"cmd/m_test.go":    {Data: []byte("package main")},
		"a/export_test.go": {Data: []byte("package a")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := checkNames(all), []string{"a/util/a.go: a package named util says nothing"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := checkTestPackages(all), []string{"a/a_test.go: a test belongs to package a_test"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestParseLeavesOut(t *testing.T) {
	all, err := parse(fstest.MapFS{
		"go.mod":          {Data: []byte("module hob\n")},
		"a/a.go":          {Data: []byte("package a")},
		"a/gen.go":        {Data: []byte("// Code generated by x. DO NOT EDIT.\n\npackage a")},
		"a/testdata/b.go": {Data: []byte("no Go at all")},
		".x/b.go":         {Data: []byte("no Go at all")},
		"m/go.mod":        {Data: []byte("module m\n")},
		"m/b.go":          {Data: []byte("no Go at all")},
	})
	if err != nil || len(all) != 1 || all[0].path != "a/a.go" {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := parse(fstest.MapFS{"a/a.go": {Data: []byte("no Go at all")}}); err == nil {
		t.Error("a file that is no Go passes")
	}
}

func TestStrangersAtTheTop(t *testing.T) {
	root := fstest.MapFS{
		"go.mod": {}, "cmd/hob/main.go": {}, "hob": {}, "a.test": {}, "notes.txt": {}, "internal/a.go": {}, "docs": {},
	}
	got := strangers(root, words("/hob *.test"), t)
	want := []string{"docs has no place at the top of the repository", "internal has no place at the top of the repository", "notes.txt has no place at the top of the repository"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
