package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// clawConfig is the part of openclaw.json that says where the workspace is (openclaw/openclaw, docs/concepts/agent-workspace.md). Older
// versions have the section agent.
type clawConfig struct {
	Agent  struct{ Workspace string }
	Agents struct {
		Defaults struct{ Workspace string }
		List     []struct{ ID, Workspace string }
	}
	Channels map[string]struct{ AllowFrom []any }
	MCP      struct{ Servers map[string]any }
}

// clawJob is a job of cron/jobs.json (openclaw/openclaw, src/cron/types.ts, CronStoreFile). Older versions write atMs in place of at.
type clawJob struct {
	Name, Description, AgentID string
	Enabled                    *bool
	Schedule                   struct {
		Kind, Expr, TZ, At string
		EveryMS, AtMS      float64
	}
	SessionTarget string
	Payload       struct{ Kind, Text, Message, Model string }
	Delivery      struct{ Mode, Channel, To string }
	Trigger       struct{ Script string }
}

// clawSettings are the names that the settings have, or had in older versions.
func clawSettings() []string { return []string{"openclaw.json", "moltbot.json", "clawdbot.json"} }

// openclaw plans the import of ~/.openclaw, or of a workspace alone. The layout is that of docs/concepts/agent-workspace.md and
// docs/gateway/security of openclaw/openclaw ("Credential storage map"), the files of the workspace those of docs/reference/templates.
func openclaw(ctx context.Context, p *plan) error {
	config := ""
	for _, name := range clawSettings() {
		if p.folder.is(name, true) {
			config = name
			break
		}
	}
	workspace := "."
	switch {
	case p.folder.is("workspace", false):
		workspace = "workspace"
	case p.folder.is("AGENTS.md", true), p.folder.is("SOUL.md", true):
	case config == "" && !p.folder.is("cron", false):
		return errors.New("it has neither openclaw.json nor a folder workspace, and it is no workspace itself, since AGENTS.md and SOUL.md are missing too")
	default:
		workspace = ""
	}
	var c clawConfig
	var all any
	usable := config != "" && p.object(config, &c, &all)
	if workspace != "" {
		p.clawWorkspace(workspace)
	}
	if workspace == "." && config == "" {
		return nil
	}
	p.skills("skills", nil)
	if jobs := p.storedJobs(); p.clawDatabase(ctx) && jobs != nil {
		p.leave("other", jobsFile, "the jobs are those of %s, which newer versions use", clawStore)
	} else {
		planJobs(p, jobs, clawJob.convert)
	}
	if usable {
		p.clawConfig(config, c, workspace)
		p.clawSecrets(config, "", all)
	}
	p.clawCredentials()
	p.env(".env", nil)
	if workspace == "." {
		return nil // the workspace has noted the rest
	}
	p.rest(".", []string{"workspace", "skills", "cron", "credentials"}, map[string]string{
		"moltbot.json": "settings of an older version", "clawdbot.json": "settings of an older version",
		config: "hob has other settings: hob setup, hob channels add", config + ".bak": "a copy of the settings",
		"agents": "conversations and logins are not imported", "state": "its own state; hob reads only " + clawStore,
		"extensions": "hob has no plug-ins; MCP servers add tools", "plugins": "hob has no plug-ins; MCP servers add tools", "hooks": "hob's hooks are others: docs/jobs-and-hooks.md",
		"devices": "devices are paired with the other program", "identity": "the identity of a device of the other program", "logs": "logs", "media": "attachments of conversations", "memory": "an index, which hob makes itself",
		"sandboxes": "sandboxes are hob's own", "sessions": "conversations are not imported",
	})
	return nil
}

// clawWorkspace plans the files of a workspace.
func (p *plan) clawWorkspace(dir string) {
	seen := []string{"memory", "skills", "cron", "credentials"}
	for _, f := range []struct{ name, note string }{
		{"AGENTS.md", "read it: it may name tools that hob does not have"},
		{"SOUL.md", ""},
		{"IDENTITY.md", ""},
		{"USER.md", ""},
		{"MEMORY.md", ""},
		{"TOOLS.md", "not part of hob's prompt: the model reads it when AGENTS.md says so"},
		{"HEARTBEAT.md", "hob asks its model about it every 30 minutes; [heartbeat] changes that"},
	} {
		seen = append(seen, f.name)
		p.file(path.Join(dir, f.name), f.name, f.note, nil)
	}
	p.memories(path.Join(dir, "memory"))
	if dir != "." {
		p.skills(path.Join(dir, "skills"), nil)
	}
	p.rest(dir, seen, map[string]string{
		"BOOT.md": "hob runs nothing when it starts", "BOOTSTRAP.md": "it is for the first start of the other program", "canvas": "hob has no canvas",
		"skills": "", "openclaw.json": "hob has other settings: hob setup, hob channels add",
	})
}

