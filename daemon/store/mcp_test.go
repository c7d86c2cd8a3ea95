package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/store/storetest"
	"hob/scheduler"
	"hob/tools"
)

// accepted is an accepted list of a server that is reached by a command.
func accepted(server, command, tool string) api.MCPRow {
	return api.MCPRow{Server: server, Hash: command + tool, List: fmt.Sprintf(`{"reach":{"command":%q,"args":["a"]},"tools":[{"name":%q}]}`, command, tool), State: api.MCPAccepted}
}

// What a server has asked for a call ends with the run of hob that made the call, also without a server in the config. Other questions stay open.
func TestQuestionsOfServersEndWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s := storetest.Open(t, dir)
	id, err := s.Settings.AskForServer(ctx, api.MCPQuestion{Text: "Which one?", To: event.ToOwner, Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, open, err := s.Settings.ServerAnswer(ctx, id); err != nil || !open {
		t.Fatalf("open %t, %v", open, err)
	}
	row := accepted("notes", "own", "do")
	row.State = api.MCPAsked
	if err := s.Settings.AskMCP(ctx, "changed", row); err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, s)
	s = storetest.Open(t, dir)
	defer storetest.Close(t, s)
	if _, answered, open, err := s.Settings.ServerAnswer(ctx, id); err != nil || answered || open {
		t.Errorf("after a restart: answered %t, open %t, %v", answered, open, err)
	}
	if rows, err := s.Settings.MCPLists(ctx); err != nil || len(rows) != 1 || rows[0].State != api.MCPAsked {
		t.Errorf("the question about the list: %+v, %v", rows, err)
	}
}

// What the owner has permanently allowed about a server holds for the server that he had accepted then, not for another one with its name.
func TestRightsEndWithTheServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	asked := func(s *testStore, row api.MCPRow, answer string) error {
		if err := s.Settings.AskMCP(ctx, "changed", row); err != nil {
			return err
		}
		_, err := s.Commands.AnswerFrom(ctx, message(answer), one[string](s, "SELECT code FROM questions WHERE state = 'open' AND tool = 'hob mcp'"), answer)
		return err
	}
	for what, c := range map[string]struct {
		do   func(s *testStore) error
		ends bool
	}{
		"removed": {func(s *testStore) error { return s.Settings.ForgetMCP(ctx, "notes") }, true},
		"removed twice": {func(s *testStore) error {
			return errors.Join(s.Settings.ForgetMCP(ctx, "notes"), s.Settings.ForgetMCP(ctx, "notes"))
		}, true},
		"another reach":          {func(s *testStore) error { return s.Settings.AcceptMCP(ctx, accepted("notes", "other", "do")) }, true},
		"another reach by a yes": {func(s *testStore) error { return asked(s, accepted("notes", "other", "do"), "accept it") }, true},
		"another reach, no":      {func(s *testStore) error { return asked(s, accepted("notes", "other", "do"), "no") }, false},
		"other tools":            {func(s *testStore) error { return s.Settings.AcceptMCP(ctx, accepted("notes", "own", "more")) }, false},
		"other tools by a yes":   {func(s *testStore) error { return asked(s, accepted("notes", "own", "more"), "accept it") }, false},
		"the same again":         {func(s *testStore) error { return s.Settings.AcceptMCP(ctx, accepted("notes", "own", "do")) }, false},
		"another server":         {func(s *testStore) error { return s.Settings.ForgetMCP(ctx, "note") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := fresh(t)
			pattern := func(server string) string { return policy.Pattern(tools.Intent{Server: server}) }
			if err := s.Settings.AcceptMCP(ctx, accepted("notes", "own", "do")); err != nil {
				t.Fatal(err)
			}
			for _, g := range [][2]string{{"notes__do", pattern("notes")}, {"mcp_resource_read", pattern("notes")}, {"notes2__do", pattern("notes2")}, {"web_fetch", `read from "notes"`}} {
				s.sql("INSERT INTO grants (tool, pattern, created) VALUES (?, ?, 1)", g[0], g[1])
			}
			s.sql("INSERT INTO questions (code, subject, turn, tool, pattern, text, address, asked, until) VALUES ('ABC', 'call', NULL, 'notes__do', ?, '', '', 1, ?)", pattern("notes"), s.now().Add(1e12).UnixMicro())
			given := func(list ...string) func(*scheduler.Job) { return func(j *scheduler.Job) { j.Allow = list } }
			s.job("morning", given("exec", "mcp:notes", "mcp:notes2"))
			s.job("config", given("mcp:notes"), func(j *scheduler.Job) { j.Origin = "config" })
			s.job("none")
			if err := c.do(s); err != nil {
				t.Fatal(err)
			}
			var left []string
			grants, err := s.Grants.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range grants {
				left = append(left, g.Tool)
			}
			j, err := s.Jobs.JobNamed(ctx, "morning")
			if err != nil {
				t.Fatal(err)
			}
			kept, err := s.Jobs.JobNamed(ctx, "config")
			if err != nil {
				t.Fatal(err)
			}
			still := one[int](s, "SELECT count(*) FROM questions WHERE code = 'ABC' AND pattern <> ''")
			notices := one[string](s, "SELECT coalesce(group_concat(body), '') FROM outbox WHERE key LIKE 'notice:mcp:notes:ended:%'")
			want, rights, open := []string{"notes__do", "mcp_resource_read", "notes2__do", "web_fetch"}, "[exec mcp:notes mcp:notes2]", 1
			if c.ends {
				want, rights, open = want[2:], "[exec mcp:notes2]", 0
			}
			if !slices.Equal(left, want) || fmt.Sprint(j.Allow) != rights || still != open || fmt.Sprint(kept.Allow) != "[mcp:notes]" {
				t.Errorf("grants %v, rights of the job %v, of the one in the config %v, open %d", left, j.Allow, kept.Allow, still)
			}
			if told := strings.Count(notices, "has ended (2)") == 1 && strings.Contains(notices, "any more: morning."); told != c.ends {
				t.Errorf("the owner was told %q", notices)
			}
		})
	}
}
