package agent

import (
	"slices"

	"hob/daemon/llm"
	"hob/tools"
)

// lean is the session of the heartbeat. It runs often and mostly for nothing, so its requests are kept small: a system text without the
// owner's files, and few tools.
const heartbeatSession = "heartbeat"

// leanTools are the tools that a lean request carries. The tool "tool" leads to all others.
func heartbeatTools() []string { return []string{"read", "memory_search", "message", "tool"} }

// fresh is the prefix that a session without one gets. guest: somebody else than the owner asks.
func (r modelCalls) newPrefix(key string, guest bool) (string, []llm.Tool) {
	if key != heartbeatSession || guest {
		return r.set.System(guest), schemas(r.Dispatch.Set.Core())
	}
	few := slices.DeleteFunc(slices.Clone(r.Dispatch.Set.Specs()), func(s tools.Spec) bool { return !slices.Contains(heartbeatTools(), s.Name) })
	return r.set.Heartbeat(), schemas(few)
}
