package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/sessions"
)

// artifactStore holds results and counts what is open.
type artifactStore struct {
	data  map[string]string
	owner map[string]sessions.Artifact // trust and source of some; the others are the owner's
	open  int
}

func (s *artifactStore) Open(_ context.Context, id string) (sessions.Artifact, error) {
	if id == "broken" {
		return sessions.Artifact{}, errors.New("disk I/O error")
	}
	text, ok := s.data[id]
	if !ok {
		return sessions.Artifact{}, sessions.ErrNoArtifact
	}
	s.open++
	a, known := s.owner[id]
	if !known {
		a.Trust = event.Owner
	}
	a.Name, a.Size, a.Body = "output of ls", int64(len(text)), &body{bytes.NewReader([]byte(text)), s}
	return a, nil
}

type body struct {
	io.ReadSeeker
	artifactStore *artifactStore
}

func (b *body) Close() error {
	b.artifactStore.open--
	return nil
}

func do(t interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}, tool tools.Tool, args any,
) tools.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := tools.Call{ID: "t1_1", Args: raw, Zone: "Europe/Berlin", Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
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

type args map[string]any

func TestResultPages(t *testing.T) {
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	s := &artifactStore{data: map[string]string{"a": "one\ntwo\n", "long": long.String(), "wide": strings.Repeat("ä", 30_000), "empty": ""}}
	tool := sessions.NewResultRead(s)
	for _, c := range []struct {
		args args
		next int64
		want string
	}{
		{args{"id": "a"}, 0, "one\ntwo\n\n(end of result, 8 bytes)"},
		{args{"id": "a", "offset": 4}, 0, "two\n"},
		{args{"id": "empty"}, 0, "(end of result, 0 bytes)"},
		{args{"id": "long"}, 20000, "continue with offset=20000"},
		{args{"id": "long", "limit": 10}, 7, "line 0\n\n(bytes 0 to 7"},
		{args{"id": "wide", "limit": 101}, 100, "ää"},
	} {
		res := do(t, tool, c.args)
		p, _ := res.Data.(sessions.ResultReadOutput)
		if res.IsError || p.Next != c.next || !strings.Contains(res.Content, c.want) || strings.Contains(res.Content, "\uFFFD") {
			t.Errorf("%v: next %d: %.100q", c.args, p.Next, res.Content)
		}
	}
	if s.open != 0 {
		t.Errorf("%d artifacts left open", s.open)
	}
}

// Page by page, the whole comes back.
func TestPagesAddUpToTheResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aä漢😀\n "))).Draw(t, "text")
		limit := rapid.IntRange(4, 50).Draw(t, "limit")
		tool := sessions.NewResultRead(&artifactStore{data: map[string]string{"x": text}})
		got, offset := "", int64(0)
		for {
			res := do(t, tool, args{"id": "x", "offset": offset, "limit": limit})
			p, _ := res.Data.(sessions.ResultReadOutput)
			if res.IsError || !utf8.ValidString(p.Text) {
				t.Fatal(res.Content)
			}
			got += p.Text
			if p.Next == 0 {
				break
			}
			if p.Next <= offset {
				t.Fatal("no progress")
			}
			offset = p.Next
		}
		if got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	})
}

func TestResultSearch(t *testing.T) {
	s := &artifactStore{data: map[string]string{"a": "alpha\nbeta error here\ngamma\nERROR twice error\n", "many": strings.Repeat("x ", 60), "wide": strings.Repeat("a", 1000) + "needle" + strings.Repeat("b", 1000)}}
	tool := sessions.NewResultRead(s)
	res := do(t, tool, args{"id": "a", "search": "(?i)error"})
	if res.Content != "11: beta error here\n28: ERROR twice error\n40: ERROR twice error\n(3 matches; the numbers are offsets)" {
		t.Errorf("%q", res.Content)
	}
	if res := do(t, tool, args{"id": "a", "search": "error", "offset": 20}); !strings.HasPrefix(res.Content, "40: ") {
		t.Errorf("%q", res.Content)
	}
	if res := do(t, tool, args{"id": "a", "search": "none"}); res.Content != "no match" {
		t.Errorf("%q", res.Content)
	}
	res = do(t, tool, args{"id": "many", "search": "x"})
	if p, _ := res.Data.(sessions.ResultReadOutput); len(p.Matches) != 50 || p.Next != 100 {
		t.Errorf("%d matches, next %d", len(p.Matches), p.Next)
	}
	res = do(t, tool, args{"id": "wide", "search": "needle"})
	if p, _ := res.Data.(sessions.ResultReadOutput); len(p.Matches) != 1 || p.Matches[0].Offset != 1000 || len(p.Matches[0].Text) != 246 {
		t.Errorf("%+v", p)
	}
	if s.open != 0 {
		t.Errorf("%d artifacts left open", s.open)
	}
}

