package agent

import (
	"slices"
	"unicode/utf8"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// fewTools are the tools in the requests to a model with few tools. The tool "tool" gives access to all others.
func fewTools() []string {
	return []string{"read", "write", "edit", "ls", "exec", "cron", "web_fetch", "memory_search", "memory_write", "result_read", tools.CatalogTool}
}

// fewRule tells such a model how to reach the others.
const fewRule = "\n- Few tools are described here. All others are reached through the tool named tool: message, ask, grep, glob, todo, watch and more; describe one before you call it."

// filesShare is the part of a small window, in percent, that the workspace files may fill.
const filesShare = 15

// shareOf returns it in bytes.
func shareOf(info llm.Info) int { return info.Context * filesShare / 100 * minBytesPerToken }

// isOwnSection reports whether a section of the system text is hob's own: it is never shortened.
func isOwnSection(name string) bool {
	return slices.Contains([]string{"identity", "tools", "safety"}, name)
}

// requestPrefix returns the prefix of a session as requests to a model begin with it.
func requestPrefix(p turn.Prefix, info llm.Info, offered Set) prefix {
	p = Fitted(p, info, offered)
	return prefix{p.Text(), p.Tools}
}

// Fitted returns a prefix as a model gets it. With few tools it has only these, and a line about the others, if the tool "tool" is there to
// reach them. For a small window the workspace files are shortened to their share. The same prefix and model give the same result, for the provider's
// cache.
func Fitted(p turn.Prefix, info llm.Info, offered Set) turn.Prefix {
	p.System = slices.Clone(p.System)
	if _, leads := offered.Find(tools.CatalogTool); leads && info.Few && len(p.Tools) > len(fewTools()) {
		p.Tools = schemas(named(offered.Specs(), fewTools()))
		for i := range p.System {
			if p.System[i].Name == "tools" {
				p.System[i].Text += fewRule
			}
		}
	}
	if info.Small() {
		shortenFiles(p.System, shareOf(info))
	}
	return p
}

// named returns the tools of these names, in their own order.
func named(specs []tools.Spec, names []string) []tools.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s tools.Spec) bool { return !slices.Contains(names, s.Name) })
}

// shortenFiles shortens the workspace files of a system text to so many bytes. Files that are shorter than their part leave the rest to the longer ones.
func shortenFiles(list []turn.Section, room int) {
	var files []*turn.Section
	for i := range list {
		if !isOwnSection(list[i].Name) {
			files = append(files, &list[i])
		}
	}
	slices.SortStableFunc(files, func(a, b *turn.Section) int { return len(a.Text) - len(b.Text) })
	for i, s := range files {
		if most := room / (len(files) - i); len(s.Text) > most {
			s.Text = event.Shorten(s.Text, most*utf8.RuneCountInString(s.Text)/len(s.Text))
		}
		room = max(room-len(s.Text), 0)
	}
}
