package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
)

// place is a channel with persons, whose messages a test writes.
type place struct {
	channels.Audience
	posted chan posting
}

type posting struct {
	list  []channels.Message
	taken chan error
}

func (p *place) Run(ctx context.Context, in channels.Inbox) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case post := <-p.posted:
			post.taken <- in.Receive(ctx, post.list, &channels.Cursor{Source: "x", Identity: "bot", Value: post.list[len(post.list)-1].ID})
		}
	}
}

func (*place) Send(context.Context, channels.Delivery) (string, error) { return "1", nil }

// full is an inbox store that a test can make fail.
type full struct {
	channels.InboxStore
	fails *atomic.Bool
}

var errFull = errors.New("there is no room")

func (f full) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	if f.fails.Load() {
		return nil, errFull
	}
	return f.InboxStore.Accept(ctx, ins, c)
}

// house is a home with the channels x, y and news, of which the last has no persons.
type house struct {
	*daemon.House
	t     *testing.T
	home  string
	x, y  *place
	ahead *atomic.Int64
	full  *atomic.Bool
	close func()
	n     int
}

func newHouse(t *testing.T, home string) *house {
	t.Helper()
	h := &house{t: t, home: home, ahead: &atomic.Int64{}, full: &atomic.Bool{}, x: newPlace(), y: newPlace()}
	h.x.Groups = []string{"club"}
	c := sys.ShiftedClock(func() time.Duration { return time.Duration(h.ahead.Load()) })
	storetest.Prepare(t, filepath.Join(home, "state"))
	var err error
	h.House, err = daemon.OpenHouse(t.Context(), home, c, func(k channels.InboxStore) channels.InboxStore { return full{k, h.full} })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- h.Host.Run(ctx) }()
	h.close = sync.OnceFunc(func() {
		stop()
		if err := errors.Join(<-ended, h.Close(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.close)
	h.Host.Replace(map[string]channels.Section{
		"x": {Kind: "place", Channel: h.x}, "y": {Kind: "place", Channel: h.y}, "news": {Kind: "mute", Channel: mute{}},
		"broken": {Kind: "place", Err: errors.New("channels.broken: token: it is missing")},
	})
	return h
}

func newPlace() *place { return &place{posted: make(chan posting)} }

// mute is a channel without persons.
type mute struct{}

func (mute) Run(ctx context.Context, _ channels.Inbox) error {
	<-ctx.Done()
	return nil
}
func (mute) Send(context.Context, channels.Delivery) (string, error) { return "", nil }

// post delivers messages on a channel as its platform does.
func (h *house) post(p *place, list ...channels.Message) error {
	h.t.Helper()
	post := posting{list, make(chan error, 1)}
	select {
	case p.posted <- post:
		return <-post.taken
	case <-time.After(patience):
		h.t.Fatal("the channel does not run")
		return nil
	}
}

// says is post for what must be taken.
func (h *house) says(p *place, list ...channels.Message) {
	h.t.Helper()
	if err := h.post(p, list...); err != nil {
		h.t.Fatal(err)
	}
}

// by is a message that a person types in a private chat.
func (h *house) by(person, text string) channels.Message {
	h.n++
	return channels.Message{ID: fmt.Sprintf("m%d", h.n), From: channels.Person{ID: person, Name: "Sam"}, Chat: channels.Chat{ID: person}, Text: text}
}

func (h *house) begin(channel string) api.PairingStart {
	h.t.Helper()
	b, err := h.Admin.StartPairing(h.t.Context(), channel)
	if err != nil {
		h.t.Fatal(err)
	}
	if b.State != channels.PairingOpen || b.Left != channels.PairingTries {
		h.t.Fatalf("%+v", b)
	}
	return b
}

func (h *house) pairing(id int64) channels.PairingRow {
	h.t.Helper()
	r, err := h.Admin.Pairing(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// inbox is what became of messages: who was taken for whom, and what was said.
func (h *house) inbox() (list []string) {
	h.t.Helper()
	rows, err := store.NewView(h.Store.Reader(), time.Now).InboxRows(h.t.Context(), event.Filter{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range slices.Backward(rows) {
		list = append(list, fmt.Sprintf("%s %s %s", r.Trust, r.Session, r.Text))
	}
	return list
}

// told is what hob says of itself, by where it goes.
func (h *house) told() (list []string) {
	h.t.Helper()
	rows, err := store.NewView(h.Store.Reader(), time.Now).OutboxRows(h.t.Context(), event.Filter{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		list = append(list, string(r.To))
	}
	slices.Sort(list)
	return list
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestPairingBindsAnOwner goes the whole way of an account: a stranger, the owner, over a restart, and a stranger again.
func TestPairingBindsAnOwner(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.says(h.x, h.by("7", "hello"), h.by("", "hello"))
	same(t, "an empty list means nobody", h.inbox())
	b := h.begin("x")
	if strings.Contains(fmt.Sprint(h.pairing(b.ID)), b.Code) {
		t.Error("the code is shown again")
	}
	code, after := h.by("7", b.Code), h.by("7", "/status")
	h.says(h.x, code, after)
	same(t, "inbox", h.inbox(), "owner main /status")
	if got := h.Owner(); !slices.Equal(got, []event.Address{"x:7"}) {
		t.Errorf("the owner's addresses: %q", got)
	}
	if r := h.pairing(b.ID); r.State != channels.PairingBound || r.Person != "7" || r.Name != "Sam" || r.Bound.IsZero() {
		t.Errorf("%+v", r)
	}
	same(t, "who was told", h.told(), "cli:main", "x:7")

	second := h.by("8", b.Code)
	h.says(h.x, code, second, h.by("8", "hello"), h.by("7", b.Code[:4]))
	same(t, "the same code, again and by somebody else", h.inbox(), "owner main /status", "owner main "+b.Code[:4])
	same(t, "who was told once more", h.told(), "cli:main", "x:7")

	h.close()
	h = newHouse(t, h.home)
	h.n = 100
	h.says(h.x, code, h.by("7", "back again"), h.by("8", "hello"))
	h.says(h.y, h.by("7", "on another channel"))
	same(t, "after a restart", h.inbox(), "owner main /status", "owner main "+b.Code[:4], "owner main back again")

	r, err := h.Admin.RevokePairing(t.Context(), b.ID)
	if err != nil || r.State != channels.PairingRevoked {
		t.Fatalf("%+v, %v", r, err)
	}
	h.says(h.x, code, h.by("7", "let me in"))
	if list := h.inbox(); len(list) != 3 || len(h.Owner()) != 0 {
		t.Errorf("who was revoked is still heard: %q, %q", list, h.Owner())
	}
	if _, err := h.Admin.RevokePairing(t.Context(), b.ID); !isKind(err, event.Clash) {
		t.Errorf("revoked twice: %v", err)
	}
	again := h.begin("x")
	h.says(h.x, h.by("7", again.Code))
	if got := h.Owner(); !slices.Equal(got, []event.Address{"x:7"}) {
		t.Errorf("paired again: %q", got)
	}
}

func isKind(err error, kind event.FaultKind) bool {
	var f *event.Fault
	return errors.As(err, &f) && f.Kind == kind
}

// TestPairingTakesNoOtherCode shows the right code in every wrong way, with an owner's name and face; none becomes a message or an owner.
func TestPairingTakesNoOtherCode(t *testing.T) {
	for name, c := range map[string]struct {
		left   int // tries afterwards
		change func(h *house, m *channels.Message, code string)
	}{
		"a name only":           {5, func(_ *house, m *channels.Message, _ string) { m.Text = "it is me, Sam" }},
		"homoglyphs":            {5, func(_ *house, m *channels.Message, code string) { m.Text = string([]rune(code)[:7]) + "А" }}, // Cyrillic
		"full-width letters":    {5, func(_ *house, m *channels.Message, code string) { m.Text = string(rune(code[0])+0xFEE0) + code[1:] }},
		"forwarded":             {5, func(_ *house, m *channels.Message, _ string) { m.Forwarded = true }},
		"edited":                {5, func(_ *house, m *channels.Message, _ string) { m.Edits = "m1" }},
		"behind a button":       {5, func(_ *house, m *channels.Message, code string) { m.Text, m.Choice = "", code }},
		"by a bot":              {5, func(_ *house, m *channels.Message, _ string) { m.From.Bot = true }},
		"by a machine":          {5, func(_ *house, m *channels.Message, _ string) { m.Auto = true }},
		"by hob itself":         {5, func(_ *house, m *channels.Message, _ string) { m.From.Self = true }},
		"by nobody":             {5, func(_ *house, m *channels.Message, _ string) { m.From.ID = "" }},
		"in a group":            {5, func(_ *house, m *channels.Message, _ string) { m.Chat = channels.Chat{ID: "other", Group: "other"} }},
		"in a listed group":     {5, func(_ *house, m *channels.Message, _ string) { m.Chat = channels.Chat{ID: "club", Group: "club"} }},
		"among words":           {5, func(_ *house, m *channels.Message, code string) { m.Text = "the code is " + code }},
		"of another channel":    {4, func(h *house, m *channels.Message, _ string) { m.Text = h.begin("y").Code }},
		"of the pairing before": {5, func(h *house, m *channels.Message, _ string) { h.begin("x"); m.Text = strings.ToLower(m.Text) }},
		"too late":              {0, func(h *house, _ *channels.Message, _ string) { h.ahead.Store(int64(channels.PairingLife)) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, t.TempDir())
			b := h.begin("x")
			m := h.by("9", b.Code)
			c.change(h, &m, b.Code)
			h.says(h.x, m, h.by("9", "do as I say"))
			if len(h.Owner()) > 0 || len(h.inbox()) > 0 || len(h.told()) > 0 {
				t.Errorf("owners %q, inbox %q, told %q", h.Owner(), h.inbox(), h.told())
			}
			if name == "of the pairing before" {
				if got := h.pairing(b.ID).State; got != channels.PairingOver {
					t.Errorf("the first pairing is %s", got)
				}
				return
			}
			if got := h.pairing(b.ID).Left; got != c.left {
				t.Errorf("%d tries are left, want %d", got, c.left)
			}
		})
	}
}

// TestPairingEndsAfterFiveTries guesses 10,000 times; the right code comes too late then.
func TestPairingEndsAfterFiveTries(t *testing.T) {
	h := newHouse(t, t.TempDir())
	b := h.begin("x")
	wrong := h.by("9", "AAAA-AAA"+b.Code[:1])
	if wrong.Text == b.Code {
		wrong.Text = "BBBB-BBBB"
	}
	h.says(h.x, wrong)
	h.says(h.x, wrong) // delivered again
	if got := h.pairing(b.ID).Left; got != channels.PairingTries-1 {
		t.Errorf("%d tries are left after one wrong code that came twice", got)
	}
	const letters = "ABCDEFGHJK"
	list := make([]channels.Message, 0, 10_000)
	for i := range 10_000 {
		text := []byte("ZZZZZZZZ")
		for at, n := 0, i; at < 4; at, n = at+1, n/10 {
			text[at] = letters[n%10]
		}
		if strings.ReplaceAll(b.Code, "-", "") == string(text) {
			continue
		}
		list = append(list, h.by(fmt.Sprint(100+i), string(text)))
	}
	h.says(h.x, list...)
	h.says(h.x, h.by("9", b.Code))
	if r := h.pairing(b.ID); r.State != channels.PairingOver || r.Left != 0 || len(h.Owner()) > 0 || len(h.inbox()) > 0 {
		t.Errorf("%+v, owners %q, inbox %q", r, h.Owner(), h.inbox())
	}
	events, err := h.Store.Events.EventsAfter(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var left []any
	for _, e := range events {
		if e.Type == "pairing.wrong" {
			left = append(left, e.Data["left"])
		}
	}
	if fmt.Sprint(left) != "[4 3 2 1 0]" {
		t.Errorf("whoever watches saw tries left: %v", left)
	}
}

// TestPairingOutlivesACrash binds somebody, and loses everything after that: the code comes again and is no message then either.
func TestPairingOutlivesACrash(t *testing.T) {
	h := newHouse(t, t.TempDir())
	b := h.begin("x")
	code, next := h.by("7", b.Code), h.by("7", "hello")
	h.full.Store(true)
	if err := h.post(h.x, code, next); !errors.Is(err, errFull) {
		t.Fatalf("what was not stored was acknowledged: %v", err)
	}
	h.close()
	h = newHouse(t, h.home)
	if got := h.Owner(); !slices.Equal(got, []event.Address{"x:7"}) {
		t.Errorf("owners: %q", got)
	}
	h.says(h.x, code, next)
	same(t, "inbox", h.inbox(), "owner main hello")
	same(t, "who was told", h.told(), "cli:main", "x:7")
	if c, err := h.Store.Inbox.Cursor(t.Context(), "x", "bot"); err != nil || c != next.ID {
		t.Errorf("cursor %q, %v", c, err)
	}
}

// TestPairableChannels: the list shows all channels, and a pairing can start only on a channel with persons.
func TestPairableChannels(t *testing.T) {
	h := newHouse(t, t.TempDir())
	start := func(name string) error {
		_, err := h.Admin.StartPairing(t.Context(), name)
		return err
	}
	h.says(h.x, h.by("9", "is anybody there?")) // all of them are opened
	if err := start("nowhere"); !isKind(err, event.Missing) {
		t.Errorf("nowhere: %v", err)
	}
	if err := start("cli"); !isKind(err, event.Refused) || !strings.Contains(err.Error(), "needs no pairing") {
		t.Errorf("cli: %v", err)
	}
	if err := start("news"); !isKind(err, event.Refused) {
		t.Errorf("news: %v", err)
	}
	b := h.begin("broken")
	if len(b.Notes) != 1 || !strings.Contains(b.Notes[0], "token: it is missing") {
		t.Errorf("a channel that is down: %q", b.Notes)
	}
	if _, err := h.Admin.EndPairing(t.Context(), b.ID); err != nil || h.pairing(b.ID).State != channels.PairingOver {
		t.Errorf("ended: %+v, %v", h.pairing(b.ID), err)
	}
	b = h.begin("x")
	h.says(h.x, h.by("7", b.Code))
	if _, err := h.Admin.EndPairing(t.Context(), b.ID); err != nil || h.pairing(b.ID).State != channels.PairingBound {
		t.Errorf("an end must not unbind: %+v, %v", h.pairing(b.ID), err)
	}
	var shown []string
	for _, c := range h.Admin.Channels() {
		shown = append(shown, fmt.Sprintf("%s %s %s %s %v %v %v", c.Name, c.Kind, c.Receiving.State, c.Sending.State, c.Pairs, c.Owner, c.Groups))
	}
	same(t, "channels", shown, "broken place down down false [] []", "news mute ok not tried false [] []", "x place ok not tried true [7] [club]", "y place ok not tried true [] []")
	h.Host.Sent("x", nil) // U38
	if x := h.Admin.Channels()[2]; x.Sending.State != channels.OK {
		t.Errorf("when something was sent: %+v", x.Sending)
	}
}

// TestChannelTrial tries channels out, and sends only when asked to, and only to the owner.
func TestChannelTrial(t *testing.T) {
	h := newHouse(t, t.TempDir())
	test := func(name, send string) (api.ChannelTest, error) {
		return h.Admin.Test(t.Context(), name, api.TestMessage{Send: send})
	}
	h.says(h.x, h.by("9", "is anybody there?"))
	if tr, err := test("x", ""); err != nil || tr.Fault != "" || len(tr.Works) == 0 || tr.Outbox != 0 {
		t.Errorf("%+v, %v", tr, err)
	}
	if _, err := test("x", "true"); !isKind(err, event.Clash) || len(h.told()) > 0 {
		t.Errorf("sent to nobody: %v", err)
	}
	if tr, err := test("broken", "true"); err != nil || !strings.Contains(tr.Fault, "it is missing") {
		t.Errorf("%+v, %v", tr, err)
	}
	h.says(h.x, h.by("7", h.begin("x").Code))
	tr, err := test("x", "true")
	if err != nil || tr.To != "x:7" || tr.Outbox == 0 {
		t.Errorf("%+v, %v", tr, err)
	}
	same(t, "told", h.told(), "cli:main", "x:7", "x:7")
}

// The owner who mentions hob in a group that is not listed is told its id, once; nobody else is.
func TestTheIDOfAGroup(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.says(h.x, h.by("7", h.begin("x").Code))
	before := h.told()
	group := func(id, from string, mentioned bool) channels.Message {
		m := h.by(from, "hob, are you there?")
		m.Chat, m.Mentioned = channels.Chat{ID: id, Group: id, Title: "Fam\nily"}, mentioned
		return m
	}
	h.says(h.x, group("-100", "7", false), group("-101", "8", true))
	same(t, "told", h.told(), before...)
	h.says(h.x, group("-100", "7", true), group("-100", "7", true))
	h.says(h.x, group("-100", "7", true))
	same(t, "told", h.told(), append(before, "x:7")...)
	rows, err := store.NewView(h.Store.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{Limit: 1})
	if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Body, `add "-100" to groups in [channels.x]`) || strings.Contains(rows[0].Body, "Fam\n") {
		t.Errorf("%+v, %v", rows, err)
	}
	if got := h.inbox(); len(got) > 0 {
		t.Errorf("taken: %q", got)
	}
}

// topics is a channel whose section says that a place is the owner's.
type topics struct{ mute }

func (topics) OwnerPlaces() []string { return []string{"talk", "more"} }

// C4: owner = true is all that is needed: the topic is an address of the owner's wherever one is asked for.
func TestWhatASectionMakesTheOwners(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.Host.Replace(map[string]channels.Section{"alerts": {Kind: "topics", Channel: topics{}}, "news": {Kind: "mute", Channel: mute{}}})
	if got := h.Owner(); !slices.Equal(got, []event.Address{"alerts:talk", "alerts:more"}) {
		t.Fatalf("the owner's addresses are %q", got)
	}
	if s, err := h.Right("alerts:talk"); err != nil || s != channels.OwnerRight {
		t.Errorf("he hears there as %q, %v", s, err)
	}
	if _, _, err := h.Store.Calls.UseOrAsk(t.Context(), turn.Question{Subject: turn.AboutCall, ActionHash: "h", Text: "May I?", To: event.ToOwner, Until: time.Now().Add(time.Hour)}, 0); err != nil {
		t.Fatal(err)
	}
	rows, err := h.Store.Outbox.Ready(t.Context(), time.Now(), 9)
	if err != nil || len(rows) != 1 || rows[0].To != "alerts:talk" || rows[0].Right != channels.OwnerRight {
		t.Errorf("the question goes to %+v, %v", rows, err)
	}
	test := func(name string) (api.ChannelTest, error) {
		return h.Admin.Test(t.Context(), name, api.TestMessage{Send: "true"})
	}
	if out, err := test("alerts"); err != nil || out.To != "alerts:talk" {
		t.Errorf("channels test --send: %+v, %v", out, err)
	}
	_, notPaired := h.Admin.StartPairing(t.Context(), "alerts")
	_, notTested := test("news")
	for hint, err := range map[string]error{
		"owner = true and a token in [channels.alerts]": notPaired,
		"an address of it in [owner] addresses":         notTested,
	} {
		if err == nil || !strings.Contains(hintOf(err), hint) || strings.Contains(hintOf(err), "pairing") {
			t.Errorf("%v (%s), want the hint %q", err, hintOf(err), hint)
		}
	}
}

// hintOf is what a fault says to do.
func hintOf(err error) string {
	var f *event.Fault
	errors.As(err, &f)
	return f.Hint
}
