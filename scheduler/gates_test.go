package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

func TestParseGate(t *testing.T) {
	for text, want := range map[string]scheduler.Gate{
		"":                              {},
		"none":                          {},
		" None\n":                       {},
		"git status":                    {Command: "git status"},
		"exit:test -e go":               {Command: "test -e go", Exit: true},
		"exit: test -e go":              {Command: "test -e go", Exit: true},
		"url:https://example.org/a?b=1": {URL: "https://example.org/a?b=1"},
		"files:~/in/*.pdf, src/{a,b}/*": {Files: []string{"~/in/*.pdf", "src/{a,b}/*"}},
		"files:a\nfiles:b":              {Files: []string{"a", "b"}},
		"exit:true\nurl:https://a.example\nfiles:x": {Command: "true", Exit: true, URL: "https://a.example", Files: []string{"x"}},
		"if true\nthen echo 1\nfi":                  {Command: "if true\nthen echo 1\nfi"},
		"echo url:x":                                {Command: "echo url:x"},
	} {
		got, err := scheduler.ParseGate(text)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := scheduler.ParseGate(got.Words()); err != nil || !again.Equal(got) {
			t.Errorf("%q becomes %q, which means %+v, %v", text, got.Words(), again, err)
		}
		if got.Always() != (strings.TrimSpace(strings.ToLower(text)) == "" || strings.EqualFold(strings.TrimSpace(text), "none")) {
			t.Errorf("%q: always open: %v", text, got.Always())
		}
	}
	for text, why := range map[string]string{
		"exit:":                   "exit needs a command",
		"exit:  ":                 "exit needs a command",
		"url:":                    "",
		"url:ftp://example.org":   "want an address like",
		"url:javascript:alert(1)": "want an address like",
		"echo a\x00b":             "without NUL",
		strings.Repeat("x", 9000): "at most 8192 bytes",
	} {
		if _, err := scheduler.ParseGate(text); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%.40q: %v, want %q", text, err, why)
		}
	}
}

func TestSplitFiles(t *testing.T) {
	for list, want := range map[string][]string{
		"":            nil,
		" , ,":        nil,
		"a":           {"a"},
		"a, b ,c":     {"a", "b", "c"},
		"{a,b}/c,d":   {"{a,b}/c", "d"},
		"{a,{b,c}},d": {"{a,{b,c}}", "d"},
		"a},b":        {"a}", "b"},
	} {
		if got := scheduler.SplitFiles(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q", list, got)
		}
	}
}

func TestAwake(t *testing.T) {
	for _, c := range []struct {
		hours, clock string
		want         bool
	}{
		{"", "03:00", true},
		{"08:00-22:00", "07:59", false},
		{"08:00-22:00", "08:00", true},
		{"08:00-22:00", "21:59", true},
		{"08:00-22:00", "22:00", false},
		{"22:00-06:00", "23:00", true},
		{"22:00-06:00", "00:00", true},
		{"22:00-06:00", "05:59", true},
		{"22:00-06:00", "06:00", false},
		{"22:00-06:00", "12:00", false},
		{"00:00-24:00", "00:00", true},
		{"00:00-24:00", "23:59", true},
		{"20:00-24:00", "19:59", false},
		{"20:00-24:00", "23:59", true},
		{"20:00-24:00", "00:00", false},
		{"09:30-09:30", "09:29", true},
		{" 8:00 - 9:00 ", "08:30", true},
	} {
		wall, err := time.Parse("15:04", c.clock)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (scheduler.Gate{Active: c.hours}).Awake(wall); err != nil || got != c.want {
			t.Errorf("%s at %s: %v, %v", c.hours, c.clock, got, err)
		}
	}
	for _, bad := range []string{"8-22", "08:00", "08:00-25:00", "-", "08:00-22:00-23:00", "always", "08:60-09:00"} {
		if _, err := (scheduler.Gate{Active: bad}).Awake(time.Time{}); err == nil {
			t.Errorf("%q is taken for hours of the day", bad)
		}
		if (scheduler.Gate{Active: bad}).Check() == nil {
			t.Errorf("%q passes the check", bad)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	for _, s := range []string{"none", "exit:true", "url:https://a.example\nfiles:{a,b}", "a\nb", "files:,,{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := scheduler.ParseGate(text)
		if err != nil {
			return
		}
		again, err := scheduler.ParseGate(g.Words())
		if err != nil || !again.Equal(g) {
			t.Errorf("%q: %+v is written %q, which means %+v, %v", text, g, g.Words(), again, err)
		}
	})
}

// A slot of a job with a gate waits for the gate's check. The name of the heartbeat is reserved.
func TestGatedSlots(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	draft := scheduler.Draft{Name: "g", Cron: "* * * * *", Prompt: "say: x", Trust: event.Owner, Missed: "all", Gate: scheduler.Gate{Command: "true"}}
	j, _, err := scheduler.New(draft, time.UTC, now)
	if err != nil {
		t.Fatal(err)
	}
	f, due, err := scheduler.Slots(j, now.Add(3*time.Minute))
	if err != nil || !due || len(f.Slots) != 3 || len(f.Run) != 0 {
		t.Fatalf("%+v, %v, %v", f, due, err)
	}
	for _, s := range f.Slots {
		if s.State != scheduler.StateDue || s.Outcome != "" {
			t.Errorf("%+v", s)
		}
	}
	draft.Missed = "once"
	if j, _, err = scheduler.New(draft, time.UTC, now); err != nil {
		t.Fatal(err)
	}
	f, _, err = scheduler.Slots(j, now.Add(3*time.Minute))
	last := f.Slots[len(f.Slots)-1]
	if err != nil || last.State != scheduler.StateDue || !strings.HasPrefix(last.Note, "(2 earlier runs") || f.Slots[0].State != scheduler.StateDone {
		t.Errorf("%+v, %v", f.Slots, err)
	}
	in := scheduler.Input(j, last.Key, last.Note, now)
	if in.ExtID != "job:0:"+last.Key || len(in.Parts) != 2 || in.Parts[1].Text != last.Note {
		t.Errorf("%+v", in)
	}
	draft.Name = scheduler.Heartbeat
	if _, _, err := scheduler.New(draft, time.UTC, now); err == nil || !strings.HasPrefix(err.Error(), "name heartbeat: ") {
		t.Errorf("a job takes the heartbeat's name: %v", err)
	}
	draft.Name, draft.Prompt = "", "heartbeat"
	if j, _, err := scheduler.New(draft, time.UTC, now); err != nil || j.Name != "job" {
		t.Errorf("its name comes out of a prompt: %q, %v", j.Name, err)
	}
	draft.Gate.Active = "nine to five"
	if _, _, err := scheduler.New(draft, time.UTC, now); err == nil || !strings.Contains(err.Error(), "want hours of the day") {
		t.Errorf("a bad gate: %v", err)
	}
}
