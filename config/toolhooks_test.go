package config_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hob/config"
)

const hooked = `[tools]
deny = ["write"]
[[tool_hooks]]
tools = ["exec", "web_*"]
when = "before"
command = "check"
[[tool_hooks]]
tools = ["*"]
when = "after"
command = "cat >> calls.log"
`

func TestToolHooks(t *testing.T) {
	s, got := parsed(t, hooked)
	want := []config.ToolHook{{[]string{"exec", "web_*"}, "before", "check"}, {[]string{"*"}, "after", "cat >> calls.log"}}
	if len(got) > 0 || !reflect.DeepEqual(s.ToolHooks, want) || !slices.Equal(s.Tools.Deny, []string{"write"}) {
		t.Errorf("%q: %+v, deny %q", got, s.ToolHooks, s.Tools.Deny)
	}
	for _, none := range []string{"", "tool_hooks = []\n"} {
		if s, got := parsed(t, none); len(got) > 0 || len(s.ToolHooks) > 0 || len(s.Tools.Deny) > 0 {
			t.Errorf("%q: %+v, %q", none, s.ToolHooks, got)
		}
	}
	inline, got := parsed(t, `tool_hooks = [{tools = ["exec"], when = "before", command = "check"}]`)
	if len(got) > 0 || len(inline.ToolHooks) != 1 {
		t.Errorf("in one line: %+v, %q", inline.ToolHooks, got)
	}
}

// A hook that would have refused a call must not be passed over because of a mistake, wherever it is: no tool may run then.
func TestAMistakeInAHookDeniesEveryTool(t *testing.T) {
	const good = "[[tool_hooks]]\ntools = [\"exec\"]\nwhen = \"before\"\ncommand = \"check\"\n"
	for _, c := range []struct{ doc, want string }{
		{"[[tool_hooks]]\nwhen = \"before\"\ncommand = \"x\"\n", "tools: missing"},
		{"[[tool_hooks]]\ntools = [\"exec\"]\ncommand = \"x\"\n", "when: missing"},
		{"[[tool_hooks]]\ntools = [\"exec\"]\nwhen = \"before\"\n", "command: missing"},
		{"[[tool_hooks]]\ntools = [\"exec\"]\nwhen = \"before\"\ncomand = \"x\"\n", "command: missing"},
		{"[[tool_hooks]]\ntools = \"exec\"\nwhen = \"before\"\ncommand = \"x\"\n", "tools: want a list, found \"exec\""},
		{"[[tool_hooks]]\ntools = []\nwhen = \"before\"\ncommand = \"x\"\n", "tools: want the names of tools"},
		{"[[tool_hooks]]\ntools = [\"exec\", \"\"]\nwhen = \"before\"\ncommand = \"x\"\n", "tools: want a name of a tool"},
		{"[[tool_hooks]]\ntools = [\"web_[\"]\nwhen = \"before\"\ncommand = \"x\"\n", "found \"web_[\""},
		{"[[tool_hooks]]\ntools = [\"exec\"]\nwhen = \"Before\"\ncommand = \"x\"\n", "when: want one of before, after"},
		{"[[tool_hooks]]\ntools = [\"exec\"]\nwhen = \"before\"\ncommand = \" \"\n", "command: it is empty"},
		{"[[tool_hooks]]\n", "command: missing"},
		{"[tool_hooks]\ntools = [\"exec\"]\nwhen = \"before\"\ncommand = \"x\"\n", "want tables, each written [[tool_hooks]], found a section"},
		{"tool_hooks = \"check\"\n", "want tables, each written [[tool_hooks]], found \"check\""},
		{"tool_hooks = [1]\n", "want a section, found 1"},
	} {
		docs := []string{c.doc, c.doc + "[tools]\nallow = [\"read\"]\n"}
		if strings.HasPrefix(c.doc, "[[") {
			docs = append(docs, good+c.doc, c.doc+good)
		}
		for _, doc := range docs {
			s, got := parsed(t, doc)
			if text := strings.Join(got, "\n"); !strings.Contains(text, c.want) || !strings.Contains(text, "so [tool_hooks] is off") {
				t.Errorf("%s: %s", doc, text)
			}
			if !s.Off("tool_hooks") || !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) || len(s.ToolHooks) > 0 {
				t.Errorf("%s: deny %q, hooks %+v", doc, s.Tools.Deny, s.ToolHooks)
			}
		}
	}
	s, got := parsed(t, "", "HOB_TOOL_HOOKS__WHEN=before")
	if !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) || len(got) != 1 || !strings.HasPrefix(got[0], "HOB_TOOL_HOOKS__WHEN: want tables") {
		t.Errorf("from the environment: deny %q, %q", s.Tools.Deny, got)
	}
}

func TestLookAtToolHooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, hooked, 0o600)
	everything, err := known().Look(path, nil, "")
	if err != nil || !slices.ContainsFunc(everything, func(s config.Setting) bool { return s.Key == "tool_hooks" }) {
		t.Errorf("not among all: %v, %v", everything, err)
	}
	got, err := known().Look(path, nil, "tool_hooks")
	const text = `[{ command = "check", tools = ["exec", "web_*"], when = "before" }, { command = "cat >> calls.log", tools = ["*"], when = "after" }]`
	if err != nil || len(got) != 1 || got[0].Text() != text || got[0].Origin() != path+":3" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := known().Look(path, nil, "tool_hooks.when"); err == nil || !strings.Contains(err.Error(), "hob config edit") {
		t.Errorf("one key of many: %v", err)
	}
	if _, err := known().Find([]byte(hooked), []string{"tool_hooks"}); err == nil || !strings.Contains(err.Error(), "hob config edit") {
		t.Errorf("the list as a key: %v", err)
	}
	if names := known().Names(path); slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "tool_hooks") }) {
		t.Errorf("completed: %q", names)
	}
	write(t, path, "[[tool_hooks]]\n", 0o600)
	if got, err := known().Look(path, nil, "tool_hooks"); err != nil || len(got) != 1 || got[0].Value != nil || !got[0].Off {
		t.Errorf("with a mistake: %+v, %v", got, err)
	}
}
