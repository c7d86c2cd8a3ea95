package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// denyTime is the time limit for recording a refusal.
const denyTime = 5 * time.Second

// refusal is the JSON document of a call that was not carried out, in the shape of a tool's answer.
type refusal struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Reason  string `json:"reason,omitempty"` // why a person has to agree
	Allow   string `json:"allow,omitempty"`  // what would always allow it
	Code    string `json:"code,omitempty"`   // of the question that is open
	Hash    string `json:"hash,omitempty"`   // of the call, for --approve
}

// CallTool runs a tool. If the call needs approval, it asks at the terminal and runs the call again with the
// approved hash. Without a terminal it returns the open question as an error. The hash covers everything that
// matters of the call. So what runs is what was shown, even if the approval is given elsewhere.
func CallTool(ctx context.Context, a *App, c *client.Client, name string, call client.ToolCall) (api.Outcome, error) {
	out, err := client.Do(ctx, c, api.CallTool, name, call)
	var p *client.Problem
	if !errors.As(err, &p) {
		return out, err
	}
	switch {
	case p.Kind == "denied":
		doc := refusal{Error: "PERMISSION_DENIED", Message: p.Detail, Hint: p.Hint}
		return out, &Problem{Code: ExitDenied, Text: p.Detail, Hint: p.Hint, Doc: doc}
	case p.Kind != "approval":
		return out, err
	// The daemon has opened a question. It can be answered on any channel, and the same call then runs without
	// asking.
	case a.JSON || !IsTerminal(a.In) || !IsTerminal(a.Err):
		hint := howToApprove(p)
		doc := refusal{Error: "APPROVAL_REQUIRED", Message: p.Detail, Hint: hint, Reason: p.Reason, Allow: p.Allow, Code: p.Code, Hash: p.Hash}
		return out, &Problem{Code: ExitWaiting, Text: withReason(p.Detail, p), Hint: strings.Join(append([]string{hint}, alwaysAllowed(p)...), "\n"), Doc: doc}
	}
	if err := askPermission(ctx, a, c, p); err != nil {
		return out, err
	}
	call.Approve = p.Hash
	return client.Do(ctx, c, api.CallTool, name, call)
}

// howToApprove is the hint for a call that nobody at this terminal can approve.
func howToApprove(p *client.Problem) string {
	if p.Code != "" {
		return "approve it with: hob approvals approve " + p.Code + ", then run it again"
	}
	return "run it on a terminal, or add --approve " + p.Hash
}

// withReason adds to a text why a person has to agree.
func withReason(text string, p *client.Problem) string {
	if p.Reason == "" {
		return text
	}
	return text + " (" + console.ToYou(p.Reason) + ")"
}

// alwaysAllowed is the line that names the grant that would always allow the call, if there is one.
func alwaysAllowed(p *client.Problem) []string {
	if p.Allow == "" {
		return nil
	}
	return []string{"always allowed by: " + p.Allow}
}

// askPermission shows what a call would do, and asks. Any answer but yes denies the question that the daemon
// has opened.
func askPermission(ctx context.Context, a *App, c *client.Client, p *client.Problem) error {
	for _, w := range p.Warnings {
		a.Print(a.Err, "! "+console.OneLine(w))
	}
	a.Print(a.Err, console.OneLine(withReason(p.Summary, p)))
	if p.Shown != "" {
		a.Print(a.Err, console.Clean(p.Shown))
	}
	for _, line := range alwaysAllowed(p) {
		a.Print(a.Err, "  "+console.OneLine(line))
	}
	if err := a.DropTyped(); err != nil {
		return err
	}
	yes, err := a.askYesNo(ctx, "allow this once?")
	if yes {
		return nil
	}
	no := &Problem{Code: ExitDenied, Text: "you said no: nothing was done"}
	if err != nil {
		a.Print(a.Err, "") // end the line of the prompt
	}
	// Ctrl-D means no. After any other error nobody has answered.
	if err != nil && !errors.Is(err, io.EOF) {
		no.Code, no.Text = ExitFailed, "stopped: nothing was done"
	}
	if err := deny(ctx, c, p.Code); err != nil {
		no.Hint = "its question is still open (" + err.Error() + "); close it with: hob approvals deny " + p.Code
	}
	return no
}

// deny answers the question of a call, also after an interrupt. The question would otherwise stay open on all
// channels.
func deny(ctx context.Context, c *client.Client, code string) error {
	if code == "" {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), denyTime)
	defer done()
	_, err := client.Do(ctx, c, api.DenyQuestion, code, api.None{})
	return err
}

// Refused gives an error of this program about a tool the JSON document of a refusal by the tool, with one of its codes.
func Refused(err error, kind string) *Problem {
	code, text, hint := Explain(err)
	return &Problem{Code: code, Text: text, Hint: hint, Doc: refusal{Error: kind, Message: text, Hint: hint}}
}

// ToolFailure converts the failed outcome of a tool to an error.
func ToolFailure(out api.Outcome) *Problem {
	p := &Problem{Code: ExitFailed, Text: out.Message, Hint: out.Hint}
	switch out.Error {
	case "VALIDATION_ERROR":
		p.Code = ExitUsage
	case "PERMISSION_DENIED":
		p.Code = ExitDenied
	}
	return p
}
