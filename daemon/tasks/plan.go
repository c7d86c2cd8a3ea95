package tasks

import (
	"slices"
	"strings"
)

// PlanTool is the tool that asks the owner to approve a plan.
const PlanTool = "plan"

// The answers that the question about a plan offers.
const (
	Approve      = "Approve"
	KeepPlanning = "Keep planning"
)

// Approved reports whether an answer approves the plan. Free text does not: it says what the owner wants instead. "1" is the number of
// the option in the question.
func Approved(answer string) bool {
	said := strings.ToLower(strings.Trim(strings.TrimSpace(answer), ".!"))
	return slices.Contains([]string{strings.ToLower(Approve), "approved", "yes", "1"}, said)
}
