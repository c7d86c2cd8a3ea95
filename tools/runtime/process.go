package runtime

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/secret"
	"hob/daemon/text"
	"hob/tools"
)

// Times of the tool process.
const (
	maxWait   = 600         // maximum seconds that poll waits
	killGrace = time.Second // between TERM and KILL of kill
)

// ProcessInput is the input of process.
type ProcessInput struct {
	Action    string `json:"action" jsonschema:"what to do" enum:"list,status,poll,input,signal,kill"`
	ProcessID string `json:"process_id,omitempty" jsonschema:"all but list need it"`
	Input     string `json:"input,omitempty" jsonschema:"with its line end"`
	Signal    string `json:"signal,omitempty" jsonschema:"TERM, INT, HUP, KILL …"`
	Filter    string `json:"filter,omitempty" jsonschema:"poll: regex on lines"`
	Wait      int    `json:"wait,omitempty" jsonschema:"poll: seconds" min:"0" max:"600"`
}

// ProcessOutput is the output of process.
type ProcessOutput struct {
	Processes []Process `json:"processes" jsonschema:"the processes it is about, as they are now"`
	Output    string    `json:"output,omitempty" jsonschema:"what was not polled yet"`
}

// NewProcess builds the tool process, which manages the commands that exec left in the background.
// A caller sees the processes of its own session; the owner sees all.
func NewProcess(d ExecDeps) tools.Tool {
	d.Limits = d.Limits.filled()
	h := handler{executor{ExecDeps: d}}
	return traced{tools.New[ProcessInput, ProcessOutput](tools.Spec{
		Name: "process", Group: "runtime", Core: true, SelfPaging: true, Positional: "action", Example: "list",
		Description: "Look after background commands. poll gives only new output.",
	}, h.intent, h.run), h.traces}
}

// handler implements process.
type handler struct{ executor executor }

// intent describes the call to the permission rules. To write to a process or to signal it needs the same
// scopes as to run a command there.
func (h handler) intent(_ context.Context, call tools.Call, in ProcessInput) (tools.Intent, error) {
	if in.Action == "list" {
		return tools.Intent{Effect: tools.Read, Summary: "list background processes", Canonical: call.Args, Foreign: h.listed(call)}, nil
	}
	p, err := h.find(call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	if err := h.validate(in); err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool    string       `json:"tool"`
		Do      ProcessInput `json:"do"`
		Command string       `json:"command"`
		Call    string       `json:"call"`
	}{"process", in, p.request.summary, p.request.by.ID})
	i := tools.Intent{Effect: tools.Read, Summary: in.Action + " process " + p.id + ": " + p.request.summary, Canonical: canonical, Foreign: h.source(p), Keep: p}
	switch in.Action {
	case "input":
		i.Summary = fmt.Sprintf("write %q to process %s: %s", brief(in.Input), p.id, p.request.summary)
	case "signal":
		i.Summary = "send " + in.Signal + " to process " + p.id + ": " + p.request.summary
	}
	if in.Action != "poll" && in.Action != "status" {
		i.Effect, i.Scopes, i.Sandboxed = tools.Once, p.request.at.shell(), p.request.at.sandboxed
		if p.request.at.own && in.Action == "input" {
			i.Scopes = append(i.Scopes, tools.Config)
		}
		if p.request.at.folder != nil {
			i.Paths = []tools.Path{tools.PathOf(*p.request.at.folder, false)} // no grant of a job covers a folder with keys
		}
		if p.request.at.host != "" {
			i.Hosts = []string{h.executor.ExecDeps.Hosts[p.request.at.host].Address}
		}
	}
	return i, err
}

// validate refuses missing or unusable input for an action.
func (h handler) validate(in ProcessInput) error {
	if in.Action == "input" && in.Input == "" {
		return tools.Refuse(tools.Validation, "", "input: the action input needs a text")
	}
	if name := secret.Placeholder(nil, []byte(in.Input)); name != "" {
		return tools.Refuse(tools.Validation, hiddenSecret, "input holds the placeholder %s", name)
	}
	if in.Action == "signal" {
		if _, ok := signalNamed(in.Signal); !ok {
			return tools.Refuse(tools.Validation, "TERM, INT, HUP, QUIT, KILL, USR1, USR2, STOP or CONT", "signal: there is no signal %q", in.Signal)
		}
	}
	if _, err := regexp.Compile(in.Filter); err != nil {
		return tools.Refuse(tools.Validation, "", "filter: %v", err)
	}
	return nil
}

