package triggers

import (
	"context"
	"fmt"
	"slices"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
)

// Sync stores the watches of the config. Watches made at run time stay. A section that is unchanged, or that watches the same files, keeps
// its row. A section with other files starts again, because otherwise all existing files would be reported as new. off lists the sections
// that cannot be used, with the reasons.
func (s Watches) Sync(ctx context.Context, list []Wanted) (off []string, err error) {
	have, err := s.Rows.AllWatches(ctx)
	if err != nil {
		return nil, fmt.Errorf("read watches: %w", err)
	}
	byName := map[string]filewatch.Watch{}
	for _, w := range have {
		byName[w.Name] = w
	}
	for _, one := range list {
		if err := s.sync(ctx, one, byName[one.Name]); err != nil {
			off = append(off, "watches."+one.Name+" is off: "+err.Error())
		}
		delete(byName, one.Name)
	}
	// The rest has no section: rows of the config go, those made at run time stay.
	for _, w := range byName {
		if w.Origin != OriginConfig {
			continue
		}
		if err := s.Rows.Record(ctx, filewatch.Drop{ID: w.ID}); err != nil {
			return off, fmt.Errorf("remove watch %s: %w", w.Name, err)
		}
	}
	return off, nil
}

// sync stores the watch of one section. A watch that was made at run time under the same name is not replaced.
func (s Watches) sync(ctx context.Context, want Wanted, old filewatch.Watch) error {
	if old.ID != 0 && old.Origin != OriginConfig && old.Broken == "" {
		return event.NewFault(event.Clash, "rename one of them", "there is a watch named %s already, made at run time", want.Name)
	}
	w, asked, err := watchOf(want.Name, want.Decode, s.Guard(), s.Now())
	if err != nil {
		return err
	}
	if w.Plain, err = s.Plain(w.Prompt, asked, old.Prompt, old.Plain); err != nil {
		return err
	}
	var changes []tools.Change
	switch {
	case old.ID != 0 && sameWatch(old, w):
		return nil
	// The files are the same, so the snapshot of the old row is still right: only the settings are written.
	case old.ID != 0 && sameFiles(old, w):
		w.ID, w.Created = old.ID, old.Created
	case old.ID != 0:
		// Both changes are one commit: a reload that is cut off leaves the old watch.
		changes = append(changes, filewatch.Drop{ID: old.ID})
	}
	w.Paused = old.Paused
	return s.Rows.Record(ctx, append(changes, filewatch.Put{Watch: w})...)
}

// sameWatch reports whether two watches mean the same.
func sameWatch(a, b filewatch.Watch) bool {
	if a.Broken != b.Broken {
		return false // a row that cannot be read is written again
	}
	a.Trigger, b.Trigger = a.Settings(), b.Settings()
	return scheduler.SameSettings(a, b)
}

// sameFiles reports whether two watches watch the same files.
func sameFiles(a, b filewatch.Watch) bool {
	return slices.Equal(a.Paths, b.Paths) && slices.Equal(a.Include, b.Include) && a.Flat == b.Flat && a.Gitignore == b.Gitignore
}
