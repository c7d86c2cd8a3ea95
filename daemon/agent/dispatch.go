package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools"
)

// artifactOver is the size in bytes above which a result is stored as an artifact. Tools that page their own output are exempt.
const artifactOver = 32 << 10

// previewBytes is how much of a stored result stays in the transcript.
const previewBytes = 2 << 10

// Set is a set of tools.
type Set interface {
	Find(name string) (tools.Tool, bool)
	Nearest(name string) []string
	Specs() []tools.Spec
	Core() []tools.Spec // the tools in each request; the others are reached through the tool "tool"
}

// ChildActor is the Actor.Name of sub-agents. Nobody can approve their calls.
const ChildActor = "child"

// Dispatch calls the tools for the thread, for sub-agents and for the local API. Only the gates of jobs do not use it. Judge decides about
// a call, and Run runs it. It is safe for concurrent use.
type Dispatch struct {
	Set         Set
	Guests      Set                      // tools for askers other than the owner; nil means Set
	Unavailable func(name string) string // why a known tool cannot work here, "" when it can; nil means that all can
	Artifacts   Artifacts
	Settings    func(ctx context.Context) Settings
	Grants      func(ctx context.Context) ([]policy.Grant, error)
	Hooks       Hooks
	Clock       sys.Clock
	Log         *slog.Logger
}

// Hooks are the owner's own commands around calls. Dispatch.Hooks is nil when there are none.
type Hooks interface {
	// Before returns the reason for refusing a call, "" to allow it.
	Before(ctx context.Context, call tools.Call, i tools.Intent) string
	// After gets the result of a call.
	After(ctx context.Context, call tools.Call, i tools.Intent, r tools.Result)
}

// Actor describes the caller of a tool.
type Actor struct {
	Name     string                                      // "thread", "child", "api"
	Trust    event.Trust                                 // who asked
	Tainted  bool                                        // the turn has read foreign text
	Rights   []string                                    // rights that the owner gave to the turn's trigger
	Only     []string                                    // the only tools that the run may call; empty means all
	Limited  bool                                        // the run has a limit of tools or tokens
	Narrowed *policy.Narrowed                            // what the skills that the turn runs leave; nil: all
	Approved []turn.Question                             // what the owner allowed for this turn
	Reply    event.Address                               // the address that the turn answers to
	Given    func(ctx context.Context) ([]string, error) // web addresses that the owner typed; nil means none
}

// Judged is a call with its intent and the permission rules' decision, before it runs.
type Judged struct {
	Call         tools.Call
	Tool         tools.Tool   // nil when no tool has that name
	Intent       tools.Intent // zero when Fault is set
	Decision     policy.Decision
	Fault        *tools.Result // the result of a call that cannot run: unknown, invalid, denied
	IntentFailed bool          // computing the intent failed; it may succeed after other calls have run
}

// Hash identifies the effect of the call, for approvals and the audit. It is the first 16 bytes of a SHA-256 in hex.
func (j Judged) Hash() string {
	sum := sha256.Sum256(append([]byte(j.Call.Name+"\x00"), j.Intent.Canonical...))
	return hex.EncodeToString(sum[:16])
}

