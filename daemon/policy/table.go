package policy

import (
	"slices"

	"hob/daemon/event"
	"hob/tools"
)

// row is a row of the table: the author of the request, and whether the turn has read foreign text.
type row string

// The rows of the table. A sub-agent uses the row of its parent, but there is nobody to ask.
const (
	owner   row = "the owner, or a job the owner made"
	tainted row = "the owner, after something foreign was read"
	others  row = "somebody else, or a machine"
)

// rowOf picks the row of a call. Who asked weighs more than what the turn has read: others never get the rows of the owner.
func rowOf(c Case) row {
	switch {
	case c.Asker != event.Owner:
		return others
	case c.Tainted:
		return tainted
	}
	return owner
}

// column says what a call would do.
type column string

// The columns of the table.
const (
	read     column = "read"
	write    column = "write"
	shell    column = "shell"
	web      column = "net"
	message  column = "message"
	schedule column = "schedule, memory"
	itself   column = "config, service"
	servers  column = "MCP servers"
	reading  column = "reading in accounts"
	changing column = "changes in accounts"
)

// columnOf maps a scope to its column. An unknown scope counts as a change to hob itself.
func columnOf(s tools.Scope) column {
	switch s {
	case tools.FSRead:
		return read
	case tools.FSWrite:
		return write
	case tools.Exec:
		return shell
	case tools.Net:
		return web
	case tools.Messages, tools.Sessions:
		return message
	case tools.Schedule, tools.MemoryScope:
		return schedule
	case tools.MCP:
		return servers
	case tools.AccountRead:
		return reading
	case tools.AccountWrite:
		return changing
	}
	return itself
}

// cell is one field of the table: the condition that allows a call, and the verdict for all other calls.
type cell struct {
	allowed   condition
	otherwise Verdict
}

// table is the default table of docs/security.md, as data.
func table() map[row]map[column]cell {
	return map[row]map[column]cell{
		owner: {
			read:     {anywhereReadable, Ask},
			write:    {inTheRoots, Ask},
			shell:    {inTheSandbox, Ask},
			web:      {publicWeb, Ask},
			message:  {knownAddresses, Ask},
			schedule: {anytime, Ask},
			itself:   {never("it changes hob itself"), Ask},
			servers:  {anytime, Ask}, // hob knows only those whose tools the owner has accepted
			reading:  {anytime, Ask}, // the owner has set the account up for this
			changing: {anytime, Ask}, // a tool that writes to other people asks by its intent
		},
		tainted: {
			read:     {nothingGuarded, Ask},
			write:    {inScratch, Ask},
			shell:    {never("the turn has read foreign text"), Ask},
			web:      {addressesTheOwnerGave, Ask},
			message:  {theOwner, Ask},
			schedule: {onlyReads, Ask},
			itself:   {never("a turn that has read foreign text never changes hob itself"), Deny},
			servers:  {cleared, Ask},
			reading:  {anytime, Ask}, // the request goes to the owner's own account only
			changing: {never("the turn has read foreign text"), Ask},
		},
		others: {
			read:     {inTheWorkspace, Deny},
			write:    {inScratch, Deny},
			shell:    {never("only the owner may use the shell"), Deny},
			web:      {never("only the owner may use the web"), Deny},
			message:  {whereItCameFrom, Deny},
			schedule: {never("only the owner may use the schedule and the memory"), Deny},
			itself:   {never("only the owner may change hob itself"), Deny},
			servers:  {never("only the owner may use MCP servers"), Deny},
			reading:  {never("only the owner may use the owner's accounts"), Deny},
			changing: {never("only the owner may use the owner's accounts"), Deny},
		},
	}
}

// ownersOnly is true for what no right opens to others.
func ownersOnly(col column) bool {
	return slices.Contains([]column{shell, write, servers, reading, changing}, col)
}

