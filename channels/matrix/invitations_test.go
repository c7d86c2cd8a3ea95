package matrix_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/event"
)

// waitFor waits for a state of the server.
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
			b := &channelstest.MessageInbox{}
			listening(t, f, b)
			f.Invite(tc.room, tc.by, tc.direct)
			if tc.taken {
				waitFor(t, "joining", func() bool { return f.Joined(tc.room) })
			}
			f.Say(chat, sam, "x")
			b.Until(t, func() bool { return len(b.List()) == 1 })
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
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, open(t, f), b)
	b.Until(t, func() bool { return len(b.List()) == 1 })
	if m := b.List()[0]; m.Text != "written at once" || m.Chat != (channels.Chat{ID: sam}) {
		t.Errorf("received %+v", m)
	}
}

func TestHistoryOfARoomIsNoNews(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	listening(t, f, b)
	f.Member(home, eve, "join")
	for range 120 {
		f.Say(home, eve, "before hob was there")
	}
	f.Invite(home, eve, false)
	f.Say(home, eve, "after the invitation")
	b.Until(t, func() bool { return len(b.List()) > 0 })
	if b.List()[0].Text != "after the invitation" || len(b.List()) != 1 {
		t.Errorf("received %+v", b.List())
	}
}

func TestInvitationIsKeptUntilItWorks(t *testing.T) {
	f := server(t)
	b := &channelstest.MessageInbox{}
	f.Fail("join", channelstest.MatrixFault{Status: 502}, channelstest.MatrixFault{Status: 502}) // the first is that of the listed room
	f.Fail("join", channelstest.MatrixFault{Status: 502})
	stop := listening(t, f, b)
	f.Invite("!a:hob.test", sam, true)
	b.Until(t, func() bool { return b.Stored().Value != "" && strings.Contains(b.Stored().Value, "!a:hob.test") })
	stop()
	listening(t, f, b) // again
	waitFor(t, "joining", func() bool { f.Say(chat, eve, "time passes"); return f.Joined("!a:hob.test") })
}

func TestPairingAcceptsInvitations(t *testing.T) {
	f := server(t)
	e, pairing := env(t), atomic.Bool{}
	e.PairingOpen = func(context.Context) (bool, error) { return pairing.Load(), nil }
	b := &channelstest.MessageInbox{}
	ch := openWith(t, e, f)
	channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	f.Invite("!a:hob.test", eve, true)
	f.Invite("!group:hob.test", eve, false)
	b.Until(t, func() bool { return b.Stored().Value != "" && strings.Contains(b.Stored().Value, "!group") })
	if f.Joined("!a:hob.test") {
		t.Fatal("a stranger's invitation was accepted")
	}
	pairing.Store(true)
	var linker channels.Linker = ch
	text, url, err := linker.Link(t.Context())
	if err != nil || url != "https://matrix.to/#/"+hob || !strings.Contains(text, url+" ") || !strings.Contains(text, "without encryption") {
		t.Errorf("link %q, %q, %v", text, url, err)
	}
	f.Room(chat, "", sam) // something happens
	waitFor(t, "joining", func() bool { return f.Joined("!a:hob.test") })
	f.Say("!a:hob.test", eve, "ABCD-EFGH")
	b.Until(t, func() bool { return len(b.List()) == 1 })
	if m := b.List()[0]; m.From.ID != eve || m.Chat.Group != "" || f.Joined("!group:hob.test") {
		t.Errorf("received %+v, in the group: %v", m, f.Joined("!group:hob.test"))
	}
	pairing.Store(false) // C9: the code was used, and the ten minutes are not over
	f.Invite("!late:hob.test", eve, true)
	b.Until(t, func() bool { return strings.Contains(b.Stored().Value, "!late") })
	if f.Joined("!late:hob.test") {
		t.Error("a stranger's invitation was accepted though the pairing had ended")
	}
}

// TestOwnerWhoIsPairedLater: a person invites hob before and after being paired as the owner; both
// invitations are accepted then.
func TestOwnerWhoIsPairedLater(t *testing.T) {
	f := server(t)
	e, owner := env(t), atomic.Pointer[[]event.Address]{}
	owner.Store(&[]event.Address{"cli:main"})
	e.Owner = func() []event.Address { return *owner.Load() }
	b := &channelstest.MessageInbox{}
	channelstest.Keep(t, openWith(t, e, f), b)
	f.Listening(t.Context())
	f.Invite("!before:hob.test", eve, false)
	b.Until(t, func() bool { return b.Stored().Value != "" && strings.Contains(b.Stored().Value, "!before") })
	if f.Joined("!before:hob.test") {
		t.Fatal("a stranger's invitation was accepted")
	}
	owner.Store(&[]event.Address{"cli:main", "matrix:" + eve})
	f.Invite("!after:hob.test", eve, false)
	waitFor(t, "joining", func() bool { return f.Joined("!after:hob.test") && f.Joined("!before:hob.test") })
}

// TestAccount returns the user's id, or an error if the token is refused.
func TestAccount(t *testing.T) {
	f := server(t)
	var ch channels.Accounted = open(t, f)
	if id, err := ch.Account(t.Context()); err != nil || id != hob {
		t.Errorf("account %q, %v", id, err)
	}
	f.Fail("whoami", channelstest.MatrixFault{Status: 401, Code: "M_UNKNOWN_TOKEN"})
	if id, err := ch.Account(t.Context()); err == nil {
		t.Errorf("account %q without a token", id)
	}
}

func TestListedRoomsAreJoined(t *testing.T) {
	f := server(t)
	f.Member(home, hob, "invite") // as open as can be
	listening(t, f, &channelstest.MessageInbox{})
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
	b := &channelstest.MessageInbox{}
	ch := open(t, f)
	channelstest.Keep(t, ch, b)
	f.Listening(t.Context())
	f.Say("!new:hob.test", sam, "here")
	b.Until(t, func() bool { return len(b.List()) == 1 })
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
