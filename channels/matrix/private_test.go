package matrix_test

import (
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// by makes a person create a room.
func by(f *channelstest.Matrix, who string) { f.State(chat, who, "m.room.create", "", obj{}) }

// TestWhatIsPrivate checks rooms with hob and the owner. A room is private if nobody else can read along or
// join, and if the owner or hob created it or the owner invited hob. Messages to the owner go only there.
// Messages in other rooms are not treated as private, and the owner is told so once.
func TestWhatIsPrivate(t *testing.T) {
	rule := func(word string) func(*channelstest.Matrix) {
		return func(f *channelstest.Matrix) { f.State(chat, sam, "m.room.join_rules", "", obj{"join_rule": word}) }
	}
	seen := func(word string) func(*channelstest.Matrix) {
		return func(f *channelstest.Matrix) {
			f.State(chat, sam, "m.room.history_visibility", "", obj{"history_visibility": word})
		}
	}
	for _, tc := range []struct {
		name string
		set  func(*channelstest.Matrix)
		why  string // it is none; "": it is private
	}{
		{"nothing is said", func(*channelstest.Matrix) {}, ""},
		{"by invitation", rule("invite"), ""},
		{"others may ask to be let in", rule("knock"), ""},
		{"anybody may join", rule("public"), "others can join it"},
		{"whoever is in another room may join", rule("restricted"), "others can join it"},
		{"or ask", rule("knock_restricted"), "others can join it"},
		{"by a rule of some other day", rule("unheard_of"), "others can join it"},
		{"a rule that cannot be read", func(f *channelstest.Matrix) { f.State(chat, sam, "m.room.join_rules", "", obj{"join_rule": 7}) }, "others can join it"},
		{"a rule of something else", func(f *channelstest.Matrix) {
			f.State(chat, sam, "m.room.join_rules", "x", obj{"join_rule": "public"})
		}, ""},
		{"members see what was before them", seen("shared"), ""},
		{"anybody sees", seen("world_readable"), "anybody can read it"},
		{"what anybody sees cannot be read", func(f *channelstest.Matrix) {
			f.State(chat, sam, "m.room.history_visibility", "", obj{"history_visibility": obj{}})
		}, "anybody can read it"},
		{"somebody is invited by his address", func(f *channelstest.Matrix) {
			f.State(chat, sam, "m.room.third_party_invite", "token", obj{"display_name": "e...@hob.test"})
		}, "somebody else is invited"},
		{"that was taken back", func(f *channelstest.Matrix) {
			f.State(chat, sam, "m.room.third_party_invite", "token", obj{"display_name": "e...@hob.test"})
			f.State(chat, sam, "m.room.third_party_invite", "token", obj{})
		}, ""},
		{"hob has made it", func(f *channelstest.Matrix) { by(f, hob) }, ""},
		{"somebody else has made it", func(f *channelstest.Matrix) { by(f, eve) }, "somebody else created it"},
		{"he has invited hob there", func(f *channelstest.Matrix) {
			by(f, eve)
			f.State(chat, sam, "m.room.member", hob, obj{"membership": "invite"})
			f.Member(chat, hob, "join")
		}, ""},
		{"he has invited hob, and then somebody else", func(f *channelstest.Matrix) {
			by(f, eve)
			f.State(chat, sam, "m.room.member", hob, obj{"membership": "invite"})
			f.State(chat, eve, "m.room.member", hob, obj{"membership": "invite"})
			f.Member(chat, hob, "join")
		}, "somebody else created it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			f.Room(chat, "", sam)
			tc.set(f)
			f.Direct(sam, chat)
			b := &channelstest.MessageInbox{}
			ch := open(t, f)
			channelstest.Keep(t, ch, b)
			f.Listening(t.Context())
			f.Say(chat, sam, "one")
			f.Say(chat, sam, "two")
			b.Until(t, func() bool { return len(b.List()) == 2 })
			for _, m := range b.List() {
				if (m.Chat.Group == "") != (tc.why == "") || m.Chat.Group != "" && m.Chat.Group != chat {
					t.Errorf("received in %+v", m.Chat)
				}
			}
			if gaps := b.Gaps(); (len(gaps) == 1) != (tc.why != "") || tc.why != "" && !strings.Contains(gaps[0], "is not a private chat: "+tc.why) {
				t.Errorf("told %q, want it once: %q", gaps, tc.why)
			}
			if _, err := ch.Send(t.Context(), delivery("answer")); err != nil {
				t.Fatal(err)
			}
			if got := f.Sent()[0].Room; (got == chat) != (tc.why == "") {
				t.Errorf("answered in %s", got)
			}
		})
	}
}

// TestARoomIsOpenedUp opens a private chat to others and closes it again: each change applies from the next
// message on.
func TestARoomIsOpenedUp(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)
	for n, step := range []struct{ kind, key, open, shut string }{
		{"m.room.join_rules", "join_rule", "public", "invite"},
		{"m.room.history_visibility", "history_visibility", "world_readable", "joined"},
	} {
		for i, word := range []string{step.shut, step.open, step.shut} {
			f.State(chat, sam, step.kind, "", obj{step.key: word})
			f.Say(chat, sam, word)
			at := 3*n + i
			b.Until(t, func() bool { return len(b.List()) == at+1 })
			if m := b.List()[at]; (m.Chat.Group == "") != (word == step.shut) {
				t.Errorf("%s: received in %+v", word, m.Chat)
			}
		}
	}
}

// TestWhoInvitedIsKept: the owner invites hob to somebody else's room. The room is private across a restart,
// although the invitation is no longer visible. Before hob has read its records, nothing is sent, and no
// second room is created.
func TestWhoInvitedIsKept(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	stop := listening(t, f, b)
	f.State(chat, eve, "m.room.create", "", obj{})
	f.Invite(chat, sam, true)
	waitFor(t, "joining", func() bool { return f.Joined(chat) })
	f.Say(chat, sam, "hello")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	for range 200 { // no sync brings the invitation again
		f.Say(chat, hob, "noise")
	}
	stop()
	ch := open(t, f)
	if _, err := ch.Send(t.Context(), delivery("too early")); channelstest.Kind(err) != "plain" || f.Calls("createRoom") != 0 {
		t.Errorf("before anything is read: %v, %d rooms made", err, f.Calls("createRoom"))
	}
	channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	n := len(b.List())
	f.Say(chat, sam, "again")
	b.Until(t, func() bool { return len(b.List()) > n && b.List()[len(b.List())-1].Text == "again" })
	if m := b.List()[len(b.List())-1]; m.Chat != (channels.Chat{ID: sam}) || len(b.Gaps()) != 0 {
		t.Errorf("after a restart: %+v, told %q", m.Chat, b.Gaps())
	}
	if _, err := ch.Send(t.Context(), delivery("answer")); err != nil || f.Sent()[0].Room != chat {
		t.Errorf("answered: %v, %+v", err, f.Sent())
	}
}
