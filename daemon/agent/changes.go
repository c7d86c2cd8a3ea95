package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Limits of a note about a changed workspace file, in characters: for the lines that are new and for those that are gone.
const (
	maxNewChars  = 8_000
	maxGoneChars = 2_000
)

// noteChanges tells the session which workspace files have changed since it was shown them. The prefix stays as it is, so that the
// provider's cache stays valid. The changes follow the turn's input as notes. It runs before the first request of a turn, and returns true
// if it has committed notes.
func (r modelCalls) noteChanges(ctx context.Context, st turn.Snapshot, info llm.Info) (bool, error) {
	asked := slices.ContainsFunc(st.Steps, func(s turn.Step) bool { return s.Kind == turn.ModelStep && s.State != turn.StepUnknown })
	if asked || info.Interpreter || st.Turn.Parent != 0 || st.Turn.Key == heartbeatSession {
		return false, nil
	}
	guest := st.Turn.Guest
	seen, err := r.shown(ctx, st.Turn.Session, guest)
	if err != nil {
		return false, fmt.Errorf("read what session %s was shown: %w", st.Turn.Key, err)
	}
	if seen == nil {
		return false, nil
	}
	now := r.run.set.System(guest)
	notes := changeNotes(seen, now, info)
	if len(notes) == 0 {
		return false, nil
	}
	var c turn.Commit
	for _, text := range notes {
		it := r.run.item(st, 0, llm.Note, text)
		it.Role, it.Source, it.Trust = llm.User, "hob", st.Turn.Asker
		c.Items = append(c.Items, it)
	}
	c.Changes = append(c.Changes, turn.Shown{Session: st.Turn.Session, Guest: guest, Sections: now})
	err = r.run.commit(ctx, c)
	r.run.opening = nil
	return true, err
}

// shown returns the sections that the session was shown last. The claim of a new turn has brought them.
func (r modelCalls) shown(ctx context.Context, session int64, guest bool) ([]turn.Section, error) {
	if r.run.opening != nil {
		return r.run.opening.Shown, nil
	}
	return r.run.thread.Prompts.Shown(ctx, session, guest)
}

// changeNotes returns a note for each section that differs. hob's own sections do not count: they change with the config, which makes a new prefix.
func changeNotes(seen, now []turn.Section, info llm.Info) []string {
	var notes []string
	most := maxNewChars
	if info.Small() {
		most = min(most, shareOf(info))
	}
	for _, s := range now {
		was, had := sectionOf(seen, s.Name)
		switch {
		case isOwnSection(s.Name) || was == s.Text:
		case !had:
			notes = append(notes, fmt.Sprintf("[hob] %s is new:\n%s", s.Name, event.Shorten(s.Text, most)))
		default:
			notes = append(notes, changeNote(s.Name, was, s.Text, most))
		}
	}
	for _, s := range seen {
		if _, has := sectionOf(now, s.Name); !has && !isOwnSection(s.Name) {
			notes = append(notes, fmt.Sprintf("[hob] %s is gone, or has nothing for you any more. What you were shown of it no longer holds.", s.Name))
		}
	}
	return notes
}

// sectionOf finds a section by its name.
func sectionOf(list []turn.Section, name string) (string, bool) {
	i := slices.IndexFunc(list, func(s turn.Section) bool { return s.Name == name })
	if i < 0 {
		return "", false
	}
	return list[i].Text, true
}

// changeNote shows the lines that differ, between the first and the last one that do.
func changeNote(name, was, is string, most int) string {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	text := fmt.Sprintf("[hob] %s has changed since you were shown it.", name)
	if gone := before[head : len(before)-tail]; len(gone) > 0 {
		text += "\nNo longer in it:\n" + event.Shorten(strings.Join(gone, "\n"), min(maxGoneChars, most))
	}
	if added := after[head : len(after)-tail]; len(added) > 0 {
		text += "\nNow in it:\n" + event.Shorten(strings.Join(added, "\n"), most)
	}
	return text
}
