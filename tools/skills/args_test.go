package skills_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/skills"
)

func TestFill(t *testing.T) {
	for _, c := range []struct{ body, args, want, refused string }{
		{"Sort $1.", "notes", "Sort notes.", ""},
		{"Sort $1.", `"my notes"`, "Sort my notes.", ""},
		{"Sort $1.", `'my notes'`, "Sort my notes.", ""},
		{"Sort $1.", "my notes", "", `/tidy "my notes"`},
		{"Greet $1 with $2.", "Anna Maria tea", "", `/tidy Anna "Maria tea"`},
		{"Greet $1 with $2.", "Anna", "", "takes 2 arguments, and 1 came"},
		{"All: $ARGUMENTS.", "a b c", "All: a b c.", ""},
		{"All: $ARGUMENTS.", "", "All: .", ""},
		{"One $1, all $ARGUMENTS.", "a b", "One a, all a b.", ""},
		{"To $branch.", "branch=main", "To main.", ""},
		{"To $branch.", `branch="my main"`, "To my main.", ""},
		{"To $branch.", "branch=my main", "", `branch="my main"`},
		{"To $branch.", "branch=a branch=b", "", "stands there twice"},
		{"No places.", "a b", "No places.\n\nArguments: a b", ""},
		{"No places.", "", "No places.", ""},
		{"awk '{print $1}' $HOME", "", "awk '{print $1}' $HOME", ""},
		{`costs \$1, takes $1`, "five", "costs $1, takes five", ""},
		{"$1", "$2", "$2", ""},
		{"$1 $2", `"$2" x`, "$2 x", ""},
		{"$1", `"open`, "", "not closed"},
		{"$1", strings.Repeat("x", skills.MaxArgs+1), "", "longer than"},
	} {
		got, err := skills.Fill("tidy", c.body, c.args)
		text := ""
		if err != nil {
			text = tools.ErrorResult(err).Content
		}
		if got != c.want || (c.refused == "") != (err == nil) || !strings.Contains(text, c.refused) {
			t.Errorf("%q with %.40q: %q %q, want %q or a refusal with %q", c.body, c.args, got, text, c.want, c.refused)
		}
	}
}

// accepted is one skill.
type accepted struct{ skill skills.Skill }

func (a accepted) Accepted() []skills.Skill { return []skills.Skill{a.skill} }

func (a accepted) Body(name string) (skills.Skill, string, error) {
	if name != a.skill.Name {
		return skills.Skill{}, "", skills.ErrUnknown
	}
	return a.skill, "Do $1.", nil
}

// TestOnlyTheOwnerUsesSkills in every mode of the permission rules: the intent is denied, and so is a run without one.
func TestOnlyTheOwnerUsesSkills(t *testing.T) {
	tool := skills.New(accepted{skills.Skill{Name: "tidy", Description: "d", Tools: []string{"read"}}})
	for _, action := range []string{`{"action":"list"}`, `{"action":"read","name":"tidy"}`, `{"action":"run","name":"tidy","args":"x"}`} {
		for _, trust := range []event.Trust{event.Owner, event.Known, event.Public, event.Machine} {
			c := tools.Call{Name: "skill", Args: []byte(action), Trust: trust}
			i, err := tool.Intent(t.Context(), c)
			if err != nil || (i.Denied == "") != (trust == event.Owner) {
				t.Errorf("%s of %s: %q %v", action, trust, i.Denied, err)
			}
			r, err := tool.Run(t.Context(), c, i)
			if err != nil || r.IsError == (trust == event.Owner) || trust != event.Owner && strings.Contains(r.Content, "tidy") {
				t.Errorf("%s of %s: %+v %v", action, trust, r, err)
			}
			if narrows := r.Skill != nil; narrows != (trust == event.Owner && strings.Contains(action, "run")) || narrows && strings.Join(r.Skill.Only, " ") != "read" {
				t.Errorf("%s of %s narrows by %+v", action, trust, r.Skill)
			}
		}
	}
}

func TestAnUnknownSkillNamesTheNearest(t *testing.T) {
	_, err := skills.Use(accepted{skills.Skill{Name: "tidy"}}, "tydy", "")
	if r := tools.ErrorResult(err); r.Code != tools.NotFound || !strings.Contains(r.Hint, "tidy") {
		t.Errorf("%+v", r)
	}
}
