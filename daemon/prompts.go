package daemon

import (
	"context"
	"os"
	"strings"

	"hob/config"
	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/llm"
	"hob/daemon/store"
	"hob/daemon/toolset"
)

// prompts shows what requests begin with.
type prompts struct {
	settings agentSettings
	store    *store.Store
	view     *store.View
	set      agent.Set
	first    func() llm.Info
}

// show returns the stored prefix of a session or, if it has none, the one that it would get now. The main conversation has one before it begins.
func (p prompts) show(ctx context.Context, name string) (out api.SessionPrompt, err error) {
	s, err := p.view.SessionNamed(ctx, name)
	if f, missing := event.AsFault(err); missing && f.Kind == event.Missing && name == "main" {
		s, err = api.Session{Key: name}, nil
	}
	if err != nil {
		return out, err
	}
	prefix, guest, stored, err := p.store.Turns.StoredPrefix(ctx, s.ID)
	if err != nil {
		return out, err
	}
	if !stored && s.Kind == "child" {
		return out, event.NewFault(event.Clash, "hob sessions show prints what it said", "sub-agent %s has no prompt now: it gets one with its next request", s.Key)
	}
	if !stored {
		prefix = agent.NewPrefix(s.Key, guest, p.settings.read(ctx), p.set)
	}
	prefix = agent.Fitted(prefix, p.first(), p.set)
	out = api.SessionPrompt{Session: s.Key, ID: s.ID, Guest: guest, Stored: stored, System: prefix.Text(), Tools: prefix.Tools, Problems: []string{}}
	out.Parts, out.Tokens = measured(prefix)
	if _, err := p.settings.prompt(guest).Sections(); err != nil {
		out.Problems = strings.Split(err.Error(), "\n")
	}
	return out, nil
}

// measured returns the size of each part of a prefix, and their tokens together.
func measured(p turn.Prefix) (list []api.PromptPart, tokens int) {
	add := func(name string, bytes int) {
		n := agent.EstimateTokens(bytes)
		list, tokens = append(list, api.PromptPart{Name: name, Bytes: bytes, Tokens: n}), tokens+n
	}
	for _, s := range p.System {
		add(s.Name, len(s.Text))
	}
	for _, t := range p.Tools {
		add("tool "+t.Name, len(t.Name)+len(t.Description)+len(t.Parameters))
	}
	return list, tokens
}

// PromptProblems returns a sentence for each workspace file of which something is missing in the prompt, or that is locked by front matter which
// does not protect it from commands. It reads the files and nothing else, so that it works without a daemon.
func PromptProblems(workspace, state string, c *config.Snapshot) ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // as the tools do: then ~ means nothing
	}
	g, err := fsguard.New(fsguard.Config{Workspace: workspace, State: state, Home: home, Roots: toolset.Roots(c.Tools.Roots, home)})
	if err != nil {
		return nil, err
	}
	var list []string
	if _, err := promptOf(g, fsguard.Text, workspace, c.Owner.Name, false).Sections(); err != nil {
		list = strings.Split(err.Error(), "\n")
	}
	for _, l := range fsguard.Locks(g) {
		if l.Loose {
			list = append(list, l.Name+": it says agent-modification: false, and it is a link or has a second name, which a command could use: hob asks before every command")
		}
	}
	return list, nil
}

// promptOf returns what the system text is made from. read is fsguard.Text, or that of an fsguard.Texts.
func promptOf(g *fsguard.Guard, read func(*fsguard.Guard, string, int64) ([]byte, fsguard.Place, error), workspace, owner string, guest bool) agent.Prompt {
	return agent.Prompt{Workspace: workspace, Owner: owner, Guest: guest, Read: func(path string) (agent.WorkspaceFile, error) {
		text, at, err := read(g, path, agent.MaxWorkspaceFile)
		f := agent.WorkspaceFile{Path: at.Path, Text: text, Foreign: at.Foreign}
		if err == nil {
			f.Size = at.Info.Size()
		}
		return f, err
	}}
}
