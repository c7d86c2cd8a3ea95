package setup

import (
	"strings"

	"hob/daemon/api"
)

// Verdict says whether a model can do chores, by its trial, or why not. Chores need text, calls of tools and the use of their results;
// pictures are not needed.
func Verdict(t api.ModelTest) (able bool, text string) {
	because := func(why string, c api.ModelCheck) (bool, string) {
		if c.Error != "" {
			why += ": " + strings.TrimSuffix(c.Error, ".")
		}
		return false, why + "."
	}
	switch {
	case t.Text.Outcome != "yes":
		return because("This model cannot be used: it gave no usable answer", t.Text.Check)
	case t.Call.Outcome == "failed" || t.Call.Outcome == "skipped":
		return because("The trial broke off before the model had called a tool; try again", t.Call)
	case t.Call.Outcome != "yes":
		return because("This model cannot do chores for you: it does not call tools as it should. Choose one that is made for tools", t.Call)
	case t.Result.Outcome == "failed" || t.Result.Outcome == "skipped":
		return because("The trial broke off before the model had used a tool's result; try again", t.Result)
	case t.Result.Outcome != "yes":
		return because("This model cannot do chores for you: it does not use the results of tools. Choose one that is made for tools", t.Result)
	}
	return true, "This model can do chores: it calls tools and uses their results."
}
