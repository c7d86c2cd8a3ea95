package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// hermesJob is a job of cron/jobs.json (NousResearch/hermes-agent, cron/jobs.py: create_job, parse_schedule).
type hermesJob struct {
	Name, Prompt, Script, Deliver, Model string
	Skills                               []string
	NoAgent                              bool `json:"no_agent"`
	Schedule                             struct {
		Kind, Expr, Display string
		RunAt               string `json:"run_at"`
		Minutes             float64
	}
	Repeat struct{ Times *float64 }
}

// hermes plans the import of ~/.hermes, or of one of its profiles. The layout is that of website/docs/user-guide/configuration.md of
// NousResearch/hermes-agent ("Directory Structure").
func hermes(_ context.Context, p *plan) error {
	if !p.folder.is(hermesSettings, true) && !p.folder.is("SOUL.md", true) && !p.folder.is("memories", false) && !p.folder.is("cron", false) {
		return errors.New("it has neither config.yaml nor SOUL.md, memories or cron")
	}
	p.file("SOUL.md", "SOUL.md", "", nil)
	p.file("AGENTS.md", "AGENTS.md", "read it: it may name tools that hob does not have", nil)
	// tools/memory_tool.py: ENTRY_DELIMITER is a paragraph sign in a line of its own.
	entries := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n§\n"), []byte("\n\n")) }
	p.file("memories/MEMORY.md", "MEMORY.md", "", entries)
	p.file("memories/USER.md", "USER.md", "", entries)
	p.skills("skills", p.hermesBundled())
	zone := p.hermesConfig()
	planJobs(p, p.storedJobs(), func(j hermesJob) (job, error) { return j.convert(zone) })
	p.hermesPeople()
	p.rest(".", []string{"SOUL.md", "AGENTS.md", "memories", "skills", "cron", "pairing", "platforms"}, map[string]string{
		hermesSettings: "the rest of it: hob has other settings: hob setup, hob channels add", "auth.json": "logins are not imported: hob model login",
		"sessions": "conversations are not imported", "state.db": "conversations are not imported", "logs": "logs",
		"profiles": "each profile is another agent: hob import hermes PROFILE, with a home of its own", "plugins": "hob has no plug-ins; MCP servers add tools",
		"hooks": "hob's hooks are others: docs/jobs-and-hooks.md", "skins": "hob has no themes", "hermes-agent": "the other program itself",
	})
	return nil
}

// hermesBundled reads which skills came with Hermes: lines NAME:HASH (tools/skills_sync.py).
func (p *plan) hermesBundled() map[string]bool {
	bundled := map[string]bool{}
	text, err := p.folder.text("skills/.bundled_manifest")
	if err != nil {
		return bundled // without the list every skill is imported, and still not in use before it is accepted
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		bundled[name] = true
	}
	return bundled
}

// hermesSettings are the settings (cli-config.yaml.example).
const hermesSettings = "config.yaml"

// hermesConfig plans what the settings have: people, secrets and MCP servers. It returns the time zone of the jobs, "" if none is set.
func (p *plan) hermesConfig() (zone string) {
	text, err := p.folder.text(hermesSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var all map[string]any
	var some struct {
		Timezone string
		Servers  map[string]any `yaml:"mcp_servers"`
	}
	if err == nil {
		err = errors.Join(yaml.Unmarshal(text, &all), yaml.Unmarshal(text, &some))
	}
	if err != nil {
		p.leave("other", hermesSettings, "it cannot be used: %w", err)
		return ""
	}
	p.hermesAllowed("", all)
	p.clawSecrets(hermesSettings, "", all)
	p.mcpServers(hermesSettings+" mcp_servers", some.Servers)
	return some.Timezone
}

// hermesAllowed finds the allow lists of the platforms, which are in sections of the settings: a list of ids, or a text with commas
// (plugins/platforms/*/adapter.py, _apply_yaml_config).
func (p *plan) hermesAllowed(at string, section map[string]any) {
	list := regexp.MustCompile(`^(group_)?allow(ed)?_(from|users|chats)$`)
	for _, name := range sorted(section) {
		below := strings.TrimPrefix(at+"."+name, ".")
		if deeper, ok := section[name].(map[string]any); ok {
			p.hermesAllowed(below, deeper)
		} else if section[name] != nil && list.MatchString(name) {
			p.allowed(hermesSettings+" "+below, ids(section[name]))
		}
	}
}

// convert makes hob's job. What hob cannot do as it was is an error or a note.
func (j hermesJob) convert(zone string) (made job, err error) {
	local, unknown := location(zone)
	made = job{Name: j.Name, Zone: zone, Prompt: j.Prompt, Session: "isolated", Deliver: "owner"}
	switch j.Schedule.Kind {
	case "cron":
		made.Schedule, err = cron(secondsFirst(j.Schedule.Expr))
	case "interval":
		made.Schedule, err = every(time.Duration(min(j.Schedule.Minutes, 1e8)) * time.Minute)
	case "once":
		if unknown == nil { // Hermes adds the offset of its zone when it makes a job: a time without one was written by hand
			made.Schedule, err = at(j.Schedule.RunAt, local)
		}
	default:
		err = fmt.Errorf("hob has no schedule of the kind %q", j.Schedule.Kind)
	}
	err = cmp.Or(err, unknown)
	switch {
	case err != nil: // the schedule comes first
	case j.NoAgent || j.Script != "":
		err = errors.New("it runs a script; see hob cron add --gate")
	case strings.TrimSpace(j.Prompt) == "":
		err = errors.New("it has no prompt")
	case j.Repeat.Times != nil && j.Schedule.Kind != "once":
		err = fmt.Errorf("it ends after %.0f runs, and a job of hob does not count its runs", *j.Repeat.Times)
	case j.Deliver == "local":
		made.Deliver = "none"
	default:
		made.note(j.Deliver != "" && j.Deliver != "origin", "its answer goes to you and not to "+j.Deliver)
	}
	made.note(len(j.Skills) > 0, "it loads the skills "+strings.Join(j.Skills, ", ")+": name them in its prompt")
	made.note(j.Model != "", "it uses hob's model and not "+j.Model)
	return made, err
}

// secondsFirst moves the seconds to where hob has them: the parser of Hermes reads them from the sixth field (croniter, README.rst, "About second repeats").
func secondsFirst(cron string) string {
	fields := strings.Fields(cron)
	if len(fields) != 6 {
		return cron
	}
	return strings.Join(slices.Concat(fields[5:], fields[:5]), " ")
}

// hermesPeople plans the secrets of .env and the allow lists: there (PLATFORM_ALLOWED_USERS) and in PLATFORM-approved.json, an object whose
// names are the ids (gateway/pairing.py).
func (p *plan) hermesPeople() {
	p.env(".env", func(name, value string) {
		if strings.HasSuffix(name, "_ALLOWED_USERS") {
			p.allowed(".env "+name, ids(value))
		}
	})
	for _, dir := range []string{"pairing", "platforms/pairing"} {
		for _, from := range p.inside(dir) {
			var people map[string]any
			if strings.HasSuffix(from, "-approved.json") && p.object(from, &people) { // others are open pairings and rate limits
				p.allowed(from, sorted(people))
			}
		}
	}
}
