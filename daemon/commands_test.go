package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/all"
	"hob/daemon/event"
	"hob/daemon/store"
)

// commands are those that the owner has in a chat, and one that does not exist.
func commands() []string {
	return []string{
		"/help", "/status", "/stop", "/stop all", "/new", "/clean", "/compact", "/usage", "/jobs", "/queue", "/undo", "/retry", "/why", "/approve K7Q2", "/approve K7Q2 always",
		"/deny K7Q2", "/answer K7Q2 yes", "/model other", "/quiet 2h", "/cancel 1", "/unheard-of",
	}
}

// TestCommandsByLevelAndSource sends each command as everybody, from everywhere, in every form. It is a command of the owner's, typed or pressed
// in a private chat of his; else it is somebody's words or nothing at all.
func TestCommandsByLevelAndSource(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.says(h.x, h.by("7", h.begin("x").Code))
	h.x = newPlace() // the same channel, to which more people may write
	h.x.Groups, h.x.Known, h.x.Public = []string{"club"}, []string{"2"}, []string{"3"}
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "place", Fingerprint: "2", Channel: h.x}})

	owner, known, public := "command owner main", "message known ", "message public "
	places := map[string]func(m *channels.Message){
		"private": func(*channels.Message) {},
		"club":    func(m *channels.Message) { m.Chat = channels.Chat{ID: "club", Group: "club"}; m.Mentioned = true },
		"aside":   func(m *channels.Message) { m.Chat = channels.Chat{ID: "club", Group: "club"} },
		"crowd":   func(m *channels.Message) { m.Chat = channels.Chat{ID: "crowd", Group: "crowd"}; m.Mentioned = true },
	}
	forms := map[string]func(m *channels.Message){
		"typed":     func(*channels.Message) {},
		"pressed":   func(m *channels.Message) { m.Choice, m.Text = m.Text, "" },
		"forwarded": func(m *channels.Message) { m.Forwarded = true },
		"automatic": func(m *channels.Message) { m.Auto = true },
		"by hob":    func(m *channels.Message) { m.From.Self = true },
		"by a bot":  func(m *channels.Message) { m.From.Bot = true },
	}
	want := func(person, place, form string) string {
		switch {
		case form == "automatic" || form == "by hob" || form == "by a bot" && person != "2" && person != "3":
			return "" // a bot that the owner has listed is heard, as far as he has said
		case place == "aside" || place == "crowd" || form == "pressed" && (person != "7" || place != "private"):
			return ""
		case place == "private":
			return map[string]string{"7 typed": owner, "7 pressed": owner, "7 forwarded": "message owner main"}[person+" "+form] + map[string]string{"2": known + "x:2", "3": public + "x:3"}[person]
		case person == "7" || person == "2":
			return known + "x:club"
		default:
			return public + "x:club"
		}
	}
	n := 0
	for _, person := range []string{"7", "2", "3", "9", ""} {
		for place, in := range places {
			for form, as := range forms {
				for _, command := range commands() {
					n++
					h.ahead.Add(int64(time.Second)) // nobody writes so fast that it is one message
					m := channels.Message{ID: fmt.Sprintf("row%d", n), From: channels.Person{ID: person, Name: "Sam"}, Chat: channels.Chat{ID: person}, Text: command}
					in(&m)
					as(&m)
					expected := want(person, place, form)
					if person == "" {
						expected = ""
					}
					h.says(h.x, m)
					if got := h.became(m.ID); got != expected {
						t.Errorf("%s by %q, %s, %s: became %q, want %q", command, person, place, form, got, expected)
					}
				}
			}
		}
	}
	if n != 5*4*6*len(commands()) {
		t.Errorf("%d rows were looked at", n)
	}
}

// became is what a message of a channel has become: kind, trust and session of its row, "" for none.
func (h *house) became(ext string) string {
	h.t.Helper()
	rows, err := store.NewView(h.Store.Reader(), time.Now).InboxRows(h.t.Context(), event.Filter{Limit: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(rows) == 0 || rows[0].ExtID != ext {
		return ""
	}
	return fmt.Sprintf("%s %s %s", rows[0].Kind, rows[0].Trust, rows[0].Session)
}

// TestNobodySpeaksForHobItself: what hob says to itself has sources of its own, and no channel can be called so or write as one.
func TestNobodySpeaksForHobItself(t *testing.T) {
	h := newHouse(t, t.TempDir())
	for _, source := range []string{"api", "cli", "cron", "owner", "none", "hook", "watch", "child", "y", ""} {
		post := func(ctx context.Context, in channels.Inbox) error {
			_, err := in.Accept(ctx, []event.In{{Source: source, ExtID: "1", Session: "main", Kind: event.Command, Trust: event.Owner, ReplyTo: "x:7", Parts: event.Say("/stop")}}, nil)
			return err
		}
		refused := make(chan error, 1)
		forger := forge(func(ctx context.Context, in channels.Inbox) { refused <- post(ctx, in) })
		h.Host.Replace(map[string]channels.Section{"x": {Kind: "forger", Fingerprint: source, Channel: forger}})
		if err := <-refused; err == nil || !strings.Contains(err.Error(), "is not its own") {
			t.Errorf("a channel writes as %q: %v", source, err)
		}
	}
	same(t, "inbox", h.inbox())
	reserved := []string{"api", "cli", "cron", "none", "owner"}
	for _, name := range append(slices.Clone(reserved), "alerts") {
		env := channels.Env{HTTP: &http.Client{}, Secret: func(string) (string, error) { return "", errors.New("none") }}
		_, err := channels.Build(all.All(), name, "ntfy", env, func(any) error { return errors.New("decoded") })
		if taken := err != nil && strings.Contains(err.Error(), "uses the name"); taken != slices.Contains(reserved, name) {
			t.Errorf("a channel named %s: %v", name, err)
		}
	}
}

// forge is a channel that does one thing when it is started.
type forge func(ctx context.Context, in channels.Inbox)

func (f forge) Run(ctx context.Context, in channels.Inbox) error {
	f(ctx, in)
	<-ctx.Done()
	return nil
}

func (forge) Send(context.Context, channels.Delivery) (string, error) { return "", nil }
