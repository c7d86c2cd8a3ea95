package tasks

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
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

// PlanInput is the input of plan.
type PlanInput struct {
	Action  string `json:"action" jsonschema:"enter or exit" enum:"enter,exit"`
	Summary string `json:"summary,omitempty" jsonschema:"of exit: what you will do, for the owner to approve" max:"8000"`
}

// PlanOutput is the output of plan. The owner's answer to a plan becomes the result of the call later.
type PlanOutput struct {
	Planning bool   `json:"planning" jsonschema:"the conversation is in plan mode"`
	Summary  string `json:"summary,omitempty" jsonschema:"what the owner is asked to approve"`
}

// planOpen is how long a plan waits for the owner.
const planOpen = 7 * 24 * time.Hour

// NewPlan builds the tool plan: the model first looks around, and then asks the owner to approve
// its plan.
func NewPlan() tools.Tool {
	return tools.New[PlanInput, PlanOutput](tools.Spec{
		Name: PlanTool, Group: group, Positional: "action", Example: "enter",
		Description: "Plan before acting: enter leaves only tools that read; exit asks the owner to approve the summary and waits for the answer.",
	}, planIntent, planRun)
}

// planIntent needs no scopes: plan mode only takes abilities away.
func planIntent(_ context.Context, call tools.Call, in PlanInput) (tools.Intent, error) {
	if err := possible(call, in); err != nil {
		return tools.Intent{}, err
	}
	raw, err := canonical("plan", in)
	summary := "plan: enter"
	if in.Action == "exit" {
		summary = "plan: ask the owner to approve: " + Headline(in.Summary)
	}
	return tools.Intent{Effect: tools.Keyed, Summary: summary, Canonical: raw}, err
}

// possible refuses actions that do not fit the state of the conversation.
func possible(call tools.Call, in PlanInput) error {
	switch {
	case call.Turn == 0:
		return tools.Refuse(tools.Conflict, "say it in the conversation: hob chat", "a plan is made in a conversation, and there is none here")
	case call.Trust != event.Owner:
		return tools.Refuse(tools.Denied, "", "only the owner's conversations have a plan mode, because the owner approves the plan")
	case in.Action == "exit" && strings.TrimSpace(in.Summary) == "":
		return tools.Refuse(tools.Validation, "say in a few lines what you will do", "summary: it is missing")
	case in.Action == "enter" && in.Summary != "":
		return tools.Refuse(tools.Validation, "the summary belongs to exit", "summary: there is nothing to approve yet")
	case in.Action == "exit" && !call.Plan:
		return tools.Refuse(tools.Conflict, "act, or begin with action enter", "this conversation is not in plan mode")
	case in.Action == "enter" && call.Plan:
		return tools.Refuse(tools.Conflict, "look around, then exit with a summary", "this conversation is in plan mode already")
	}
	return nil
}

// planRun enters plan mode, or asks the owner and parks the turn. The approval itself ends plan
// mode.
func planRun(_ context.Context, call tools.Call, in PlanInput, _ tools.Intent) (tools.Result, error) {
	if err := possible(call, in); err != nil {
		return tools.Result{}, err
	}
	if in.Action == "enter" {
		return tools.Result{
			Content: "plan mode: only tools that read run now; plan with action exit and a summary asks the owner to approve",
			Data:    PlanOutput{Planning: true}, Changes: []tools.Change{Planning{Session: call.Session, Key: call.Key}},
		}, nil
	}
	ask := tools.Ask{Text: "My plan:\n" + strings.TrimSpace(in.Summary) + "\n\n1. " + Approve + "\n2. " + KeepPlanning, Options: []string{Approve, KeepPlanning}}
	return tools.Result{
		Content: "the owner is asked to approve the plan; the turn waits", Data: PlanOutput{Planning: true, Summary: in.Summary},
		Next: tools.Wait{Kind: tools.ForQuestion, Until: call.Now.Add(planOpen), Ask: &ask},
	}, nil
}
