package setup

import (
	"fmt"
	"strings"

	"hob/daemon/api"
)

// Verdict says in a sentence whether a model can do chores, by its trial, or why not.
func Verdict(t api.ModelTest) (able bool, text string) {
	able, text, c := Judge(t)
	if c.Error != "" {
		text = strings.TrimSuffix(text, ".") + ": " + strings.TrimSuffix(c.Error, ".")
		if !strings.HasSuffix(text, ".\"") { // a sentence that the model said
			text += "."
		}
	}
	return able, text
}

// Judge is Verdict without the error, which is that of the check it returns. Chores need text, calls of tools and the use of their results;
// pictures are not needed.
func Judge(t api.ModelTest) (able bool, text string, because api.ModelCheck) {
	switch {
	case t.Text.Outcome == "failed" && passes(t.Text.Check):
		when := "try again later"
		switch {
		case t.Text.Wait > 0:
			when = fmt.Sprintf("try again in %d s", t.Text.Wait)
		case t.Text.Fault == "network":
			when = "see that its server runs at this address, and try again"
		}
		return false, "This model could not be tried now, " + when + ".", t.Text.Check
	case t.Text.Fault == "auth" && !strings.Contains(t.Text.Error, "hob model login"):
		return false, "This model cannot be used; check api_key in the config.", t.Text.Check
	case t.Text.Outcome != "yes":
		return false, "This model cannot be used: it gave no usable answer.", t.Text.Check
	case t.Call.Outcome == "failed" || t.Call.Outcome == "skipped":
		return false, "The trial broke off before the model had called a tool; try again.", t.Call
	case t.Call.Outcome != "yes":
		return false, "This model cannot do chores for you: it does not call tools as it should. Choose one that is made for tools.", t.Call
	case t.Result.Outcome == "failed" || t.Result.Outcome == "skipped":
		return false, "The trial broke off before the model had used a tool's result; try again.", t.Result
	case t.Result.Outcome != "yes":
		return false, "This model cannot do chores for you: it does not use the results of tools. Choose one that is made for tools.", t.Result
	}
	return true, "This model can do chores: it calls tools and uses their results.", api.ModelCheck{}
}

// passes reports whether a failure says nothing about the model: the server is busy or away, or today's budget is used up.
func passes(c api.ModelCheck) bool {
	switch c.Fault {
	case "rate_limit", "overloaded", "network", "idle", "budget":
		return true
	}
	return false
}
