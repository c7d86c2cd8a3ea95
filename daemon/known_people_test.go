package daemon_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/llm/llmtest"
)

// Whom the config calls known, hob writes to at the owner's word; before it writes to somebody else, it asks.
func TestKnownPeopleAreWrittenToUnasked(t *testing.T) {
	s := newStudio(t, t.TempDir(), "known = [\"88\"]\npublic = [\"99\"]\n")
	s.telegram.Knows(88)
	s.telegram.Knows(99)
	s.model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		_, to, order := strings.Cut(r.Last(), "write to ")
		if !order {
			return llmtest.Streamed(llmtest.Say("done"))
		}
		return llmtest.Streamed(llmtest.Use("message", `{"to": "telegram:`+to+`", "content": "dinner at eight"}`))
	})
	came := func(n int, chat int64, text string) {
		t.Helper()
		if list := s.sent(n); !slices.ContainsFunc(list, func(m channelstest.TelegramSent) bool { return m.Chat == chat && strings.Contains(m.Text, text) }) {
			t.Errorf("%q did not come to %d: %+v", text, chat, list)
		}
	}
	s.telegram.Say(sam, "write to 88")
	came(2, 88, "dinner at eight")
	came(2, sam, "done")
	s.telegram.Say(sam, "write to 99")
	came(3, sam, "telegram:99 is neither an address of the owner nor a known address")
}