// Judge validates a call, computes what it would touch and asks the permission rules. It changes nothing.
func (d *Dispatch) Judge(ctx context.Context, a Actor, call tools.Call) Judged {
	j := Judged{Call: call, Decision: policy.Decision{Verdict: policy.NotJudged}}
	// Others see fewer tools: a name that only the owner may call does not exist for them.
	set := d.Set
	if a.Trust != event.Owner && d.Guests != nil {
		set = d.Guests
	}
	// The checks come in the order of their cost, and each gives the model a reason that it can act on.
	tool, ok := set.Find(call.Name)
	if why := d.unavailable(call.Name); !ok && why != "" {
		return j.refuse(tools.Fail(tools.ConfigError, "hob tool list --all says what each tool needs, hob config validate what is wrong with the config", "the tool %q cannot work here: %s", call.Name, why))
	}
	if !ok {
		return j.refuse(unknown(set, call.Name))
	}
	call.Name = tool.Spec().Name // rules and approvals are about the name, not about an alias
	j.Tool, j.Call = tool, call
	if faults, ok := tools.Validate(tool, call.Args); !ok {
		return j.refuse(faults)
	}
	if name, args, ok := tools.Inner(call.Args); ok && call.Name == tools.CatalogTool {
		call.Name, call.Args = name, args // from here on only the inner call counts
		return d.Judge(ctx, a, call)
	}
	intent, fault := d.intent(ctx, tool, call)
	if fault != nil {
		j.IntentFailed = true
		return j.refuse(*fault)
	}
	j.Intent = intent
	if intent.Canonical == nil {
		j.Intent.Canonical = call.Args
	}
	var err error
	if j.Decision, err = d.decide(ctx, a, &j); err != nil {
		return j.refuse(tools.Fail(tools.Unknown, "", "the permission rules could not decide: %v", err))
	}
	if j.Decision.Verdict == policy.Deny {
		return j.refuse(tools.Fail(tools.Denied, j.Decision.Allow, "%s", j.Decision.Reason))
	}
	return j
}

// unavailable returns the reason why a tool cannot work here, "" for none.
func (d *Dispatch) unavailable(name string) string {
	if d.Unavailable == nil {
		return ""
	}
	return d.Unavailable(name)
}

// refuse gives a call an error result in place of a run. A call that failed before the policy saw it counts as not judged.
func (j Judged) refuse(r tools.Result) Judged {
	j.Fault = &r
	if j.Decision.Verdict != policy.Deny {
		j.Decision = policy.Decision{Verdict: policy.NotJudged}
	}
	if j.Decision.Reason == "" {
		j.Decision.Reason = failureOf(r)
	}
	return j
}

// failureOf returns the first line of an error result without its code, which the audit has as the outcome.
func failureOf(r tools.Result) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(r.Content, string(r.Code)+": "), "\n")
	return line
}

// maxNamed is how many tools the result of such a call names.
const maxNamed = 24

// unknown is the result of a call of a tool that is not there.
func unknown(set Set, name string) tools.Result {
	hint := ""
	if near := set.Nearest(name); len(near) > 0 {
		hint = text.DidYouMean(near)
	} else {
		var names []string
		for _, s := range set.Core() {
			names = append(names, s.Name)
		}
		hint = tools.Instead(name, names, maxNamed)
	}
	return tools.Fail(tools.NotFound, hint, "there is no tool named %q", event.Shorten(name, 80))
}

// intent asks the tool what the call would do. A panic of the tool becomes an error result, so that it cannot end the thread.
func (d *Dispatch) intent(ctx context.Context, tool tools.Tool, call tools.Call) (in tools.Intent, fault *tools.Result) {
	defer func() {
		if p := recover(); p != nil {
			d.Log.Error("tool panicked", "tool", call.Name, "panic", p, "stack", string(debug.Stack()))
			r := tools.Fail(tools.Unknown, "", "%s failed inside", call.Name)
			fault = &r
		}
	}()
	in, err := tool.Intent(ctx, call)
	if err != nil {
		r := tools.ErrorResult(err)
		return in, &r
	}
	return in, nil
}

