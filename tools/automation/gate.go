package automation

import (
	"context"
	"slices"
	"strings"

	"hob/scheduler"
	"hob/tools"
)

// Gates knows what a job's gate would touch.
type Gates interface {
	// Judge says what a gate would touch at each of its looks; network: the job may use the network. What a person or model should read of
	// an error is made with tools.Refuse.
	Judge(ctx context.Context, call tools.Call, gate string, network bool) (tools.Intent, error)
}

// gated adds to a call's intent what its gate would touch: the gate runs by itself, and whoever sets it must be allowed what it does.
func (c cron) gated(ctx context.Context, call tools.Call, in Request, old scheduler.View, i *tools.Intent) error {
	if in.GateText == "" || in.Action != "add" && in.Action != "update" {
		return nil
	}
	network := netWanted(strings.Split(in.Allow, ","))
	if in.Action == "update" && in.Allow == "" {
		network = netWanted(old.Allow)
	}
	g, err := c.gates.Judge(ctx, call, in.GateText, network)
	if err != nil {
		return err
	}
	for _, s := range g.Scopes {
		if !slices.Contains(i.Scopes, s) {
			i.Scopes = append(i.Scopes, s)
		}
	}
	i.Paths, i.Hosts, i.Links = append(i.Paths, g.Paths...), append(i.Hosts, g.Hosts...), append(i.Links, g.Links...)
	i.Private, i.Sandboxed, i.Denied, i.Warnings = g.Private, g.Sandboxed, g.Denied, append(i.Warnings, g.Warnings...)
	return nil
}

func netWanted(rights []string) bool {
	return slices.ContainsFunc(rights, func(r string) bool { return strings.TrimSpace(r) == "net" })
}
