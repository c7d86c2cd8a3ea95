package tasks

import (
	"slices"
	"strings"
)

// PlanTool is the name of the tool whose question asks the owner to approve a plan.
const PlanTool = "plan"

// The answers that the owner is offered to a plan.
const (
	Approve      = "Approve"
	KeepPlanning = "Keep planning"
)

// Approved reports whether an answer to a plan is a yes. Free text is none: it is what the owner wants otherwise. The number is that
// of the option as the question shows it.
func Approved(answer string) bool {
	said := strings.ToLower(strings.Trim(strings.TrimSpace(answer), ".!"))
	return slices.Contains([]string{strings.ToLower(Approve), "approved", "yes", "1"}, said)
}
