package tools_test

import (
	"os"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
)

// A hint lists the neighbours of a missing file only if the requester could list them without approval.
func TestNamesAreToldToWhoeverMayListThem(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"/ws/attachments/1", "/state", "/root", "/away", "/away/.ssh"} {
		if err := os.MkdirAll(home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home+dir+"/private1.txt", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := fsguard.New(fsguard.Config{Workspace: home + "/ws", State: home + "/state", Home: home, Roots: []fsguard.Root{{Path: home + "/root"}}})
	if err != nil {
		t.Fatal(err)
	}
	owner, stranger, typed := tools.Call{Trust: event.Owner}, tools.Call{Trust: event.Public}, tools.Call{Trust: event.Owner, Typed: true}
	for _, c := range []struct {
		call tools.Call
		dir  string
		want bool
	}{
		{owner, "/ws/attachments/1", false},
		{owner, "/root", true},
		{owner, "/away", false},
		{typed, "/away", true},
		{typed, "/away/.ssh", false},
		{typed, "/state", false},
		{stranger, "/root", false},
		{stranger, "/away", false},
	} {
		err := tools.RefusePath(g, c.call, home+c.dir+"/private2.txt", os.ErrNotExist)
		if tools.ErrorResult(err).Own == c.call.Typed {
			t.Errorf("%s, typed %v: what the hint names counts wrongly as foreign or not", c.dir, c.call.Typed)
		}
		got := err.Error()
		if strings.Contains(got, "private1") != c.want || !strings.Contains(got, "there is no such file") {
			t.Errorf("%s, asked by %+v: %q", c.dir, c.call.Trust, got)
		}
	}
}