// decide collects the facts about a call and asks the policy. The grants, the settings and the owner's messages are read now, so a change
// since the last call counts.
func (d *Dispatch) decide(ctx context.Context, a Actor, j *Judged) (policy.Decision, error) {
	// Package policy reads nothing by itself: everything that its decision depends on is in the Case.
	grants, err := d.Grants(ctx)
	if err != nil {
		return policy.Decision{}, fmt.Errorf("read grants: %w", err)
	}
	set := d.Settings(ctx)
	// No approval for good, right or approval for the turn covers hob's own API, by whatever name it is called.
	if _, port, err := net.SplitHostPort(set.Address); err == nil && j.Intent.Private && slices.ContainsFunc(j.Intent.Hosts, func(h string) bool { return strings.HasSuffix(h, ":"+port) }) {
		j.Intent.Confirm = "it may reach hob's own API"
	}
	c := policy.Case{
		Tool: j.Call.Name, Intent: j.Intent, Asker: a.Trust, Tainted: a.Tainted, Child: a.Name == ChildActor, Typed: typed(*j), Plan: j.Call.Plan,
		ReplyTo: a.Reply, Known: slices.Concat(set.OwnerAddresses, set.KnownAddresses), Scratch: j.Call.Scratch, Rights: parseRights(a.Rights), Only: a.Only, Narrowed: a.Narrowed, Limited: a.Limited, Mode: set.Mode, Safe: set.Safe, Grants: grants,
	}
	if a.Tainted && len(j.Intent.Links) > 0 && a.Given != nil {
		if c.Given, err = a.Given(ctx); err != nil {
			return policy.Decision{}, fmt.Errorf("read the owner's messages: %w", err)
		}
	}
	for _, p := range j.Intent.Paths {
		if p.Write && set.Locked != nil && set.Locked(p.Path) {
			c.Locked = append(c.Locked, p.Path)
		}
	}
	decision := policy.Decide(c)
	if decision.Verdict == policy.Ask && len(c.Locked) == 0 && a.approved(*j) && policy.Ordinary(j.Intent) {
		return policy.Decision{Verdict: policy.Allow, Reason: "allowed for this turn"}, nil
	}
	return decision, nil
}

// approved reports whether the owner allowed such calls for this turn. Once the turn has read foreign text, only calls to the same recipient,
// host or path count.
func (a Actor) approved(j Judged) bool {
	return slices.ContainsFunc(a.Approved, func(q turn.Question) bool {
		return q.Tool == j.Call.Name && (!a.Tainted || q.Pattern != "" && q.Pattern == policy.Bound(j.Intent))
	})
}

