package matrix_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// waitFor waits for something that a server comes to have.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-limit:
			t.Fatalf("%s did not happen", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestInvitations(t *testing.T) {
	for _, tc := range []struct {
		name, room, by string
		direct, taken  bool
	}{
		{"the owner, to a private chat", "!a:hob.test", sam, true, true},
		{"the owner, to a group", "!a:hob.test", sam, false, true},
		{"somebody known, to a private chat", "!a:hob.test", ana, true, true},
		{"somebody known, to a group", "!a:hob.test", ana, false, false},
		{"a stranger, to a private chat", "!a:hob.test", eve, true, false},
		{"a stranger, to a group", "!a:hob.test", eve, false, false},
		{"anybody, to a listed room", home, eve, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := server(t)
			f.Room(chat, "", sam)
			b := &box{}
			listening(t, f, b)
			f.Invite(tc.room, tc.by, tc.direct)
			if tc.taken {
				waitFor(t, "joining", func() bool { return f.Joined(tc.room) })
			}
			f.Say(chat, sam, "x")
			b.until(t, func() bool { return len(b.list) == 1 })
			if f.Joined(tc.room) != tc.taken || f.Calls("join") > 2 {
				t.Errorf("joined: %v after %d tries", f.Joined(tc.room), f.Calls("join"))
			}
		})
	}
}

func TestInvitationFromBeforeTheFirstSync(t *testing.T) {
	f := server(t)
	f.Invite("!a:hob.test", sam, true)
	f.Say("!a:hob.test", sam, "written at once")
	b := &box{}
	run(t, open(t, f), b)
	b.until(t, func() bool { return len(b.list) == 1 })
	if m := b.list[0]; m.Text != "written at once" || m.Chat != (channels.Chat{ID: sam}) {
		t.Errorf("received %+v", m)
	}
}

func TestHistoryOfARoomIsNoNews(t *testing.T) {
	f := server(t)
	b := &box{}
	listening(t, f, b)
	f.Member(home, eve, "join")
	for range 120 {
		f.Say(home, eve, "before hob was there")
	}
	f.Invite(home, eve, false)
	f.Say(home, eve, "after the invitation")
	b.until(t, func() bool { return len(b.list) > 0 })
	if b.list[0].Text != "after the invitation" || len(b.list) != 1 {
		t.Errorf("received %+v", b.list)
	}
}

func TestInvitationIsKeptUntilItWorks(t *testing.T) {
	f := server(t)
	b := &box{}
	f.Fail("join", channelstest.MatrixFault{Status: 502}, channelstest.MatrixFault{Status: 502}) // the first is that of the listed room
	f.Fail("join", channelstest.MatrixFault{Status: 502})
	stop := listening(t, f, b)
	f.Invite("!a:hob.test", sam, true)
	b.until(t, func() bool { return b.cursor != nil && strings.Contains(b.cursor.Value, "!a:hob.test") })
	stop()
	listening(t, f, b) // again
	waitFor(t, "joining", func() bool { f.Say(chat, eve, "time passes"); return f.Joined("!a:hob.test") })
}

func TestPairingOpensTheDoor(t *testing.T) {
	f := server(t)
	b := &box{}
	ch := open(t, f)
	run(t, ch, b)
	f.Listening(t.Context())
	f.Invite("!a:hob.test", eve, true)
	f.Invite("!group:hob.test", eve, false)
	b.until(t, func() bool { return b.cursor != nil && strings.Contains(b.cursor.Value, "!group") })
	if f.Joined("!a:hob.test") {
		t.Fatal("a stranger's invitation was accepted")
	}
	var linker channels.Linker = ch
	text, err := linker.Link(t.Context())
	if err != nil || !strings.Contains(text, "https://matrix.to/#/"+hob+" ") {
		t.Errorf("link %q, %v", text, err)
	}
	f.Room(chat, "", sam) // something happens
	waitFor(t, "joining", func() bool { return f.Joined("!a:hob.test") })
	f.Say("!a:hob.test", eve, "ABCD-EFGH")
	b.until(t, func() bool { return len(b.list) == 1 })
	if m := b.list[0]; m.From.ID != eve || m.Chat.Group != "" || f.Joined("!group:hob.test") {
		t.Errorf("received %+v, in the group: %v", m, f.Joined("!group:hob.test"))
	}
}

func TestListedRoomsAreJoined(t *testing.T) {
	f := server(t)
	f.Member(home, hob, "invite") // as open as can be
	listening(t, f, &box{})
	if !f.Joined(home) {
		t.Error("hob is not in a room that is listed")
	}
}

func TestAnswersGoWhereAPersonWroteLast(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Room("!new:hob.test", "", sam)
	f.Direct(sam, chat)
	f.Direct(ana, "!of-ana:hob.test")
	b := &box{}
	ch := open(t, f)
	run(t, ch, b)
	f.Listening(t.Context())
	f.Say("!new:hob.test", sam, "here")
	b.until(t, func() bool { return len(b.list) == 1 })
	if _, err := ch.Send(t.Context(), delivery("answer")); err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for _, m := range f.Sent() {
		rooms = append(rooms, m.Room)
	}
	if !slices.Equal(rooms, []string{"!new:hob.test"}) {
		t.Errorf("answered in %q", rooms)
	}
	if want := `{"` + ana + `":["!of-ana:hob.test"],"` + sam + `":["!new:hob.test","` + chat + `"]}`; f.Directs() != want {
		t.Errorf("noted %s, want %s", f.Directs(), want)
	}
}