// convert makes hob's job. What hob cannot do as it was is an error or a note.
func (j clawJob) convert() (made job, err error) {
	made = job{Name: j.Name, Zone: j.Schedule.TZ, Prompt: j.Payload.Message + j.Payload.Text, Session: "isolated", Deliver: "owner"}
	if j.SessionTarget == "main" {
		made.Session = "main"
	}
	switch j.Schedule.Kind {
	case "cron":
		made.Schedule, err = cron(j.Schedule.Expr)
	case "every":
		made.Schedule, err = every(time.Duration(min(j.Schedule.EveryMS, 1e12)) * time.Millisecond)
	case "at":
		if j.Schedule.AtMS > 0 {
			j.Schedule.At = time.UnixMilli(int64(j.Schedule.AtMS)).UTC().Format(time.RFC3339)
		}
		made.Schedule, err = at(j.Schedule.At, time.UTC) // src/cron/parse.ts: without an offset it is UTC
	default:
		err = fmt.Errorf("hob has no schedule of the kind %q", j.Schedule.Kind)
	}
	_, unknown := location(j.Schedule.TZ)
	err = cmp.Or(err, unknown)
	switch {
	case err != nil: // the schedule comes first
	case j.Payload.Kind != "agentTurn" && j.Payload.Kind != "systemEvent":
		err = fmt.Errorf("it does not ask a model but runs something else (%q); see hob cron add --gate", j.Payload.Kind)
	case strings.TrimSpace(made.Prompt) == "":
		err = errors.New("it has no prompt")
	case j.Trigger.Script != "":
		err = errors.New("it runs only when a script says so; see hob cron add --gate")
	case j.Delivery.Mode == "webhook":
		err = errors.New("its answer goes to a webhook, and hob sends answers to people")
	case j.Delivery.Mode == "none":
		made.Deliver = "none"
	default:
		made.note(j.Delivery.To != "", "its answer goes to you and not to "+j.Delivery.Channel+" "+j.Delivery.To)
	}
	made.note(j.Payload.Model != "", "it uses hob's model and not "+j.Payload.Model)
	made.note(j.Enabled != nil && !*j.Enabled, "it was off")
	made.note(j.AgentID != "" && j.AgentID != "main", "it was a job of the agent "+j.AgentID)
	return made, err
}

// clawConfig plans what the config says: who may write, MCP servers, and workspaces elsewhere.
func (p *plan) clawConfig(name string, c clawConfig, workspace string) {
	list := []string{c.Agent.Workspace, c.Agents.Defaults.Workspace}
	for _, a := range c.Agents.List {
		list = append(list, a.Workspace)
	}
	slices.Sort(list)
	for _, dir := range slices.Compact(list) {
		if dir != "" && (workspace != "workspace" || path.Base(dir) != "workspace") {
			p.leave("other", dir, "a workspace in another place: hob import openclaw %s; hob has one agent in each home", quoteTilde(dir))
		}
	}
	for _, channel := range sorted(c.Channels) {
		p.allowed(name+" channels."+channel, ids(c.Channels[channel].AllowFrom))
	}
	p.mcpServers(name+" mcp.servers", c.MCP.Servers)
}

// sorted are the names of an object.
func sorted[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }

// ids are the ids in a list, which may also be numbers, or in a text with commas.
func ids(setting any) (list []string) {
	several, ok := setting.([]any)
	if !ok {
		return strings.FieldsFunc(fmt.Sprint(setting), func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, v := range several {
		if n, ok := v.(float64); ok {
			v = fmt.Sprintf("%.0f", n)
		}
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// clawSecrets finds the secrets anywhere in a document by the names of their settings.
func (p *plan) clawSecrets(file, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sorted(v) {
			below := strings.TrimPrefix(at+"."+name, ".")
			if text, ok := v[name].(string); ok && (secretName(name) || name == "key") {
				p.secret(file+"/"+below, text)
			} else {
				p.clawSecrets(file, below, v[name])
			}
		}
	case []any:
		for i, one := range v {
			p.clawSecrets(file, fmt.Sprintf("%s.%d", at, i), one)
		}
	}
}

// clawCredentials plans the allow lists of pairings (CHANNEL-allowFrom.json: {"version": 1, "allowFrom": [ID]}) and the keys of models
// (agents/ID/agent/auth-profiles.json: {"profiles": {NAME: {"key": …}}}).
func (p *plan) clawCredentials() {
	for _, from := range p.inside("credentials") {
		var list struct{ AllowFrom []any }
		if !strings.HasSuffix(from, "-allowFrom.json") {
			p.leave("secret", from, "logins and open pairings are not imported: set the channel up again")
		} else if p.object(from, &list) {
			p.allowed(from, ids(list.AllowFrom))
		}
	}
	for _, agent := range p.inside("agents") {
		from := path.Join(agent, "agent", "auth-profiles.json")
		var all any
		if p.object(from, &all) {
			p.clawSecrets(from, "", all)
		}
	}
}
