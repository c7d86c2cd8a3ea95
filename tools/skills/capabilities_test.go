package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/tools"
	"hob/tools/skills"
)

// named are accepted skills that have only names.
type named []string

func (n named) Accepted() (list []skills.Skill) {
	for _, name := range n {
		list = append(list, skills.Skill{Name: name})
	}
	return list
}

func (named) Body(string) (skills.Skill, string, error) { return skills.Skill{}, "", skills.ErrUnknown }

// The summary lists accepted skills in words that fit one and several, at most 50 of them. Without any, it says nothing about skills.
func TestSummaryListsSkills(t *testing.T) {
	var many named
	for n := range 52 {
		many = append(many, fmt.Sprintf("s%d", n))
	}
	for _, c := range []struct {
		names named
		want  string
	}{
		{nil, ""},
		{named{"tidy"}, " Accepted: tidy.\n"},
		{named{"deploy", "tidy"}, " Accepted: deploy, tidy.\n"},
		{many, " Accepted: " + strings.Join(many[:50], ", ") + " and 2 more.\n"},
	} {
		specs := func() []tools.Spec { return []tools.Spec{{Name: "skill", Group: "skills"}} }
		text := skills.Facts{Specs: specs, Skills: c.names}.Summary()
		if _, after, _ := strings.Cut(text, "## Skills\nFollows instructions that the owner has accepted."); c.want == "" && after != "" || !strings.HasPrefix(after, c.want) {
			t.Errorf("%d skills: want %q in\n%s", len(c.names), c.want, text)
		}
	}
}
