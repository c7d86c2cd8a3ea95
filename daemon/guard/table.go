package guard

import (
	"slices"

	"hob/daemon/event"
	"hob/tools"
)

// judge is one cell of the default table: a scope, asked for by somebody.
func judge(c Case, s tools.Scope) Decision {
	if c.Asker == event.Owner {
		return ownerMay(c, s)
	}
	return strangerMay(c, s)
}

// ownerMay is the row of the owner and of the jobs that he made.
func ownerMay(c Case, s tools.Scope) Decision {
	switch s {
	case tools.FSRead:
		return paths(c, tools.Workspace, tools.RootRW, tools.RootRO, tools.Outside)
	case tools.FSWrite:
		return paths(c, tools.Workspace, tools.RootRW)
	case tools.Exec:
		if c.Intent.Sandboxed {
			return Decision{Verdict: Allow, Reason: "it runs in the sandbox"}
		}
		return Decision{Verdict: Ask, Reason: "the command would run outside a sandbox"}
	case tools.Net:
		return Decision{Verdict: Ask, Reason: "the command reaches the network"}
	case tools.Messages, tools.Sessions:
		return addresses(c)
	case tools.Schedule, tools.MemoryOf:
		return Decision{Verdict: Allow, Reason: "the owner's schedule and memory are his"}
	default:
		return Decision{Verdict: Ask, Reason: "it changes hob itself"}
	}
}

// strangerMay is the row of known people, groups, webhooks, watches and mail.
func strangerMay(c Case, s tools.Scope) Decision {
	switch s {
	case tools.FSRead:
		return denyUnless(paths(c, tools.Workspace), "somebody else than the owner asked: only the workspace may be read")
	case tools.Messages:
		for _, a := range c.Intent.Addresses {
			if a != c.ReplyTo {
				return Decision{Verdict: Deny, Reason: "somebody else than the owner asked: hob may only answer where the message came from"}
			}
		}
		return Decision{Verdict: Allow, Reason: "it answers where the message came from"}
	default:
		return Decision{Verdict: Deny, Reason: "somebody else than the owner asked (" + string(c.Asker) + "): " + string(s) + " is not theirs to use"}
	}
}

func denyUnless(d Decision, reason string) Decision {
	if d.Verdict == Allow {
		return d
	}
	return Decision{Verdict: Deny, Reason: reason}
}

// paths asks for every path that lies outside the given areas.
func paths(c Case, areas ...tools.Area) Decision {
	for _, p := range c.Intent.Paths {
		if slices.Contains(areas, p.Area) {
			continue
		}
		if p.Area == tools.Sensitive {
			return Decision{Verdict: Ask, Reason: p.Path + " may hold secrets"}
		}
		mode := ":ro"
		if p.Write {
			mode = ":rw"
		}
		return Decision{Verdict: Ask, Reason: p.Path + " lies outside the workspace", Allow: `[tools] roots = ["` + p.Path + mode + `"]`}
	}
	return Decision{Verdict: Allow, Reason: "the paths are within reach"}
}

// addresses asks for everybody but the owner and those he named.
func addresses(c Case) Decision {
	for _, a := range c.Intent.Addresses {
		if a == event.ToOwner || a == event.CLI || slices.Contains(c.Known, a) {
			continue
		}
		return Decision{Verdict: Ask, Reason: string(a) + " is not an address of the owner", Allow: `[owner] addresses = ["` + string(a) + `"]`}
	}
	return Decision{Verdict: Allow, Reason: "it goes to the owner"}
}
