package automation_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// book is a schedule with one job, which remembers what was planned.
type book struct {
	list  []scheduler.View
	draft scheduler.Draft
	verb  automation.Verb
	key   string
	err   error

	gate    string // that was judged
	network bool
	touches tools.Intent
}

func newBook() *book {
	at := func(s string) time.Time { t, _ := time.Parse(time.RFC3339, s); return t }
	return &book{list: []scheduler.View{{
		ID: 7, Name: "morning", Spec: "cron 0 9 * * 1-5", Zone: "Europe/Berlin", Prompt: "brief me", Session: "auto", Deliver: "owner",
		Missed: "once", Overlap: "fold", Next: []time.Time{at("2026-11-23T08:00:00Z"), at("2026-11-24T08:00:00Z"), at("2026-11-25T08:00:00Z")},
	}, {ID: 8, Name: "broken", Spec: "?", Zone: "UTC", Broken: "no such zone"}, {ID: 9, Name: "paused", Spec: "every 1h", Zone: "UTC", Paused: true, Failures: 2}}}
}

func (b *book) List(context.Context) ([]scheduler.View, error) { return b.list, b.err }
func (b *book) Find(_ context.Context, ref string) (scheduler.View, bool, error) {
	for _, j := range b.list {
		if j.Name == ref || ref == "7" && j.ID == 7 {
			return j, true, b.err
		}
	}
	return scheduler.View{}, false, b.err
}

func (b *book) Plan(_ context.Context, d scheduler.Draft) (scheduler.View, tools.Change, error) {
	b.draft = d
	if d.When == "never" {
		return scheduler.View{}, nil, tools.Refuse(tools.Validation, "try 'every 30m'", "schedule %q cannot be understood", d.When)
	}
	return b.list[0], d, b.err
}

func (b *book) Alter(_ context.Context, j scheduler.View, v automation.Verb, key string) (scheduler.View, tools.Change, error) {
	b.verb, b.key = v, key
	if v == automation.Pause && j.Paused || v == automation.Resume && !j.Paused {
		return j, nil, b.err
	}
	return j, v, b.err
}

func (b *book) Judge(_ context.Context, _ tools.Call, gate string, network bool) (tools.Intent, error) {
	b.gate, b.network = gate, network
	return b.touches, b.err
}

func (b *book) Runs(context.Context, scheduler.View, int) ([]automation.Run, error) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return []automation.Run{
		{Due: due, State: "done", Outcome: "ran", LateMS: 7_200_000},
		{Due: due.AddDate(0, 0, -1), State: "done", Outcome: "coalesced", Reason: "waiting for #4"},
		{Due: due.AddDate(0, 0, -2), State: "waiting"},
	}, b.err
}