// find returns the process that a call names.
func (h handler) find(call tools.Call, in ProcessInput) (*proc, error) {
	if in.ProcessID == "" {
		return nil, tools.Refuse(tools.Validation, "process list shows them", "process_id: the action %s needs it", in.Action)
	}
	var known []string
	for _, p := range h.visible(call) {
		if p.id == in.ProcessID {
			return p, nil
		}
		known = append(known, p.id)
	}
	hint := "there are none"
	if len(known) > 0 {
		hint = text.ThereAre(known, len(known))
	}
	return nil, tools.Refuse(tools.NotFound, hint, "there is no process %q", in.ProcessID)
}

// visible returns the processes that a caller may see.
func (h handler) visible(call tools.Call) []*proc {
	var out []*proc
	for _, p := range h.executor.ExecDeps.Registry.all() {
		if call.Trust == event.Owner || call.Session == p.request.by.Session && call.Session != 0 {
			out = append(out, p)
		}
	}
	return out
}

// run carries out one action. After input from a tainted turn, everything that the process does
// counts as foreign.
func (h handler) run(ctx context.Context, call tools.Call, in ProcessInput, intent tools.Intent) (tools.Result, error) {
	if in.Action == "list" {
		return h.list(call), nil
	}
	p, ok := intent.Keep.(*proc)
	if !ok {
		var err error
		if p, err = h.find(call, in); err != nil {
			return tools.Result{}, err
		}
	}
	if err := h.validate(in); err != nil {
		return tools.Result{}, err
	}
	switch in.Action {
	case "poll":
		return h.poll(ctx, call, p, in)
	case "input":
		if call.Tainted {
			p.text.gotTaintedInput()
		}
		if err := p.write(in.Input); err != nil {
			return tools.Result{}, err
		}
	case "signal":
		sig, _ := signalNamed(in.Signal)
		if err := p.signal(sig); err != nil {
			return tools.Result{}, err
		}
	case "kill":
		return h.kill(call, p), nil
	}
	s := p.status(call.Session)
	return tools.Result{Content: s.line(), Data: ProcessOutput{Processes: []Process{s}}, Foreign: h.source(p)}, nil
}

// source returns why the command line and output of a process are foreign text, or "". It checks
// first whether a running process can now see foreign files.
func (h handler) source(p *proc) string {
	if !closed(p.reported) {
		h.executor.noticeForeign(p)
	}
	return p.text.source()
}

// listed returns the source of the first visible process with foreign text, or "".
func (h handler) listed(call tools.Call) string {
	for _, p := range h.visible(call) {
		if from := h.source(p); from != "" {
			return from
		}
	}
	return ""
}

// list shows the visible processes, one line each.
func (h handler) list(call tools.Call) tools.Result {
	out, lines := ProcessOutput{Processes: []Process{}}, []string{}
	for _, p := range h.visible(call) {
		s := p.status(call.Session)
		out.Processes, lines = append(out.Processes, s), append(lines, s.line())
	}
	if len(lines) == 0 {
		lines = []string{"nothing runs in the background"}
	}
	return tools.Result{Content: strings.Join(lines, "\n"), Data: out, Foreign: h.listed(call)}
}

// poll returns new output, and waits for some if there is none.
func (h handler) poll(ctx context.Context, call tools.Call, p *proc, in ProcessInput) (tools.Result, error) {
	var filter *regexp.Regexp
	if in.Filter != "" {
		var err error
		if filter, err = regexp.Compile(in.Filter); err != nil {
			return tools.Result{}, err
		}
	}
	patience := time.NewTimer(time.Duration(min(in.Wait, maxWait)) * time.Second)
	defer patience.Stop()
	for {
		more, over := p.out.more(), p.over()
		text := p.take(call.Session, filter, h.executor.ExecDeps.Limits.Preview)
		if text != "" || over || in.Wait == 0 {
			return h.answer(call, p, text), nil
		}
		select {
		case <-more:
		case <-p.done:
		case <-patience.C:
			return h.answer(call, p, ""), nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}
}

// answer builds the result of poll and kill.
func (h handler) answer(call tools.Call, p *proc, text string) tools.Result {
	s, from := p.status(call.Session), h.source(p)
	res := tools.Result{Content: s.line(), Data: ProcessOutput{Processes: []Process{s}, Output: text}, Changes: changes(h.executor.marked(p)), Foreign: from}
	if text = strings.TrimRight(text, "\n"); text != "" {
		res.Content += "\n" + text
	} else {
		res.Content += "\n(nothing new)"
	}
	return res
}

// kill ends a process and waits for its end. If the session that started the process asks, the
// answer replaces the report of the end.
func (h handler) kill(call tools.Call, p *proc) tools.Result {
	if call.Session == p.request.by.Session {
		p.suppressReport()
	}
	p.stop(stop{killed, killGrace})
	<-p.done
	return h.answer(call, p, p.take(call.Session, nil, h.executor.ExecDeps.Limits.Preview))
}
