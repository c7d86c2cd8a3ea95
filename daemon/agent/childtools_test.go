package agent_test

import (
	"slices"
	"testing"

	"hob/daemon/agent"
	"hob/tools"
	every "hob/tools/all"
)

// childToolNames lists the tools that sub-agents may use.
func childToolNames() []string {
	return []string{"read", "grep", "glob", "ls", "memory_search", "memory_get"}
}

// Of all tools that hob has, a sub-agent finds those of the six that are there, and they say that they only read.
func TestSetOfChildren(t *testing.T) {
	set, err := tools.NewSet(every.All(every.Services{}, every.Setup{})...)
	if err != nil {
		t.Fatal(err)
	}
	child := agent.ChildSet{Set: set}
	for _, s := range set.Specs() {
		found, ok := child.Find(s.Name)
		if want := slices.Contains(childToolNames(), s.Name); ok != want {
			t.Errorf("%s: found %v, want %v", s.Name, ok, want)
		}
		if ok && (!found.Spec().ReadOnly || !slices.ContainsFunc(child.Specs(), func(c tools.Spec) bool { return c.Name == s.Name })) {
			t.Errorf("%s is found and does not say that it only reads, or is not listed", s.Name)
		}
		for _, near := range child.Nearest(s.Name) {
			if !slices.Contains(childToolNames(), near) {
				t.Errorf("a sub-agent that says %s is led to %s", s.Name, near)
			}
		}
	}
	for _, s := range slices.Concat(child.Specs(), child.Core()) {
		if !slices.Contains(childToolNames(), s.Name) {
			t.Errorf("a sub-agent is offered %s", s.Name)
		}
	}
}