func call(args, words string) tools.Call {
	return tools.Call{
		ID: "t1_1", Args: json.RawMessage(args), Words: words, Trust: event.Owner, ReplyTo: "ntfy:a", Zone: "Europe/Berlin",
		Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
}

func do(t *testing.T, b *book, c tools.Call) tools.Result {
	t.Helper()
	tool := automation.NewCron(b, b)
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"action":"list"}`, "#7 morning | cron 0 9 * * 1-5 | next Mon 23 Nov 2026 09:00 | brief me\n#8 broken | ? | cannot run: no such zone | \n#9 paused | every 1h | paused, failed 2 in a row | "},
		{
			`{"action":"add","schedule":"every weekday at 9","prompt":"brief me"}`,
			"added: morning (#7): cron 0 9 * * 1-5, Europe/Berlin\nnext: Mon 2026-11-23 09:00, Tue 2026-11-24 09:00, Wed 2026-11-25 09:00\nprompt: brief me\nanswers go to: owner",
		},
		{`{"action":"update","name":"morning","prompt":"x"}`, "changed: morning (#7)"},
		{`{"action":"update","id":7,"name":"evening"}`, "changed: morning (#7)"},
		{`{"action":"pause","name":"morning"}`, "the job morning is paused"},
		{`{"action":"resume","name":"paused"}`, "resumed: paused (#9)"},
		{`{"action":"resume","id":7}`, "nothing has changed: job morning was not paused"},
		{`{"action":"pause","name":"paused"}`, "nothing has changed: job paused was paused already"},
		{`{"action":"pause","id":7,"name":"morning"}`, "the job morning is paused"},
		{`{"action":"remove","name":"morning"}`, "the job morning is removed"},
		{`{"action":"run","name":"morning"}`, "the job morning is queued to run now"},
		{`{"action":"runs","name":"morning"}`, "morning, newest first:\nFri 2026-11-20 09:00 ran 2h0m0s late\nThu 2026-11-19 09:00 coalesced (waiting for #4)\nWed 2026-11-18 09:00 waiting"},
	} {
		if res := do(t, newBook(), call(c.args, "")); res.IsError || !strings.HasPrefix(res.Content, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, res.Content, c.want)
		}
	}
	if res := do(t, &book{}, call(`{"action":"list"}`, "")); res.Content != "there are no jobs yet" {
		t.Error(res.Content)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code tools.Code
		want string
	}{
		{`{"action":"add"}`, tools.Validation, "cron add: schedule: missing; prompt: missing"},
		{`{"action":"add","schedule":"x","prompt":" ","id":3,"tz":"Mars","max_late":"soon"}`, tools.Validation, "prompt: missing; id: a new job gets its own; max_late: want a duration such as 2h, or none; tz: want an IANA name"},
		{`{"action":"pause"}`, tools.Validation, "cron pause: id or name: missing"},
		{`{"action":"pause","id":7,"name":"paused"}`, tools.Validation, "cron pause: job 7 is morning, not paused\nhint: give one of the two"},
		{`{"action":"runs","id":7,"name":"paused"}`, tools.Validation, "cron runs: job 7 is morning, not paused"},
		{`{"action":"update","name":"morning"}`, tools.Validation, "nothing to change is given"},
		{`{"action":"remove","name":"mornnig"}`, tools.NotFound, "there is no job mornnig\nhint: did you mean morning?"},
		{`{"action":"remove","id":5}`, tools.NotFound, "there is no job 5\nhint: there are: morning, broken, paused"},
		{`{"action":"add","schedule":"never","prompt":"x"}`, tools.Validation, `schedule "never" cannot be understood`},
		{`{"action":"add","schedule":"x","prompt":"x","deliver":"nowhere"}`, tools.Validation, "deliver: address"},
		{`{"action":"start"}`, tools.Validation, "action: want one of list, add"},
		{`{"action":"add","schedule":"x","prompt":"x","colour":"red"}`, tools.Validation, "colour: unknown"},
		{
			`{"action":"add","schedule":"x","missed":"x","session":"y","tz":"Mars","bogus":1}`, tools.Validation,
			"cron: 5 things are wrong with the arguments:\n- bogus: unknown\n- missed: want one of once, skip, all, ask, got \"x\"\n- session: want one of auto, main, isolated, got \"y\"\n- prompt: missing\n- tz: want an IANA name such as Europe/Berlin",
		},
		{`{"action":"start","tz":"Mars"}`, tools.Validation, "cron: action: want one of list, add"},
		{`{"action":"add","schedule":7,"prompt":"x"}`, tools.Validation, "cron: schedule: want a string, got the number 7\n"},
	} {
		if res := do(t, newBook(), call(c.args, "")); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%s:\n%s", c.args, res.Content)
		}
	}
	b := newBook()
	b.err = errors.New("disk I/O error")
	for _, args := range []string{`{"action":"list"}`, `{"action":"runs","name":"morning"}`, `{"action":"pause","name":"morning"}`, `{"action":"add","schedule":"x","prompt":"x"}`} {
		if res := do(t, b, call(args, "")); res.Code != tools.Unknown || res.Data != nil || len(res.Changes) > 0 {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

// What would be refused is refused before anybody is asked to agree to it, whatever else of the call needs a yes.
func TestRefusedBeforeAnybodyIsAsked(t *testing.T) {
	for _, args := range []string{
		`{"action":"add","schedule":"never","prompt":"x","allow":"exec"}`,
		`{"action":"update","name":"morning","schedule":"never","deliver":"telegram:5"}`,
		`{"action":"update","name":"mornnig","prompt":"x","allow":"exec"}`,
		`{"action":"run","id":7,"name":"paused"}`,
	} {
		if i, err := automation.NewCron(newBook(), newBook()).Intent(t.Context(), call(args, "")); err == nil {
			t.Errorf("%s: %+v is put to the owner", args, i)
		}
	}
	s := newShed()
	s.err = tools.Refuse(tools.NotFound, "", "there is no channel nochan")
	g, _ := ground(t)
	if i, err := automation.NewWatch(s, g).Intent(t.Context(), call(`{"action":"add","paths":["/d"],"prompt":"x","deliver":"nochan:1"}`, "")); err == nil {
		t.Errorf("a watch: %+v is put to the owner", i)
	}
}

// Who is asked to agree to rights reads which: in one line, as a command without a terminal prints it.
func TestRightsAreNamed(t *testing.T) {
	g, _ := ground(t)
	for args, want := range map[string]string{
		`{"action":"add","schedule":"s","prompt":"p","allow":"exec, net:a.org"}`: "add the job: s: p, with the right exec, net:a.org",
		`{"action":"update","name":"morning","allow":"write:/srv"}`:              "change the job morning, with the right write:/srv",
		`{"action":"update","name":"morning","allow":"none"}`:                    "change the job morning",
	} {
		if i, err := automation.NewCron(newBook(), newBook()).Intent(t.Context(), call(args, "")); err != nil || i.Summary != want {
			t.Errorf("%s: %q, %v; want %q", args, i.Summary, err, want)
		}
	}
	i, err := automation.NewWatch(newShed(), g).Intent(t.Context(), call(`{"action":"add","paths":["/d"],"prompt":"p","allow":"net"}`, ""))
	if want := "add the watch: /d: p, with the right net"; err != nil || i.Summary != want {
		t.Errorf("%q, %v; want %q", i.Summary, err, want)
	}
}

// What was taken because nobody said it stands in the echo, and a job that has no number yet does not seem to be number 0.
func TestNotesAreTold(t *testing.T) {
	b := newBook()
	b.list[0].ID, b.list[0].Notes = 0, []string{"no time was given: 9:00 is assumed"}
	res := do(t, b, call(`{"action":"add","schedule":"every weekday","prompt":"brief me"}`, ""))
	if want := "\nno time was given: 9:00 is assumed\nprompt: brief me"; !strings.Contains(res.Content, want) {
		t.Errorf("%s\nwant in it%s", res.Content, want)
	}
	doc, err := json.Marshal(res.Data)
	if err != nil || strings.Contains(string(doc), `"id"`) {
		t.Errorf("%s, %v", doc, err)
	}
}

// To take all rights away needs no right, and none is not one among others.
func TestRightsAreTakenAway(t *testing.T) {
	b := newBook()
	in := call(`{"action":"update","name":"morning","allow":"none"}`, "")
	i, err := automation.NewCron(b, b).Intent(t.Context(), in)
	if err != nil || slices.Contains(i.Scopes, tools.Config) || len(i.Warnings) > 0 {
		t.Errorf("%+v, %v", i, err)
	}
	if res := do(t, b, in); res.IsError || b.draft.Allow != scheduler.NoRights {
		t.Errorf("%+v: %s", b.draft, res.Content)
	}
	if res := do(t, newBook(), call(`{"action":"update","name":"morning","allow":"none,exec"}`, "")); res.Code != tools.Validation {
		t.Errorf("%s", res.Content)
	}
}

func TestDraft(t *testing.T) {
	b := newBook()
	res := do(t, b, call(`{"action":"add","name":"n","schedule":"s","prompt":"p","session":"isolated","deliver":"none","missed":"skip","max_late":"1d","overlap":"queue"}`, ""))
	want := scheduler.Draft{
		Name: "n", When: "s", Prompt: "p", Zone: "Europe/Berlin", Session: "isolated", Deliver: string(event.ToNone), Missed: "skip", MaxLate: "24h0m0s",
		Overlap: "queue", Trust: event.Owner, ReplyTo: "ntfy:a", Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
	if !reflect.DeepEqual(b.draft, want) || len(res.Changes) != 1 {
		t.Errorf("%+v\n%+v", b.draft, want)
	}
	_ = do(t, b, call(`{"action":"update","name":"morning","tz":"UTC"}`, ""))
	if b.draft.ID != 7 || b.draft.Name != "" || b.draft.Zone != "UTC" {
		t.Errorf("%+v", b.draft)
	}
	_ = do(t, b, call(`{"action":"update","name":"morning","prompt":"x"}`, ""))
	if b.draft.Zone != "" {
		t.Error("a change that names no zone changes the zone")
	}
	_ = do(t, b, call(`{"action":"run","name":"morning"}`, ""))
	if b.verb != automation.RunNow || b.key != "t1_1" {
		t.Errorf("%s %s", b.verb, b.key)
	}
}

// Whether a prompt is the owner's own words is judged where schedules are understood: the tool hands on what it knows.
func TestTyped(t *testing.T) {
	b := newBook()
	k := call(`{"action": "add", "schedule": "s", "prompt": "run df -h"}`, "at 9: run df -h")
	k.Typed = true
	if res := do(t, b, k); res.IsError || !b.draft.Typed || b.draft.Words != "at 9: run df -h" {
		t.Errorf("draft %+v, %s", b.draft, res.Content)
	}
}

func TestIntent(t *testing.T) {
	tool := automation.NewCron(newBook(), newBook())
	for _, c := range []struct {
		args   string
		effect tools.Effect
		scopes int
		to     string
	}{
		{`{"action":"list"}`, tools.Read, 1, ""},
		{`{"action":"runs","name":"x"}`, tools.Read, 1, ""},
		{`{"action":"runs"}`, tools.Read, 1, ""},
		{`{"action":"run","name":"morning"}`, tools.Keyed, 1, "owner"},
		{`{"action":"add","schedule":"s","prompt":"p"}`, tools.Keyed, 1, ""},
		{`{"action":"add","schedule":"s","prompt":"p","deliver":"none"}`, tools.Keyed, 1, ""},
		{`{"action":"add","schedule":"s","prompt":"p","deliver":"owner"}`, tools.Keyed, 1, "owner"},
		{`{"action":"add","schedule":"s","prompt":"p","deliver":"ntfy:a"}`, tools.Keyed, 1, "ntfy:a"},
		{`{"action":"add","schedule":"s","prompt":"p","deliver":"telegram:5"}`, tools.Keyed, 2, "telegram:5"},
		{`{"action":"update","id":7,"deliver":"telegram:5"}`, tools.Keyed, 2, "telegram:5"},
	} {
		i, err := tool.Intent(t.Context(), call(c.args, ""))
		to := ""
		if len(i.Addresses) > 0 {
			to = string(i.Addresses[0])
		}
		if err != nil || i.Effect != c.effect || len(i.Scopes) != c.scopes || to != c.to || !strings.Contains(i.Summary, " the job") {
			t.Errorf("%s: %+v %v", c.args, i, err)
		}
	}
}
