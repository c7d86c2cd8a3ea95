package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/cli"
	"hob/daemon/event"
	"hob/daemon/sys"
)

func open(in *channelstest.Inbox) *cli.Channel {
	return cli.New(in, nil, sys.RealClock(), sys.RandomIDs(), "Sam")
}

func TestPost(t *testing.T) {
	in := &channelstest.Inbox{}
	c := open(in)
	first, err := c.Post(t.Context(), "hello\nhob\n", "", "")
	if err != nil || !first.New || first.Inbox != 1 {
		t.Fatalf("receipt %+v, %v", first, err)
	}
	row := in.Rows()[0]
	want := event.In{
		Source: "cli", ExtID: row.ExtID, Session: "main", Kind: event.Message, Rank: event.RankOwner, Trust: event.Owner,
		Sender: "Sam", ReplyTo: event.CLI, Typed: true, Received: row.Received,
	}
	if row.Text() != "hello\nhob" || row.Received.IsZero() || len(row.ExtID) != 16 {
		t.Errorf("row %+v", row)
	}
	row.Parts = nil
	if got := row; got.Session != want.Session || got.Source != want.Source || got.Kind != want.Kind || got.Rank != want.Rank ||
		got.Trust != want.Trust || got.Sender != want.Sender || got.ReplyTo != want.ReplyTo || !got.Typed {
		t.Errorf("row %+v, want %+v", got, want)
	}
}

func TestSameIDIsStoredOnce(t *testing.T) {
	in := &channelstest.Inbox{}
	c := open(in)
	one, err1 := c.Post(t.Context(), "hello", "work", "id-1")
	two, err2 := c.Post(t.Context(), "hello", "work", "id-1")
	if err1 != nil || err2 != nil || !one.New || two.New || one.Inbox != two.Inbox || len(in.Rows()) != 1 {
		t.Errorf("%+v %v, %+v %v", one, err1, two, err2)
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]event.Kind{
		"/status": event.Command, "/Help me": event.Command, "/ 5": event.Message, "/": event.Message, "//x": event.Message,
		"/5": event.Message, "status": event.Message, " /status": event.Message, "/étage": event.Message, "/[x": event.Message, "/@x": event.Message,
	} {
		if got := channels.KindOf(text); got != want {
			t.Errorf("%q is a %s, want %s", text, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		text, session, id string
		want              error
	}{
		{"", "", "", cli.ErrEmpty},
		{" \n\t", "", "", cli.ErrEmpty},
		{strings.Repeat("x", cli.MaxText), "", "", nil},
		{strings.Repeat("x", cli.MaxText+1), "", "", cli.ErrTooLarge},
		{"x", "a-b_c.9", "", nil},
		{"x", "job:morning", "", cli.ErrSession},
		{"x", "ntfy.alerts:talk", "", cli.ErrSession},
		{"x", "Main", "", cli.ErrSession},
		{"x", strings.Repeat("a", 65), "", cli.ErrSession},
		{"x", "a\n", "", cli.ErrSession},
		{"x", "", "a b", cli.ErrID},
		{"x", "", "a\x00", cli.ErrID},
		{"x", "", strings.Repeat("a", 129), cli.ErrID},
		{"bad \xff byte", "", "", nil},
	} {
		in := &channelstest.Inbox{}
		_, err := open(in).Post(t.Context(), tc.text, tc.session, tc.id)
		if !errors.Is(err, tc.want) {
			t.Errorf("%.20q %q %q: %v, want %v", tc.text, tc.session, tc.id, err, tc.want)
		}
		if stored := len(in.Rows()); (stored == 1) != (tc.want == nil) {
			t.Errorf("%.20q %q %q: %d stored", tc.text, tc.session, tc.id, stored)
		}
	}
}

func TestStoreErrorsComeThrough(t *testing.T) {
	in := &channelstest.Inbox{}
	in.FailNext(1)
	if _, err := open(in).Post(t.Context(), "x", "", ""); !errors.Is(err, channelstest.ErrFull) {
		t.Errorf("error %v", err)
	}
}

func TestChannel(t *testing.T) {
	var ch channels.Channel = open(&channelstest.Inbox{})
	if id, err := ch.Send(t.Context(), channels.Delivery{To: event.CLI, Body: "x"}); id != "" || err != nil {
		t.Errorf("send: %q %v", id, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ch.Run(ctx, nil); err != nil {
		t.Errorf("run: %v", err)
	}
}
