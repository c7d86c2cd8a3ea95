package admin_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/admin"
)

// The states of one direction.
var (
	fresh = channels.Direction{State: channels.OK}
	fine  = channels.Direction{State: channels.OK, Proven: true, LastError: "long over"}
	shaky = channels.Direction{State: channels.Degraded, LastError: "once"}
	down  = channels.Direction{State: channels.Down, LastError: "refused."}
	fell  = channels.Direction{State: channels.Down, LastError: "refused", Proven: true}
)

func health(print string, receiving, sending channels.Direction) channels.ChannelHealth {
	return channels.ChannelHealth{Name: "x", Fingerprint: print, Receiving: receiving, Sending: sending}
}

// TestTrouble checks the notices about a channel's health: each fault once, and "no longer" only if it worked
// before.
func TestTrouble(t *testing.T) {
	type change struct {
		channels.ChannelHealth
		want string // how the notice begins; "": nothing is told
	}
	to := func(receiving, sending channels.Direction, want string) change {
		return change{health("1", receiving, sending), want}
	}
	for name, changes := range map[string][]change{
		"never worked":                 {to(shaky, fresh, ""), to(down, fresh, "does not work: refused. hob"), to(down, shaky, ""), to(down, down, "")},
		"never worked, sends first":    {to(fresh, down, "does not work: refused. hob"), to(down, down, "")},
		"never worked, over a restart": {to(down, fresh, "does not work"), to(shaky, fresh, ""), to(down, fresh, ""), to(down, down, "")},
		"goes deaf":                    {to(fine, fresh, ""), to(fell, fresh, "no longer receives"), to(fell, down, "")},
		"goes deaf again":              {to(fell, fresh, "no longer receives"), to(fine, fresh, ""), to(fell, fresh, "no longer receives")},
		"goes deaf and mute":           {to(fell, fell, "no longer receives"), to(fine, fell, "no longer sends"), to(fine, fine, "")},
		"never could send":             {to(fine, fresh, ""), to(fine, down, "does not send"), to(fell, down, "no longer receives")},
		"mute, then deaf":              {to(fine, fell, "no longer sends"), to(fell, fell, "no longer receives")},
		"works again untold":           {to(down, down, "does not work"), to(fine, down, "does not send"), to(fine, fine, "")},
		"deaf over a restart":          {to(fell, fresh, "no longer receives"), to(down, fresh, ""), to(fine, fresh, ""), to(fell, fresh, "no longer receives")},
		"mute over a restart":          {to(fine, fell, "no longer sends"), to(fine, fresh, ""), to(fine, down, ""), to(fine, fine, ""), to(fine, fell, "no longer sends")},
		"worked before the restart":    {to(fine, fine, ""), to(down, fresh, "no longer receives")},
		"another section": {
			to(fell, fell, "no longer receives"),
			{health("2", down, fresh), "does not work"},
			{health("2", down, down), ""},
			{health("2", fine, fresh), ""},
			{health("3", fresh, down), "does not work"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all admin.HealthNotices
			for i, c := range changes {
				var err error
				if all, err = admin.ReadHealthNotices(all.String()); err != nil { // as it is kept
					t.Fatal(err)
				}
				var text string
				all["x"], text = all["x"].After(c.ChannelHealth)
				got, ours := strings.CutPrefix(text, "Channel x ")
				if c.want == "" && text != "" || c.want != "" && (!ours || !strings.HasPrefix(got, c.want)) {
					t.Errorf("change %d: told %q, want %q", i, text, c.want)
				}
				if text != "" && (!strings.Contains(text, "[channels.x]") || !strings.Contains(text, "hob channels test x") || strings.Contains(text, "..")) {
					t.Errorf("change %d: what to do is not said well: %q", i, text)
				}
			}
		})
	}
}

func TestTroublesAreKept(t *testing.T) {
	if got := (admin.HealthNotices{}).String(); got != "" {
		t.Errorf("none are kept as %q", got)
	}
	all := admin.HealthNotices{"a": {Fingerprint: "1", NotReceiving: true}, "b": {Fingerprint: "2", NotSending: true, HasReceived: true, HasSent: true}}
	back, err := admin.ReadHealthNotices(all.String())
	if err != nil || len(back) != 2 || back["a"] != all["a"] || back["b"] != all["b"] {
		t.Errorf("read back %+v, %v", back, err)
	}
	back.Only([]string{"b", "c"})
	if len(back) != 1 || back["b"] != all["b"] {
		t.Errorf("of b only: %+v", back)
	}
	if _, err := admin.ReadHealthNotices("{"); err == nil {
		t.Error("half a list was read")
	}
}

// TestNews checks which problems of the config are new: their text counts, not their line.
func TestNews(t *testing.T) {
	known := ""
	for i, c := range []struct{ lines, news []string }{
		{nil, nil},
		{[]string{"config.toml:3:1: a", "b"}, []string{"config.toml:3:1: a", "b"}},
		{[]string{"config.toml:9:1: a", "b", "b"}, nil},
		{[]string{"b", "c", "config.toml:9:2: a"}, []string{"c"}},
		{[]string{"b"}, nil},
		{[]string{"b", "c"}, []string{"c"}}, // it was gone meanwhile
		{nil, nil},
		{[]string{"b"}, []string{"b"}},
	} {
		var news []string
		if known, news = admin.NewLines(known, c.lines); !slices.Equal(news, c.news) {
			t.Errorf("list %d: news %q, want %q", i, news, c.news)
		}
	}
	if known, _ = admin.NewLines(known, nil); known != "" {
		t.Errorf("where nothing is wrong, %q is kept", known)
	}
}