// judge decides about one scope of a call. A right of the trigger applies if the condition of the cell fails; it never opens hob itself,
// nor the shell and files to others.
func judge(c Case, s tools.Scope) Decision {
	r, col := rowOf(c), columnOf(s)
	at := table()[r][col]
	fault := at.allowed(c)
	switch {
	case fault.why == "":
		return Decision{Verdict: Allow, Reason: "the permission rules allow it"}
	case covered(c, col) && col != itself && (r != others || !ownersOnly(col)):
		return Decision{Verdict: Allow, Reason: "the owner gave this right to the trigger"}
	}
	return Decision{Verdict: at.otherwise, Reason: reason(c, r, fault.why), Allow: remedy(c, r, col, fault.line)}
}

// reason adds whose turn it is if that is why the condition fails.
func reason(c Case, r row, why string) string {
	if r == others {
		return "someone other than the owner asked (" + string(c.Asker) + "): " + why
	}
	return why
}

// freshStart is what lifts the limits of a conversation that has read foreign text. It ends "always allowed by: ", as every remedy does.
const freshStart = "a conversation without foreign text (/clean or /new begins one)"

// remedy says what would allow the call: the hint of its condition, or what lifts the restriction of the row.
func remedy(c Case, r row, col column, line string) string {
	switch {
	case line != "":
		return line
	case r == others && col == web:
		return `--allow net when you create the watch or hook`
	case r == others:
		return "the owner can ask for it"
	case r == tainted && col == changing && len(c.Intent.Accounts) > 0:
		return freshStart + ", or --allow account:" + c.Intent.Accounts[0] + ":write for a job"
	case r == tainted && (col == shell || col == schedule):
		return freshStart + ", or --allow for a job"
	case col == shell && len(c.Intent.Hosts) > 0:
		return "/approve CODE always, or --allow exec for a job" // no sandbox of this machine covers another machine
	case col == shell:
		return `a working sandbox ([tools.exec] sandbox), or --allow exec for a job`
	}
	return ""
}

// fault says why a condition does not hold, and which config line or command would allow the call. The zero fault means that it holds.
type fault struct{ why, line string }

// condition is what a cell allows.
type condition func(Case) fault

// anytime is the condition of a cell that allows every call.
func anytime(Case) fault { return fault{} }

// onlyReads is the condition of scheduling and memory in a tainted turn.
func onlyReads(c Case) fault {
	if c.Intent.Effect == tools.Read {
		return fault{}
	}
	return fault{why: "the turn has read foreign text"}
}

// cleared requires that the owner has allowed this call of a server to turns that have read foreign text.
func cleared(c Case) fault {
	if c.Intent.Cleared {
		return fault{}
	}
	return fault{
		why:  "the turn has read foreign text, and the MCP server " + c.Intent.Server + " would get what it says",
		line: freshStart + ", or --allow mcp:" + c.Intent.Server + " for a job",
	}
}

// never is the condition of a cell that allows no call by itself. A grant, a right or the owner's answer may still allow it.
func never(why string) condition { return func(Case) fault { return fault{why: why} } }

// anywhereReadable requires that no path may hold secrets. Reading elsewhere changes nothing, and its content counts as foreign.
func anywhereReadable(c Case) fault {
	return paths(c, false, tools.Workspace, tools.RootRW, tools.RootRO, tools.Scratch, tools.Outside)
}

// nothingGuarded is anywhereReadable without what may hold keys by its place or name.
func nothingGuarded(c Case) fault {
	for _, p := range c.Intent.Paths {
		if p.Guarded && !p.Write {
			return fault{why: p.Path + " is hidden in your home or may hold secrets by its name, and the turn has read foreign text"}
		}
	}
	return anywhereReadable(c)
}

// inTheRoots requires that everything the call writes is where the owner has allowed writing.
func inTheRoots(c Case) fault { return paths(c, true, tools.Workspace, tools.RootRW, tools.Scratch) }

// inTheWorkspace lets others read the workspace, except for the owner's private files and the scratch folders of other sessions.
func inTheWorkspace(c Case) fault {
	f := paths(c, false, tools.Workspace, tools.Scratch)
	if f.why == "" {
		f = ownScratch(c, false)
	}
	if f.why != "" {
		return fault{why: "only the workspace may be read, except for the owner's private files"}
	}
	return f
}

