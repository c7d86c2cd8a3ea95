package triggers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler"
	"hob/scheduler/watch"
)

// Section is [watches.NAME] of the config.
type WatchSection struct {
	Paths     []string `toml:"paths"`
	Include   []string `toml:"include"`
	Events    []string `toml:"events"`
	Settle    string   `toml:"settle"`
	Prompt    string   `toml:"prompt"`
	Deliver   string   `toml:"deliver"`
	Flat      bool     `toml:"flat"`
	Gitignore bool     `toml:"gitignore"`
	Own       bool     `toml:"own"`
	Poll      string   `toml:"poll"`
	Allow     []string `toml:"allow"`
}

// watch makes the watch that a section asks for.
func (in WatchSection) watch(name string, g *fsguard.Guard, now time.Time) (watch.Watch, error) {
	allow, wrong := policy.RightsOfOthers(strings.Join(in.Allow, ","), fsguard.Absolute)
	w, err := watch.New(watch.Draft{
		Name: name, Prompt: in.Prompt, Paths: in.Paths, Include: in.Include, Events: in.Events, Settle: in.Settle, Poll: in.Poll, Flat: in.Flat, Gitignore: in.Gitignore,
		Own: in.Own, Deliver: in.Deliver, Trust: watchTrust, Typed: true, Mandate: scheduler.Mandate{Allow: allow}, Origin: OriginConfig,
	}, g, now)
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("allow: %w", wrong))
	}
	w.Allow = append(w.Allow, readable(w)...)
	return w, err
}

// Check says what is wrong with a section: its lines begin with the key that they are about. Where hob's own folders are does not matter.
func CheckWatch(decode func(any) error, now time.Time) error {
	var in WatchSection
	if err := decode(&in); err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then "~" leads nowhere
	}
	nowhere := filepath.Join(os.TempDir(), "hob-nowhere")
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(nowhere, "workspace"), State: filepath.Join(nowhere, "state"), Home: home})
	if err != nil {
		return fmt.Errorf("paths: %w", err)
	}
	_, err = in.watch("x", g, now)
	return err
}

// Notes describe the keys of a section.
func WatchNotes() []schema.Note {
	return []schema.Note{
		{Name: "paths", Unset: "a mistake", Example: `["~/Downloads/*.pdf"]`, Doc: "Files, folders and globs that are watched, relative ones in the workspace; there must be one."},
		{Name: "prompt", Unset: "a mistake", Example: `"say: there is a new file"`, Doc: "What is to be done when they change; it must be there."},
		{Name: "include", Unset: "all files", Example: `["*.pdf", "docs/**"]`, Doc: "Only files below a folder that match one of these globs."},
		{Name: "events", Unset: "all", Example: `["create", "write"]`, Pattern: `^(create|write|remove|rename)$`, Doc: "The kinds of changes that count."},
		{Name: "settle", Unset: "`2s`", Example: `"2s"`, Doc: "How long a file must have rested before it is told; 200ms to 1h."},
		{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
		{Name: "flat", Example: "true", Doc: "Leave subfolders out."},
		{Name: "gitignore", Example: "true", Doc: "Leave out what .gitignore leaves out."},
		{Name: "own", Example: "true", Doc: "What hob's own file tools write counts too."},
		{Name: "poll", Unset: "hob is told by the system", Example: `"30s"`, Doc: "Look this often instead of waiting for events; 1s to 24h."},
		{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that it has without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`; what is watched may be read."},
	}
}
