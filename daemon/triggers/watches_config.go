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
	"hob/scheduler/filewatch"
)

// watchOf makes the watch of a section [watches.NAME]. plain is the key of that name, nil without it.
// g resolves the paths and refuses hob's own state. The time is the watch's creation.
func watchOf(name string, decode func(any) error, g *fsguard.Guard, now time.Time) (w filewatch.Watch, plain *bool, err error) {
	var d filewatch.Draft
	if err := decode(&d); err != nil {
		return filewatch.Watch{}, nil, err
	}
	allow, wrong := policy.RightsOfOthers(strings.Join(d.Rights, ","), fsguard.Absolute)
	d.Name, d.Origin, d.Trust, d.Typed, d.Permissions.Allow = name, OriginConfig, watchTrust, true, allow
	w, err = filewatch.New(d, g, now)
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("allow: %w", wrong))
	}
	// The section was written by the owner, so its runs may read the files that it names.
	w.Allow = append(w.Allow, readable(w)...)
	return w, d.Plain, err
}

// CheckWatch returns the mistakes in a section. Each line of the error begins with the key that it is about. It does not depend on hob's own
// folders. waits are the paths that do not exist here.
func CheckWatch(decode func(any) error, now time.Time) (w filewatch.Watch, waits []string, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then "~" leads nowhere
	}
	// The guard needs some folders. No watch may depend on them, because the check also runs where hob does not.
	nowhere := filepath.Join(os.TempDir(), "hob-nowhere")
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(nowhere, "workspace"), State: filepath.Join(nowhere, "state"), Home: home})
	if err != nil {
		return w, nil, fmt.Errorf("paths: %w", err)
	}
	w, _, err = watchOf("x", decode, g, now)
	return w, absentPaths(w.Paths, g), err
}

// WatchKeys describes the keys of a section [watches.NAME].
func WatchKeys() []schema.Key {
	return schema.Describe(filewatch.Draft{}, scheduler.Notes(filewatch.Fields()))
}
