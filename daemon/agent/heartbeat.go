package agent

import (
	"hob/daemon/agent/turn"
)

// heartbeatSession is the session of the heartbeat. It runs often and mostly finds nothing to do, so its requests are small:
// a system text without the owner's files, and few tools.
const heartbeatSession = "heartbeat"

// heartbeatTools are the tools in a heartbeat's request. The tool "tool" gives access to all others.
func heartbeatTools() []string { return []string{"read", "memory_search", "message", "tool"} }

// newPrefix makes the system text and the tools for a session that has none yet. guest is true when the asker is not the owner.
func (r modelCalls) newPrefix(key string, guest bool) turn.Prefix {
	return NewPrefix(key, guest, r.run.set, r.run.thread.Dispatch.Set)
}

// NewPrefix makes the prefix that a session with this key would get now.
func NewPrefix(key string, guest bool, set Settings, offered Set) turn.Prefix {
	if key != heartbeatSession || guest {
		return turn.Prefix{System: set.System(guest), Tools: schemas(offered.Core())}
	}
	return turn.Prefix{System: []turn.Section{{Name: "identity", Text: set.Heartbeat()}}, Tools: schemas(named(offered.Specs(), heartbeatTools()))}
}
