package messaging_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/messaging"
)

type directory struct {
	known []event.Address
	err   error
}

func (d directory) Resolve(_ context.Context, to string) (event.Address, error) {
	if d.err != nil {
		return "", d.err
	}
	for _, k := range append(d.known, event.ToOwner, event.ToNone) {
		if string(k) == to {
			return k, nil
		}
	}
	return "", messaging.ErrUnknown
}

func (d directory) Known(context.Context) ([]event.Address, error) { return d.known, d.err }

func call(args string) tools.Call {
	return tools.Call{
		ID: "t3_2", Turn: 3, Args: json.RawMessage(args), Zone: "Europe/Berlin", Trust: event.Owner,
		Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
}

func do(t *testing.T, tool tools.Tool, args string) tools.Result {
	t.Helper()
	intent, err := tool.Intent(t.Context(), call(args))
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), call(args), intent)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// space is a guard over a workspace that holds a.txt.
func space(t *testing.T) *fsguard.Guard {
	t.Helper()
	home := t.TempDir()
	for _, d := range []string{"/ws", "/state"} {
		if err := os.Mkdir(home+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(home+"/ws/a.txt", []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: home + "/ws", State: home + "/state", Home: home})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMessageWithFilesAndButtons(t *testing.T) {
	tool := messaging.NewMessage(directory{known: []event.Address{"telegram:1"}}, space(t), &cabinet{}, helper(t))
	args := `{"to": "owner", "content": "here", "attachments": ["a.txt"], "buttons": ["yes", "no"]}`
	i, err := tool.Intent(t.Context(), call(args))
	if err != nil || len(i.Paths) != 1 || i.Paths[0].Write || !slices.Contains(i.Scopes, tools.FSRead) {
		t.Fatalf("%+v %v", i, err)
	}
	out, ok := do(t, tool, args).Changes[0].(event.Out)
	if !ok || out.Body != "here" || !slices.Equal(out.Buttons, []string{"yes", "no"}) {
		t.Errorf("%q with the buttons %q", out.Body, out.Buttons)
	}
	if len(out.Files) != 1 || out.Files[0].Path != i.Paths[0].Path || out.Files[0].Artifact != "a1" {
		t.Errorf("files %+v", out.Files)
	}
	for path, want := range map[string]tools.Code{"none.txt": tools.NotFound, "../state/x": tools.Denied, ".": tools.NotFound, "": tools.Validation} {
		if res := do(t, tool, `{"to": "owner", "content": "x", "attachments": ["`+path+`"]}`); res.Code != want {
			t.Errorf("%q: %+v", path, res)
		}
	}
}

func TestMessageQueuesOneRow(t *testing.T) {
	tool := messaging.NewMessage(directory{known: []event.Address{"telegram:1"}}, space(t), &cabinet{}, helper(t))
	res := do(t, tool, `{"to": " telegram:1 ", "content": "hällo", "reply_to": "77"}`)
	want := event.Out{
		Key: "t3_2", Cause: event.Cause{Kind: event.ByTurn, ID: 3}, To: "telegram:1", Body: "hällo", ReplyRef: "77", Urgency: event.Normal,
	}
	if res.IsError || len(res.Changes) != 1 || !reflect.DeepEqual(res.Changes[0], want) || res.Content != "queued for telegram:1 (5 characters)" {
		t.Errorf("%+v", res)
	}
	i, err := tool.Intent(t.Context(), call(`{"to": "telegram:1", "content": "hällo"}`))
	if err != nil || i.Effect != tools.Keyed || i.Addresses[0] != "telegram:1" || i.Summary != "message telegram:1: hällo" {
		t.Errorf("%+v %v", i, err)
	}
}

func TestMessageRefuses(t *testing.T) {
	known := directory{known: []event.Address{"telegram:123456", "ntfy:alerts"}}
	for _, c := range []struct {
		d    directory
		args string
		code tools.Code
		want string
	}{
		{known, `{"to": "telegram:123465", "content": "x"}`, tools.NotFound, "did you mean telegram:123456?"},
		{known, `{"to": "bob", "content": "x"}`, tools.NotFound, `does not know the address "bob"` + "\nhint: there are: telegram:123456, ntfy:alerts"},
		{directory{}, `{"to": "bob", "content": "x"}`, tools.NotFound, "knows no address except owner yet"},
		{known, `{"to": "owner", "content": "  "}`, tools.Validation, "there is no text in it"},
		{known, `{"to": "owner", "content": "x", "buttons": ["yes", " "]}`, tools.Validation, "buttons: want answers of 1 to 60 characters"},
		{known, `{"to": "owner", "content": "x", "buttons": ["` + strings.Repeat("é", 61) + `"]}`, tools.Validation, "buttons: want answers of 1 to 60 characters"},
		{known, `{"to": "none", "content": "x"}`, tools.Validation, "none is nowhere"},
		{known, `{"to": "owner"}`, tools.Validation, "content: missing"},
		{known, `{"to": "owner", "content": "x", "button": []}`, tools.Validation, "button: unknown; did you mean buttons?"},
		{directory{err: errors.New("database is gone")}, `{"to": "owner", "content": "x"}`, tools.Unknown, "database is gone"},
	} {
		if res := do(t, messaging.NewMessage(c.d, space(t), &cabinet{}, helper(t)), c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) || len(res.Changes) > 0 {
			t.Errorf("%s: %+v", c.args, res)
		}
	}
}

func TestAskOne(t *testing.T) {
	res := do(t, messaging.NewAsk(), `{"questions": [{"question": "Which colour?", "header": "Paint", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}], "multi": true}]}`)
	wait, ok := res.Next.(tools.Wait)
	if res.IsError || !ok || wait.Kind != tools.ForQuestion || !wait.Until.Equal(call("").Now.AddDate(0, 0, 7)) {
		t.Fatalf("%+v", res)
	}
	if wait.Ask.Text != "Paint: Which colour? (several may be chosen)\n1. Red: warm\n2. Blue" || strings.Join(wait.Ask.Options, ",") != "Red,Blue" || !wait.Ask.Multi {
		t.Errorf("%+v", wait.Ask)
	}
}

func TestAskSeveral(t *testing.T) {
	res := do(t, messaging.NewAsk(), `{"questions": [{"question": "Size?", "options": [{"label": "S"}, {"label": "L", "description": "large"}]}, {"question": "Name?"}], "deadline": "17:00"}`)
	wait, ok := res.Next.(tools.Wait)
	const want = "1. Size?\n   a) S\n   b) L: large\n\n2. Name?\n\nAnswer in your own words, or like 1a 2b."
	if !ok || wait.Ask.Text != want || wait.Ask.Options != nil || !wait.Until.Equal(time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v\n%q", wait, wait.Ask.Text)
	}
}

func TestAskRefuses(t *testing.T) {
	for args, want := range map[string]string{
		`{"questions": []}`: "questions: want at least 1, got 0",
		`{"questions": [{"question":"a"},{"question":"b"},{"question":"c"},{"question":"d"},{"question":"e"}]}`: "questions: want at most 4, got 5",
		`{"questions": [{"question":"a","options":[{"label":"x"}]}]}`:                                           "questions[0].options: want at least 2, got 1",
		`{"questions": [{"question":"a","header":"much too long a word"}]}`:                                     "questions[0].header: want at most 12 characters, got 20",
		`{"questions": [{"question":"a"}], "deadline": "2020-01-01T00:00:00Z"}`:                                 "deadline: want a time between",
		`{"questions": [{"question":"a"}], "deadline": "400d"}`:                                                 "deadline: want a time between",
		`{"questions": [{"question":"a"}], "deadline": "later"}`:                                                `deadline: "later" is no time`,
	} {
		if res := do(t, messaging.NewAsk(), args); res.Code != tools.Validation || !strings.Contains(res.Content, want) || res.Next != nil {
			t.Errorf("%s: %s", args, res.Content)
		}
	}
}
