package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/tools"
	every "hob/tools/all"
)

// prefixFor returns the prefix of a session over all tools that hob has, as a model gets it.
func prefixFor(t *testing.T, key string, info llm.Info, more ...tools.Tool) turn.Prefix {
	t.Helper()
	set, err := tools.NewSet(append(every.All(every.Services{}, every.Setup{}), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	settings := agent.Settings{
		System: func(bool) []turn.Section {
			return []turn.Section{{Name: "identity", Text: "you are hob"}, {Name: "tools", Text: "- rules"}, {Name: "safety", Text: "safe"}, {Name: "USER.md", Text: "likes tea"}}
		},
		Heartbeat: func() string { return "you look" },
	}
	return agent.Fitted(agent.NewPrefix(key, false, settings, set), info, set)
}

func toolNames(p turn.Prefix) (names []string) {
	for _, tool := range p.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A model with few tools gets these and a line about the others (33.3). Every other model, the heartbeat, and a set without the tool that leads to the
// others are as before.
func TestFewTools(t *testing.T) {
	few, catalog := llm.Info{Context: 8192, Few: true}, tools.NewCatalog(nil)
	got := prefixFor(t, "main", few, catalog)
	if list := toolNames(got); len(list) < 8 || len(list) > 12 || !slices.Contains(list, "tool") || !slices.Contains(list, "write") || slices.Contains(list, "grep") {
		t.Errorf("the tools are %q", list)
	}
	if text := got.Text(); !strings.Contains(text, "- rules\n- Few tools are described here.") || !strings.HasSuffix(text, "\n\nlikes tea") {
		t.Errorf("the text is %q", text)
	}
	for name, c := range map[string]struct {
		key  string
		info llm.Info
		more []tools.Tool
	}{
		"a large window":    {"main", llm.Info{Context: 200_000}, []tools.Tool{catalog}},
		"the heartbeat":     {"heartbeat", few, []tools.Tool{catalog}},
		"nothing to search": {"main", few, nil},
	} {
		was, is := prefixFor(t, c.key, llm.Info{}, c.more...), prefixFor(t, c.key, c.info, c.more...)
		if fmt.Sprint(toolNames(was)) != fmt.Sprint(toolNames(is)) || was.Text() != is.Text() {
			t.Errorf("%s: %q %q", name, toolNames(is), is.Text())
		}
	}
}

// In a small window the workspace files get a share, and short ones leave the rest to long ones. hob's own rules stay whole, whatever is in the files.
func TestWorkspaceFilesOfASmallWindow(t *testing.T) {
	for name, files := range map[string][]string{
		"one long":          {strings.Repeat("x", 20_000)},
		"a short one first": {"short", strings.Repeat("x", 20_000)},
		"all long":          {strings.Repeat("a", 9_000), strings.Repeat("b", 9_000), strings.Repeat("c", 9_000)},
		"three bytes each":  {strings.Repeat("語", 9_000), "short"},
		"short ones":        {"one", "two"},
	} {
		for _, window := range []int{2_000, 4_096, 8_192, 16_383, 16_384, 200_000} {
			p := turn.Prefix{System: []turn.Section{{Name: "safety", Text: strings.Repeat("rule ", 400)}}}
			bytes := 0
			for i, text := range files {
				p.System = append(p.System, turn.Section{Name: fmt.Sprintf("FILE%d.md", i), Text: text})
				bytes += len(text)
			}
			got := agent.Fitted(p, llm.Info{Context: window}, agent.ChildSet{Set: tools.Set{}})
			sum := 0
			for i, s := range got.System[1:] {
				sum += len(s.Text)
				if !utf8.ValidString(s.Text) || len(files[i]) < 100 && s.Text != files[i] {
					t.Errorf("%s, %d: %q", name, window, s.Text[:min(len(s.Text), 50)])
				}
			}
			share := window * 15 / 100 * 3
			if window >= 16_384 || bytes <= share {
				share = bytes
			}
			if got.System[0] != p.System[0] || sum > share+100*len(files) || sum < share*8/10 {
				t.Errorf("%s: of a window of %d, the files have %d bytes, want about %d", name, window, sum, share)
			}
			if p.System[1].Text != files[0] {
				t.Fatalf("%s: the stored prefix has changed", name)
			}
		}
	}
}
