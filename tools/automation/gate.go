package automation

import (
	"context"
	"slices"
	"strings"

	"hob/scheduler"
	"hob/tools"
)

// Gates works out what a job's gate would touch.
type Gates interface {
	// Judge returns the intent of one check of a gate. network: the job may use the network. Errors meant for the user or the model are
	// made with tools.Refuse.
	Judge(ctx context.Context, call tools.Call, gate string, network bool) (tools.Intent, error)
}

// gated adds the scopes, paths and hosts of the call's gate to the intent of the call. The gate later runs without approval, so the
// caller must have permission for all of them now.
func (c cron) gated(ctx context.Context, call tools.Call, in CronInput, old scheduler.View, i *tools.Intent) error {
	if in.GateText == "" || in.Action != "add" && in.Action != "update" {
		return nil
	}
	network := netWanted(strings.Split(in.Allow, ","))
	// An update that does not mention rights keeps those of the job.
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
	// The permission rules then judge the call and the gate together.
	i.Paths, i.Hosts, i.Links = append(i.Paths, g.Paths...), append(i.Hosts, g.Hosts...), append(i.Links, g.Links...)
	i.Private, i.Sandboxed, i.Denied, i.Warnings = g.Private, g.Sandboxed, g.Denied, append(i.Warnings, g.Warnings...)
	return nil
}

// netWanted reports whether the rights include the whole network.
func netWanted(rights []string) bool {
	return slices.ContainsFunc(rights, func(r string) bool { return strings.TrimSpace(r) == "net" })
}
