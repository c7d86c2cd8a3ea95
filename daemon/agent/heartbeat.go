package agent

import (
	"slices"

	"hob/daemon/llm"
	"hob/tools"
)

// heartbeatSession is the session of the heartbeat. It runs often and mostly finds nothing to do, so its requests are small:
// a system text without the owner's files, and few tools.
const heartbeatSession = "heartbeat"

// heartbeatTools are the tools in a heartbeat's request. The tool "tool" gives access to all others.
func heartbeatTools() []string { return []string{"read", "memory_search", "message", "tool"} }

// newPrefix makes the system text and the tools for a session that has none yet. guest is true when the asker is not the owner.
func (r modelCalls) newPrefix(key string, guest bool) (string, []llm.Tool) {
	if key != heartbeatSession || guest {
		return r.run.set.System(guest), schemas(r.run.thread.Dispatch.Set.Core())
	}
	few := slices.DeleteFunc(slices.Clone(r.run.thread.Dispatch.Set.Specs()), func(s tools.Spec) bool { return !slices.Contains(heartbeatTools(), s.Name) })
	return r.run.set.Heartbeat(), schemas(few)
}