// inScratch requires that everything the call writes is in the session's own scratch folder.
func inScratch(c Case) fault {
	for _, p := range c.Intent.Paths {
		if p.Write && p.Area != tools.Scratch {
			return fault{why: p.Path + " is not in the scratch folder " + c.Scratch + ", the only place that a turn may write to after it has read foreign text"}
		}
	}
	return ownScratch(c, true)
}

// ownScratch rejects the scratch folders of other sessions. writes limits the check to paths that the call writes.
func ownScratch(c Case, writes bool) fault {
	for _, p := range c.Intent.Paths {
		if p.Area == tools.Scratch && (p.Write || !writes) && !inside(c.Scratch, p.Path) {
			return fault{why: p.Path + " is the scratch folder of another conversation"}
		}
	}
	return fault{}
}

// paths requires that the paths of a call, or with writes those that it writes, are in the given areas.
func paths(c Case, writes bool, areas ...tools.Area) fault {
	for _, p := range c.Intent.Paths {
		if slices.Contains(areas, p.Area) || writes && !p.Write {
			continue
		}
		if p.Area == tools.Sensitive {
			return fault{why: p.Path + " may hold secrets"}
		}
		mode := ":ro"
		if p.Write {
			mode = ":rw"
		}
		return fault{p.Path + " lies outside the workspace", `[tools] roots = ["` + p.Path + mode + `"]`}
	}
	return fault{}
}

// inTheSandbox requires that the system confines the command, since its text does not show what it will do.
func inTheSandbox(c Case) fault {
	if c.Intent.Sandboxed {
		return fault{}
	}
	return fault{why: "the command would run outside a sandbox"}
}

// publicWeb requires known hosts outside private networks. Only a sandboxed command may leave its hosts unknown.
func publicWeb(c Case) fault {
	switch {
	case c.Intent.Private:
		return fault{why: "it reaches a private network"}
	case len(c.Intent.Hosts) == 0 && !c.Intent.Sandboxed:
		return fault{why: "it reaches the network at an unknown address"}
	}
	return fault{}
}

// addressesTheOwnerGave requires that every web address appears, character by character, in the owner's own messages. The part after the
// host could carry secrets out.
func addressesTheOwnerGave(c Case) fault {
	if f := publicWeb(c); f.why != "" {
		return f
	}
	for _, l := range c.Intent.Links {
		if !slices.Contains(c.Given, l) {
			return fault{why: "the address did not come from the owner, and the turn has read foreign text"}
		}
	}
	if len(c.Intent.Links) == 0 {
		return fault{why: "it is not known which addresses it requests, and the turn has read foreign text"}
	}
	return fault{}
}

// theOwner requires that messages of a tainted turn go to the owner.
func theOwner(c Case) fault {
	for _, a := range c.Intent.Addresses {
		if a != event.ToOwner && a != event.CLI && (a != c.ReplyTo || c.Asker != event.Owner) {
			return fault{why: string(a) + " is not the owner, and the turn has read foreign text"}
		}
	}
	return fault{}
}

// knownAddresses requires addresses of the owner or ones that the config calls known.
func knownAddresses(c Case) fault {
	for _, a := range c.Intent.Addresses {
		if a != event.ToOwner && a != event.CLI && !slices.Contains(c.Known, a) {
			return fault{why: string(a) + " is neither an address of the owner nor a known address"} // no hint: the config key that would add the address makes its user an owner
		}
	}
	return fault{}
}

// whereItCameFrom requires that answers go back to the sender. Nobody waits for the answer to a machine's message, so that may go to the
// owner.
func whereItCameFrom(c Case) fault {
	if len(c.Intent.Addresses) == 0 {
		return fault{why: "only the owner may use it"}
	}
	for _, a := range c.Intent.Addresses {
		if a != c.ReplyTo && (c.Asker != event.Machine || a != event.ToOwner) {
			return fault{why: "hob may only answer where the message came from"}
		}
	}
	return fault{}
}

// Offered reports whether a caller may see a tool in a list. Others than the owner see those that they may use in some case: files of the workspace and of
// their own scratch folder, and what touches only their own conversation.
func Offered(trust event.Trust, s tools.Spec) bool {
	return trust == event.Owner || s.Group == "fs" || s.Group == "search" || slices.Contains(harmless(), s.Name)
}
