package email_test

import (
	"testing"

	"hob/channels/channelstest"
)

// An attacker with a copy of the owner's mail can send it again with thread headers that no signature covers.
// The copy counts as the same mail, also after a restart and after the server has renumbered its mails. Other
// mails are not affected.
func TestAMailIsReadOnce(t *testing.T) {
	f := server(t, channelstest.EmailOptions{})
	b := &channelstest.MessageInbox{}
	pay := func(id, references string) {
		f.Put([]byte(mailOf(sam, "pay Eve "+id, "Message-ID: <"+id+"@example.org>\r\n"+references)))
	}
	stop := run(t, open(t, config(f)), b)
	f.Listening(t.Context())
	pay("1", "")
	pay("1", "References: <other@evil.org>\r\n")
	pay("2", "")
	b.Came(t, 2)
	stop()
	pay("1", "References: <third@evil.org>\r\n")
	pay("3", "")
	stop = run(t, open(t, config(f)), b)
	b.Came(t, 3)
	stop()
	f.Renumber()
	stop = run(t, open(t, config(f)), b)
	b.Until(t, func() bool { return len(b.Gaps()) == 1 })
	f.Listening(t.Context())
	pay("2", "In-Reply-To: <fourth@evil.org>\r\n")
	pay("4", "")
	b.Came(t, 4)
	stop()
	for i, m := range b.List() {
		if want := "pay Eve " + string(rune('1'+i)); m.Text != want {
			t.Errorf("message %d is %q, want %q", i, m.Text, want)
		}
	}
	if n := b.Count(); n != 4 {
		t.Errorf("%d messages, want 4", n)
	}
}
