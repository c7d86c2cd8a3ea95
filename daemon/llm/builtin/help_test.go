package builtin_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
)

// Only the owner is told what is connected and where its config is. A known person and a program get the commands alone.
func TestHelpForOthers(t *testing.T) {
	const path = "/home/sam/.hob/config.toml"
	for name, c := range map[string]struct {
		trust  event.Trust
		source string
		owners bool
	}{
		"the owner":            {event.Owner, "cli", true},
		"a known person":       {event.Known, "telegram", false},
		"a program":            {event.Known, event.Endpoint, false},
		"the owner's program":  {event.Owner, event.Endpoint, false},
		"a webhook's or a bot": {event.Machine, "hook", false},
	} {
		for _, why := range []string{"", "the model at http://10.0.0.7 does not answer"} {
			m := builtin.New(builtin.Options{Phrases: phrases{}, Owner: "Sam", Config: path, Why: why})
			for _, text := range []string{"help", "help me"} {
				in := typed(1, text)
				in.Envelope.Trust, in.Envelope.Source = c.trust, c.source
				a, err := m.Answer(t.Context(), llm.Request{Tools: allTools(), Messages: []llm.Message{in}}, nil)
				private := strings.Contains(a.Text, path) || strings.Contains(a.Text, "10.0.0.7")
				if err != nil || private != c.owners || !c.owners && strings.Contains(a.Text, "Sam") || !strings.Contains(a.Text, "read notes.md") {
					t.Errorf("%s, %q, why %q: %s, %v", name, text, why, a.Text, err)
				}
			}
		}
	}
}
