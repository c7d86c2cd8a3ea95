package agent_test

import (
	"strings"
	"testing"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// A workspace file that changes reaches a running session as a note of what differs, once; the prefix stays byte for byte.
func TestChangedWorkspaceFiles(t *testing.T) {
	text := map[string]string{"USER.md": "# USER.md\nlikes tea\nlives in Riga"}
	bubble(t, script(func(last string, _ llm.Request) llm.Answer { return llmtest.Say("heard") }), func(r *harness) {
		r.ask("one")
		text["USER.md"] = "# USER.md\nlikes coffee\nlives in Riga"
		text["SOUL.md"] = "# SOUL.md\nkind"
		r.ask("two")
		r.ask("three")
		delete(text, "USER.md")
		r.ask("four")
		all := r.model.(*llmtest.Script).Requests()
		for i, q := range all {
			if q.System != all[0].System {
				t.Errorf("request %d has another prefix: %q", i, q.System)
			}
		}
		var notes []string
		for _, m := range all[len(all)-1].Messages {
			if body := event.TextOf(m.Parts); strings.HasPrefix(body, "[hob]") {
				notes = append(notes, body)
			}
		}
		want := []string{
			"[hob] SOUL.md is new:\n# SOUL.md\nkind",
			"[hob] USER.md has changed since you were shown it.\nNo longer in it:\nlikes tea\nNow in it:\nlikes coffee",
			"[hob] USER.md is gone",
		}
		if len(notes) != len(want) {
			t.Fatalf("notes %q", notes)
		}
		for i := range want {
			if !strings.HasPrefix(notes[i], want[i]) {
				t.Errorf("note %d is %q", i, notes[i])
			}
		}
		valid(t, all)
	}, func(r *harness) {
		r.system = func(bool) []turn.Section {
			list := []turn.Section{{Name: "identity", Text: "you are hob"}}
			for _, name := range []string{"SOUL.md", "USER.md"} {
				if s, ok := text[name]; ok {
					list = append(list, turn.Section{Name: name, Text: s})
				}
			}
			return list
		}
	})
}

// The sections stand in a fixed order; the guest's prefix has none of the owner's private files.
func TestSectionsInOrder(t *testing.T) {
	for guest, want := range map[bool]string{
		false: "identity tools safety skills AGENTS.md SOUL.md IDENTITY.md USER.md MEMORY.md CAPABILITIES.md",
		true:  "identity tools safety AGENTS.md SOUL.md IDENTITY.md",
	} {
		list, err := agent.Prompt{Workspace: "/ws", Owner: "Sam", Guest: guest, Skills: "tea", Read: func(string) (agent.WorkspaceFile, error) {
			return agent.WorkspaceFile{Text: []byte("x")}, nil
		}}.Sections()
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("guest %v: %s, %v", guest, got, err)
		}
	}
}

// What is wrong with a workspace file is said in a sentence, and the rest of the text is there.
func TestProblemsOfWorkspaceFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file          agent.WorkspaceFile
		shows, reason string
	}{
		"contextual":    {agent.WorkspaceFile{Text: []byte("---\nloading: contextual\n---\nsecret")}, "(not shown here: read USER.md when you need it)", ""},
		"locked":        {agent.WorkspaceFile{Text: []byte("---\nagent-modification: false\n---\nx")}, "# USER.md\nx", ""},
		"binary":        {agent.WorkspaceFile{Text: []byte("a\x00b")}, "", "not a text"},
		"broken head":   {agent.WorkspaceFile{Text: []byte("---\nx")}, "---\nx", "no closing line"},
		"not UTF-8":     {agent.WorkspaceFile{Text: []byte("caf\xe9")}, "caf\uFFFD", "not UTF-8"},
		"50 MB":         {agent.WorkspaceFile{Text: []byte(strings.Repeat("h", 30_000) + strings.Repeat("t", 30_000)), Size: 50 << 20}, "hhh\n[… 52410800 bytes left out …]\nttt", "beginning and the end"},
		"a little long": {agent.WorkspaceFile{Text: []byte(strings.Repeat("h", 20_001)), Size: 20_001}, "[… 2001 characters left out …]", "beginning and the end"},
	} {
		list, err := agent.Prompt{Workspace: "/ws", Read: func(path string) (agent.WorkspaceFile, error) {
			if strings.HasSuffix(path, "/USER.md") {
				return c.file, nil
			}
			return agent.WorkspaceFile{Text: []byte("fine")}, nil
		}}.Sections()
		text := turn.Prefix{System: list}.Text()
		if !strings.Contains(text, c.shows) || strings.Contains(text, "secret") || strings.Count(text, "\nfine") != 5 {
			t.Errorf("%s: %.300q", name, text)
		}
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), "USER.md: ") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