func TestResultRefusals(t *testing.T) {
	tool := sessions.NewResultRead(&artifactStore{data: map[string]string{"a": "12345"}})
	for _, c := range []struct {
		args args
		code tools.Code
		want string
	}{
		{args{"id": "b"}, tools.NotFound, `there is no result "b"`},
		{args{"id": "a", "offset": 5}, tools.Validation, "has only 5 bytes"},
		{args{"id": "a", "search": "("}, tools.Validation, "search: error parsing regexp"},
		{args{"id": "a", "limit": 200_000}, tools.Validation, "want at most 100000"},
		{args{"id": "broken"}, tools.Unknown, "disk I/O error"},
	} {
		if res := do(t, tool, c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %s", c.args, res.Content)
		}
	}
}

func TestWaitTask(t *testing.T) {
	tool := sessions.NewWaitTask([]string{"turn.finished", "message.sent"})
	for _, c := range []struct {
		args args
		want tools.Wait
	}{
		{args{"for": "10m"}, tools.Wait{Kind: tools.ForTimer, Until: time.Date(2026, 11, 21, 8, 10, 0, 0, time.UTC)}},
		{args{"for": "3d"}, tools.Wait{Kind: tools.ForTimer, Until: time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)}},
		{args{"until": "17:00"}, tools.Wait{Kind: tools.ForTimer, Until: time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC)}},
		{args{"until": "2026-12-24T17:00:00+01:00"}, tools.Wait{Kind: tools.ForTimer, Until: time.Date(2026, 12, 24, 16, 0, 0, 0, time.UTC)}},
		{args{"event": "turn.finished"}, tools.Wait{Kind: tools.ForEvent, Subject: "turn.finished"}},
		{args{"event": "message.sent:t1_3"}, tools.Wait{Kind: tools.ForEvent, Subject: "message.sent:t1_3"}},
	} {
		res := do(t, tool, c.args)
		got, ok := res.Next.(tools.Wait)
		if res.IsError || !ok || got.Kind != c.want.Kind || !got.Until.Equal(c.want.Until) || got.Subject != c.want.Subject {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, "want exactly one of until, for and event, got 0"},
		{args{"for": "1m", "event": "turn.finished"}, "got 2"},
		{args{"for": "-1m"}, "is in the past"},
		{args{"for": "0s"}, "is in the past"},
		{args{"until": "2020-01-01T00:00:00Z"}, "is in the past"},
		{args{"for": "400d"}, "at most a year"},
		{args{"for": "soon"}, `"soon" is no duration`},
		{args{"until": "soon"}, `"soon" is no time`},
		{args{"event": "turn.finnished"}, "did you mean turn.finished?"},
		{args{"event": "x"}, "there are: turn.finished, message.sent"},
		{args{"event": "turn.finished:"}, "the key after the colon is missing"},
	} {
		if res := do(t, tool, c.args); res.Code != tools.Validation || !strings.Contains(res.Content, c.want) || res.Next != nil {
			t.Errorf("%v: %s", c.args, res.Content)
		}
	}
	if !tool.Spec().Terminal {
		t.Error("wait_task parks the turn: it is terminal")
	}
}

// A foreign result is announced as foreign in the intent and again in the result.
func TestAForeignResultIsNamed(t *testing.T) {
	s := &artifactStore{data: map[string]string{"mine": "x", "mail": "x", "bare": "x"}, owner: map[string]sessions.Artifact{
		"mail": {Trust: event.Known, Source: "mail of x@y"}, "bare": {},
	}}
	tool := sessions.NewResultRead(s)
	for id, want := range map[string]string{"mine": "", "none": "", "mail": "result mail from mail of x@y", "bare": "result bare from an unknown source"} {
		raw, err := json.Marshal(args{"id": id})
		if err != nil {
			t.Fatal(err)
		}
		intent, err := tool.Intent(t.Context(), tools.Call{Args: raw})
		if err != nil || intent.Foreign != want {
			t.Errorf("%s: %q, want %q, %v", id, intent.Foreign, want, err)
		}
		if res := do(t, tool, args{"id": id}); res.Foreign != want {
			t.Errorf("%s: %q, want %q: %s", id, res.Foreign, want, res.Content)
		}
	}
	if s.open != 0 {
		t.Errorf("%d artifacts left open", s.open)
	}
}
