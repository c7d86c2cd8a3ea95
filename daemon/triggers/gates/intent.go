package gates

import (
	"context"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/netguard"
	"hob/scheduler"
	"hob/tools"
)

// Judge returns what each check of a gate touches, in the form of the tools that do the same. Setting a gate so needs the permissions of
// those tools. words is the gate as scheduler.ParseGate reads it; network: the job may use the network.
// It runs nothing. The tool cron adds the result to its own intent, and the permission rules decide about both.
func (e *Evaluator) Judge(ctx context.Context, call tools.Call, words string, network bool) (tools.Intent, error) {
	g, err := scheduler.ParseGate(words)
	if err != nil {
		return tools.Intent{}, tools.Refuse(tools.Validation, "examples: wc -l inbox.txt · exit:COMMAND · url:https://… · files:GLOB,GLOB · none", "%v", err)
	}
	var i tools.Intent
	if err := e.running(ctx, call, g, network, &i); err != nil {
		return tools.Intent{}, err
	}
	if err := asking(g, &i); err != nil {
		return tools.Intent{}, err
	}
	return i, e.looking(call, g, &i)
}

// running adds what the command would touch.
func (e *Evaluator) running(ctx context.Context, call tools.Call, g scheduler.Gate, network bool, i *tools.Intent) error {
	if g.Command == "" {
		return nil
	}
	exec, at := e.shell(ctx, network)
	j := scheduler.Job{Trigger: scheduler.Trigger{Name: "gate", Trust: call.Trust, Permissions: scheduler.Permissions{Tainted: call.Tainted}}, Zone: call.Zone, Gate: g}
	run, err := e.call(j, at.Guard)
	if err != nil {
		return err
	}
	touched, err := exec.Intent(ctx, run)
	if err != nil {
		return err
	}
	if touched.Denied == "" {
		if err := confined(touched, at.Sandbox.State()); err != nil {
			return tools.Refuse(tools.ConfigError, at.Sandbox.State().Hint, "gate: %v", err)
		}
	}
	i.Scopes, i.Sandboxed, i.Denied, i.Warnings = append(i.Scopes, touched.Scopes...), touched.Sandboxed, touched.Denied, append(i.Warnings, touched.Warnings...)
	i.Paths = append(i.Paths, touched.Paths...)
	return nil
}

// asking adds the address.
func asking(g scheduler.Gate, i *tools.Intent) error {
	if g.URL == "" {
		return nil
	}
	link, host, err := netguard.Canonical(g.URL)
	if err != nil {
		return tools.Refuse(tools.Validation, "want an address like https://example.org/path", "gate: %v", err)
	}
	if !slices.Contains(i.Scopes, tools.Net) {
		i.Scopes = append(i.Scopes, tools.Net)
	}
	i.Hosts, i.Links, i.Private = append(i.Hosts, netguard.HostPort(link)), append(i.Links, link), i.Private || netguard.Private(host)
	return nil
}

// looking adds the files. What they say reaches nobody, so that it does not count as read.
func (e *Evaluator) looking(call tools.Call, g scheduler.Gate, i *tools.Intent) error {
	for _, glob := range g.Files {
		base, _ := anchored(glob)
		at, err := e.Setting().Guard.Resolve("", base)
		if err != nil {
			return tools.RefusePath(e.Setting().Guard, call, base, err)
		}
		if at.Area == fsguard.State {
			return tools.RefusePath(e.Setting().Guard, call, strings.TrimSuffix(base, "/"), fsguard.ErrState)
		}
		path := tools.PathOf(at, false)
		// The hash of a file carries none of its text.
		path.Foreign = ""
		i.Paths = append(i.Paths, path)
	}
	if len(g.Files) > 0 && !slices.Contains(i.Scopes, tools.FSRead) {
		i.Scopes = append(i.Scopes, tools.FSRead)
	}
	return nil
}
