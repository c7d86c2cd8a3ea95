package daemon

import (
	"context"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
)

// recall makes the agent's Recall from a search of the memory. on reads the switch in the config.
func recall[M ~struct{ At, Text string }](search func(ctx context.Context, words string) []M, on func() bool) agent.Recall {
	return func(ctx context.Context, words string) (list []turn.Memory) {
		if !on() {
			return nil
		}
		for _, m := range search(ctx, words) {
			list = append(list, turn.Memory(struct{ At, Text string }(m)))
		}
		return list
	}
}
