package matrix_test

import (
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// TestRoomsThatComeOutEncrypted sends to people on a homeserver that encrypts each new room. One room is
// created for each person and abandoned with its invitation; nothing is written there, and no second one is
// created, even after a restart.
func TestRoomsThatComeOutEncrypted(t *testing.T) {
	f := server(t)
	f.EncryptRooms()
	first, second := open(t, f), open(t, f)
	for i, ch := range []channels.Channel{first, first, second} {
		_, err := ch.Send(t.Context(), delivery("secret"))
		if channelstest.Kind(err) != "permanent" || !strings.Contains(err.Error(), "let "+sam+" begin a private chat with "+hob) || !strings.Contains(err.Error(), "encryption_enabled_by_default_for_room_type") {
			t.Errorf("message %d: %v", i, err)
		}
	}
	room := "!made1:hob.test"
	if f.Calls("createRoom") != 1 || f.Membership(room, hob) != "leave" || f.Membership(room, sam) != "leave" || len(f.Sent()) != 0 {
		t.Errorf("%d rooms made, hob is %q there, he %q; sent %+v", f.Calls("createRoom"), f.Membership(room, hob), f.Membership(room, sam), f.Sent())
	}
	f.Fail("state", channelstest.MatrixFault{Status: 403, Code: "M_FORBIDDEN"}, channelstest.MatrixFault{Status: 403, Code: "M_FORBIDDEN"})
	if _, err := open(t, f).Send(t.Context(), delivery("secret")); channelstest.Kind(err) != "permanent" || !strings.Contains(err.Error(), "let "+sam) || f.Calls("createRoom") != 1 || f.Calls("leave") != 1 {
		t.Errorf("where the room is not shown any more: %v, %d rooms made, %d left", err, f.Calls("createRoom"), f.Calls("leave"))
	}
	d := delivery("secret")
	d.To = "matrix:" + ana
	if _, err := second.Send(t.Context(), d); channelstest.Kind(err) != "permanent" || f.Calls("createRoom") != 2 || f.Calls("leave") != 2 {
		t.Errorf("to somebody else: %v, %d rooms made, %d left", err, f.Calls("createRoom"), f.Calls("leave"))
	}
	f.Room(chat, "", sam)
	channelstest.Keep(t, second, &channelstest.MessageInbox{})
	f.Listening(t.Context())
	f.Say(chat, sam, "in the clear")
	waitFor(t, "noting the private chat", func() bool { return strings.Contains(f.Directs(), `["`+chat) })
	if _, err := second.Send(t.Context(), delivery("answer")); err != nil || len(f.Sent()) != 1 || f.Sent()[0].Room != chat {
		t.Errorf("after he has begun one: %v, sent %+v", err, f.Sent())
	}
}

// TestTroublesWithANewRoom fails at the check, the record and the abandonment of a created room: in each case
// it is the only one, and nothing is written into it.
func TestTroublesWithANewRoom(t *testing.T) {
	broken := channelstest.MatrixFault{Status: 500}
	for _, tc := range []struct {
		name     string
		endpoint string
		faults   []channelstest.MatrixFault
		restart  bool
		kinds    string // of the two messages' errors
		left     string
	}{
		{"it cannot be looked at", "state", []channelstest.MatrixFault{broken}, false, "plain permanent", "leave"},
		{"it cannot be looked at before a restart", "state", []channelstest.MatrixFault{broken}, true, "plain permanent", "leave"},
		{"the homeserver does not say for whom there was one", "account_data", []channelstest.MatrixFault{{}, broken}, false, "plain permanent", "leave"},
		{"it cannot be noted", "account_data", []channelstest.MatrixFault{{}, {}, broken}, false, "permanent permanent", "leave"},
		{"the invitation cannot be taken back", "kick", []channelstest.MatrixFault{broken}, false, "permanent permanent", "leave"},
		{"it cannot be left at once", "leave", []channelstest.MatrixFault{broken}, true, "permanent permanent", "leave"},
	} {
		f := server(t)
		f.EncryptRooms()
		f.Fail(tc.endpoint, tc.faults...)
		ch := open(t, f)
		_, first := ch.Send(t.Context(), delivery("secret"))
		if tc.restart {
			ch = open(t, f)
		}
		_, second := ch.Send(t.Context(), delivery("secret"))
		if got := channelstest.Kind(first) + " " + channelstest.Kind(second); got != tc.kinds {
			t.Errorf("%s: %s, want %s (%v, %v)", tc.name, got, tc.kinds, first, second)
		}
		if left := f.Membership("!made1:hob.test", hob); f.Calls("createRoom") != 1 || left != tc.left || len(f.Sent()) != 0 {
			t.Errorf("%s: %d rooms made, hob is %q there; sent %+v", tc.name, f.Calls("createRoom"), left, f.Sent())
		}
	}
}

// TestANewRoomThatWasNotSeenIsUsed: if the check of an unencrypted room fails, the message goes there at the
// next try.
func TestANewRoomThatWasNotSeenIsUsed(t *testing.T) {
	f := server(t)
	f.Fail("state", channelstest.MatrixFault{Status: 500})
	ch := open(t, f)
	_, first := ch.Send(t.Context(), delivery("x"))
	_, second := ch.Send(t.Context(), delivery("x"))
	if channelstest.Kind(first) != "plain" || second != nil || f.Calls("createRoom") != 1 || len(f.Sent()) != 1 {
		t.Errorf("%v, then %v; %d rooms made", first, second, f.Calls("createRoom"))
	}
	f.Member("!made1:hob.test", eve, "join")
	if _, err := ch.Send(t.Context(), delivery("y")); err != nil || f.Calls("createRoom") != 2 || f.Calls("leave") != 0 {
		t.Errorf("when somebody else has come in there: %v; %d rooms made, %d left", err, f.Calls("createRoom"), f.Calls("leave"))
	}
}

// TestNobodyElsesRoomIsLeft: an encrypted chat that another client of the account began is not left, and an
// unencrypted one is created.
func TestNobodyElsesRoomIsLeft(t *testing.T) {
	f := server(t)
	f.Room(chat, "", hob, sam)
	f.State(chat, hob, "m.room.encryption", "", obj{"algorithm": "m.megolm.v1.aes-sha2"})
	f.Direct(sam, chat)
	if _, err := open(t, f).Send(t.Context(), delivery("x")); err != nil || f.Calls("createRoom") != 1 || !f.Joined(chat) || f.Membership(chat, sam) != "join" {
		t.Errorf("%v; %d rooms made, hob is %q in the old one, he %q", err, f.Calls("createRoom"), f.Membership(chat, hob), f.Membership(chat, sam))
	}
}

// TestNoEditInTheClearInAnEncryptedRoom encrypts a room after a draft was sent there.
func TestNoEditInTheClearInAnEncryptedRoom(t *testing.T) {
	f := server(t)
	f.Room(chat, "", sam)
	f.Direct(sam, chat)
	ch := open(t, f)
	id, err := ch.Send(t.Context(), delivery("draft"))
	if err != nil {
		t.Fatal(err)
	}
	lock(f, chat)
	if err := ch.Edit(t.Context(), delivery("secret"), id); channelstest.Kind(err) != "permanent" || !strings.Contains(err.Error(), "is encrypted") || len(f.Sent()) != 1 {
		t.Errorf("%v; sent %+v", err, f.Sent())
	}
	f.Fail("state", channelstest.MatrixFault{Status: 500})
	if err := ch.Edit(t.Context(), delivery("secret"), id); channelstest.Kind(err) != "plain" || len(f.Sent()) != 1 {
		t.Errorf("where it is not known: %v; sent %+v", err, f.Sent())
	}
}