// parseRights parses the rights that the owner gave to a trigger. An unreadable right grants nothing.
func parseRights(list []string) []policy.Right {
	var out []policy.Right
	for _, s := range list {
		if r, err := policy.ParseRight(s); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// typed reports whether the owner typed exactly the command that would run, as "run X".
func typed(j Judged) bool {
	word, command, ok := strings.Cut(strings.TrimSpace(j.Call.Words), " ")
	if !ok || !strings.EqualFold(word, "run") || j.Call.Name != "exec" {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(j.Call.Args))
	dec.DisallowUnknownFields()
	var args struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	return dec.Decode(&args) == nil && args.Command == strings.TrimSpace(command)
}

// Taint returns the source of foreign text that a finished call brought in, "" for none. It is at most 200 bytes long.
func (j Judged) Taint(r tools.Result) string {
	if from := policy.ForeignSource(j.Intent); from != "" && !r.Own {
		return truncate(from, 200)
	}
	return truncate(r.Foreign, 200)
}

// Run runs a judged call and stores a large result as an artifact. A panic of the tool becomes an error result.
func (d *Dispatch) Run(ctx context.Context, j Judged) tools.Result {
	if j.Fault != nil {
		return *j.Fault
	}
	if ctx.Err() != nil {
		return tools.Fail(tools.Cancelled, "", "cancelled")
	}
	// The owner's hooks run last before the tool, when the permission rules have already allowed the call.
	if d.Hooks == nil {
		return d.storeLarge(ctx, j, d.runTool(ctx, j))
	}
	if why := d.Hooks.Before(ctx, j.Call, j.Intent); why != "" {
		return tools.Fail(tools.Denied, "[[tool_hooks]] in config.toml has it", "%s", why)
	}
	r := d.runTool(ctx, j)
	d.Hooks.After(context.WithoutCancel(ctx), j.Call, j.Intent, r)
	return d.storeLarge(ctx, j, r)
}

// runTool runs the tool. Errors and panics become error results, which the model reads.
func (d *Dispatch) runTool(ctx context.Context, j Judged) (r tools.Result) {
	defer func() {
		if p := recover(); p != nil {
			d.Log.Error("tool panicked", "tool", j.Call.Name, "panic", p, "stack", string(debug.Stack()))
			r = tools.Fail(tools.Unknown, "", "%s failed inside", j.Call.Name)
		}
	}()
	r, err := j.Tool.Run(ctx, j.Call, j.Intent)
	if err != nil {
		return tools.ErrorResult(err)
	}
	return r
}

// storeLarge stores a large result as an artifact and replaces it by its id and a preview.
func (d *Dispatch) storeLarge(ctx context.Context, j Judged, r tools.Result) tools.Result {
	r.Content = strings.ToValidUTF8(r.Content, "\uFFFD")
	if j.Tool.Spec().SelfPaging {
		return r
	}
	return d.shortened(ctx, j, r, artifactOver, previewBytes)
}

// limited stores a result of more than limit bytes as an artifact, even if the tool pages its own output.
func (d *Dispatch) limited(ctx context.Context, j Judged, r tools.Result, limit int) tools.Result {
	return d.shortened(ctx, j, r, limit, max(limit-200, 0))
}

// shortened replaces a result of more than limit bytes by the id of an artifact and the first preview bytes. If the result was shortened
// before, it keeps the artifact with the whole text.
func (d *Dispatch) shortened(ctx context.Context, j Judged, r tools.Result, limit, preview int) tools.Result {
	if len(r.Content) <= limit {
		return r
	}
	start := truncate(r.Content, preview)
	if r.Stored != nil {
		_, text, _ := strings.Cut(r.Content, "\n") // the line that names the artifact
		start = truncate(text, preview)
	} else {
		id, err := d.storeResult(ctx, j, r)
		if err != nil {
			if ctx.Err() == nil {
				d.Log.Error("store large result", "tool", j.Call.Name, "err", err)
			}
			r.Content = fmt.Sprintf("[%d bytes, of which these are the first; the rest could not be kept: %v]\n%s", len(r.Content), err, start)
			return r
		}
		r.Stored = &tools.Stored{Artifact: id, Size: len(r.Content)}
	}
	r.Content = fmt.Sprintf("[%d bytes, stored as %s: page through it with result_read]\n%s", r.Stored.Size, r.Stored.Artifact, start)
	return r
}

// textParts returns the text of a result as parts. They name the artifact with the whole text.
func textParts(r tools.Result) []event.Part {
	parts := []event.Part{{Kind: event.Text, Text: r.Content, Skill: r.Skill}}
	if r.Stored != nil {
		parts[0].Artifact, parts[0].Size = r.Stored.Artifact, int64(r.Stored.Size)
	}
	return parts
}

// storeResult stores a result as an artifact. A result with foreign text is stored as foreign, so that reading it later taints the reader
// too.
func (d *Dispatch) storeResult(ctx context.Context, j Judged, r tools.Result) (string, error) {
	name := j.Call.Name + "-" + j.Call.ID + ".txt"
	from := j.Taint(r)
	if from == "" && j.Call.Tainted {
		from = "a turn that had read foreign text"
	}
	if from != "" {
		return d.Artifacts.KeepForeign(ctx, name, from, []byte(r.Content))
	}
	return d.Artifacts.Keep(ctx, name, []byte(r.Content))
}

// truncate shortens a text to at most n bytes, without splitting a character.
func truncate(s string, n int) string { return text.Head(s, n) }

// Entry makes the audit row of a judged call.
func (d *Dispatch) Entry(a Actor, j Judged) policy.Entry {
	summary := j.Intent.Summary
	if summary == "" {
		summary = j.Call.Name + " " + truncate(policy.Listed(j.Call.Args), 200)
	}
	return policy.Entry{
		At: d.Clock.Wall(), Turn: j.Call.Turn, CallID: j.Call.ID, Tool: j.Call.Name, Actor: a.Name, Trust: a.Trust, Tainted: a.Tainted,
		ArgsHash: j.Hash(), Summary: truncate(summary, 500), Warnings: j.Intent.Warnings, Decision: j.Decision, Effect: policy.Effect{In: len(j.Call.Args)},
	}
}

// Ended adds the result of a finished call to its audit row.
func Ended(e policy.Entry, r tools.Result) policy.Entry {
	e.Outcome = "ok"
	if r.IsError {
		e.Outcome = string(r.Code)
	}
	sum := sha256.Sum256([]byte(r.Content))
	e.Effect.Out, e.Effect.ResultHash = len(r.Content), hex.EncodeToString(sum[:16])
	if done, ok := r.Data.(tools.Ran); ok {
		e.Effect.Cwd, e.Effect.Exit = done.Ran()
	}
	return e
}
