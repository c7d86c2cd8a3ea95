package setup

import (
	"fmt"
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
		if strings.HasSuffix(why, ".\"") { // a sentence that the model said
			return false, why
		}
		return false, why + "."
	}
	switch {
	case t.Text.Outcome == "failed" && passes(t.Text.Check):
		when := "try again later"
		if t.Text.Wait > 0 {
			when = fmt.Sprintf("try again in %d s", t.Text.Wait)
		}
		return because("This model could not be tried now, "+when, t.Text.Check)
	case t.Text.Fault == "auth" && !strings.Contains(t.Text.Error, "hob model login"):
		return because("This model cannot be used; check api_key in the config", t.Text.Check)
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

// passes reports whether a failure says nothing about the model: the server is busy or away, or today's budget is used up.
func passes(c api.ModelCheck) bool {
	switch c.Fault {
	case "rate_limit", "overloaded", "network", "idle", "budget":
		return true
	default:
		return false
	}
}
