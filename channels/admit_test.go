package channels_test

import (
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// Admission and rights of every kind of person in every kind of chat.
func TestAdmit(t *testing.T) {
	rules := channels.Rules{Owner: []string{"1"}, Known: map[string]event.Trust{"2": event.Known, "3": event.Public, "bot": event.Known}, Groups: []string{"g"}}
	private := func(id string) channels.Message {
		return channels.Message{ID: "m", From: channels.Person{ID: id, Name: "N"}, Chat: channels.Chat{ID: id}, Text: "/status"}
	}
	group := func(id, group string, mentioned bool) channels.Message {
		m := private(id)
		m.Chat = channels.Chat{ID: group, Group: group, Title: "Family"}
		m.Mentioned = mentioned
		return m
	}
	with := func(m channels.Message, change func(*channels.Message)) channels.Message { change(&m); return m }
	type want struct {
		refusal channels.Refusal
		kind    event.Kind
		trust   event.Trust
		session string
		typed   bool
	}
	for name, c := range map[string]struct {
		m    channels.Message
		want want
	}{
		"owner's command":          {private("1"), want{kind: event.Command, trust: event.Owner, session: "main", typed: true}},
		"owner's words":            {with(private("1"), func(m *channels.Message) { m.Text = "hello" }), want{kind: event.Message, trust: event.Owner, session: "main", typed: true}},
		"owner forwards a command": {with(private("1"), func(m *channels.Message) { m.Forwarded = true }), want{kind: event.Message, trust: event.Owner, session: "main"}},
		"owner presses a button":   {with(private("1"), func(m *channels.Message) { m.Text, m.Choice = "", "/approve AB" }), want{kind: event.Command, trust: event.Owner, session: "main", typed: true}},
		"owner presses words":      {with(private("1"), func(m *channels.Message) { m.Text, m.Choice = "", channels.Words("/stop", false) }), want{kind: event.Message, trust: event.Owner, session: "main"}},
		"a button without words":   {with(private("1"), func(m *channels.Message) { m.Choice = channels.Words(" ", true) }), want{refusal: channels.BadButton}},
		"a known person's words":   {with(private("2"), func(m *channels.Message) { m.Choice = channels.Words("yes", false) }), want{refusal: channels.BadButton}},
		"owner's words in group":   {with(group("1", "g", true), func(m *channels.Message) { m.Choice = channels.Words("yes", false) }), want{refusal: channels.BadButton}},
		"a button without command": {with(private("1"), func(m *channels.Message) { m.Choice = "approve" }), want{refusal: channels.BadButton}},
		"a known person's command": {private("2"), want{kind: event.Message, trust: event.Known, session: "x:2"}},
		"a known person's button":  {with(private("2"), func(m *channels.Message) { m.Choice = "/approve AB" }), want{refusal: channels.BadButton}},
		"one known as public":      {private("3"), want{kind: event.Message, trust: event.Public, session: "x:3"}},
		"a stranger":               {private("4"), want{refusal: channels.Stranger}},
		"the owner's name":         {with(private("4"), func(m *channels.Message) { m.From.Name = "1" }), want{refusal: channels.Stranger}},
		"nobody":                   {private(""), want{refusal: channels.Own}},
		"hob itself":               {with(private("1"), func(m *channels.Message) { m.From.Self = true }), want{refusal: channels.Own}},
		"an auto-reply":            {with(private("2"), func(m *channels.Message) { m.Auto = true }), want{refusal: channels.Automatic}},
		"a strange bot":            {with(private("4"), func(m *channels.Message) { m.From.Bot = true }), want{refusal: channels.Automatic}},
		"a known bot":              {with(private("bot"), func(m *channels.Message) { m.From.Bot = true }), want{kind: event.Message, trust: event.Known, session: "x:bot"}},
		"owner in a group":         {group("1", "g", true), want{kind: event.Message, trust: event.Known, session: "x:g"}},
		"owner's button in group":  {with(group("1", "g", true), func(m *channels.Message) { m.Choice = "/approve AB" }), want{refusal: channels.BadButton}},
		"known in a group":         {group("2", "g", true), want{kind: event.Message, trust: event.Known, session: "x:g"}},
		"public in a group":        {group("3", "g", true), want{kind: event.Message, trust: event.Public, session: "x:g"}},
		"stranger in a group":      {group("4", "g", true), want{kind: event.Message, trust: event.Public, session: "x:g"}},
		"owner, not mentioned":     {group("1", "g", false), want{refusal: channels.NotMeant}},
		"owner, another group":     {group("1", "h", true), want{refusal: channels.OtherGroup}},
		"a deletion":               {with(private("1"), func(m *channels.Message) { m.Text, m.Deletes = "", "old" }), want{refusal: channels.TakenBack}},
		"nothing in it":            {with(private("1"), func(m *channels.Message) { m.Text = " \n" }), want{refusal: channels.EmptyMessage}},
		"a picture alone":          {with(private("1"), func(m *channels.Message) { m.Text, m.Files = "", []channels.Attachment{{Name: "a.png"}} }), want{kind: event.Message, trust: event.Owner, session: "main", typed: true}},
		"an edit into a command":   {with(private("1"), func(m *channels.Message) { m.Edits = "old" }), want{kind: event.Message, trust: event.Owner, session: "main", typed: true}},
		"a thread":                 {with(private("2"), func(m *channels.Message) { m.Chat.Thread = "t" }), want{kind: event.Message, trust: event.Known, session: "x:2/t"}},
	} {
		in, refusal := channels.Admit("x", c.m, rules, time.Unix(1, 0))
		got := want{refusal, in.Kind, in.Trust, in.Session, in.Typed}
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if refusal == channels.Admitted && (in.Origin.Person != c.m.From.ID || in.Origin.Edits != c.m.Edits || !in.Origin.Sent.Equal(c.m.At)) {
			t.Errorf("%s: where it comes from is %+v", name, in.Origin)
		}
		if refusal == channels.Admitted && (in.Source != "x" || in.ExtID != "m" || in.ReplyTo != event.Address("x:"+c.m.Chat.ID)) {
			t.Errorf("%s: %+v", name, in)
		}
	}
	for id := range map[string]bool{"1": true, "2": true, "": true} {
		if _, refusal := channels.Admit("x", private(id), channels.Rules{}, time.Unix(1, 0)); refusal == channels.Admitted {
			t.Errorf("an empty list let %q in", id)
		}
	}
}

// The text of a button was chosen, not typed: it is never a command, and it is foreign if others may have
// chosen the words.
func TestWordsOfButtons(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		for _, label := range []string{"yes", "/approve K7Q2", "say:x", "say~x", "run rm -r ."} {
			m := channels.Message{ID: "m", From: channels.Person{ID: "1"}, Chat: channels.Chat{ID: "1"}, Choice: channels.Words(label, foreign)}
			in, refusal := channels.Admit("x", m, channels.Rules{Owner: []string{"1"}}, time.Unix(1, 0))
			if refusal != channels.Admitted || in.Text() != label || in.Kind != event.Message || in.Typed || in.Tainted != foreign {
				t.Errorf("%q, foreign %v: %s, %+v", label, foreign, refusal, in)
			}
		}
	}
}
