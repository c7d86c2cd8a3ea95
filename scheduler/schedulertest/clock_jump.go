package schedulertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/scheduler"
)

var _ scheduler.ClockJumps = (*Memory)(nil)

// Jumps implements scheduler.ClockJumps.
func (m *Memory) Jumps(context.Context) ([]scheduler.ClockJump, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.jumps), m.seen, nil
}

// Seen sets when the previous run was last seen.
func (m *Memory) Seen(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = at
}

// NoteJumps implements scheduler.ClockJumps.
func (m *Memory) NoteJumps(_ context.Context, list []scheduler.ClockJump) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jumps = slices.Clone(list)
	if len(list) > 0 {
		if text := list[len(list)-1].Notice(time.UTC); text != "" {
			m.notices = append(m.notices, text)
		}
	}
	return nil
}

// NoteHold implements scheduler.ClockJumps.
func (m *Memory) NoteHold(_ context.Context, l scheduler.ClockJump) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notices = append(m.notices, l.HoldNotice(time.UTC))
	return nil
}

// UndoJump implements scheduler.ClockJumps.
func (m *Memory) UndoJump(_ context.Context, l scheduler.ClockJump, rest []scheduler.ClockJump, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jumps, m.notices = slices.Clone(rest), append(m.notices, l.ReturnNotice(now, time.UTC))
	// Each job gets a due time by the present clock. A job that cannot be read or used keeps its row.
	for id := range m.jobs {
		j, err := m.job(id)
		if err != nil {
			continue
		}
		j.Last = m.free(id, now)
		if j, err = scheduler.DueAfterJump(j, l.From, now); err != nil {
			continue
		}
		if err := m.put(j); err != nil {
			return err
		}
	}
	return nil
}

// free renames the keys of slots after now, deletes the rows of those that did not run, and returns the newest slot up to now.
func (m *Memory) free(id int64, now time.Time) (last time.Time) {
	var kept []scheduler.Slot
	for _, s := range m.fires[id] {
		// Only rows of the schedule have such a key; manual runs have another.
		if s.Key == scheduler.Key(s.Due) && s.Due.After(now) {
			// Without its key the slot can fire again when its time comes.
			delete(m.keys, fmt.Sprint(id, s.Key))
			s.Key = "ahead:" + s.Key
			if s.State == scheduler.StateDone && s.Outcome != scheduler.OutcomeRan {
				continue
			}
		} else if s.Due.After(last) && !s.Due.After(now) {
			last = s.Due
		}
		kept = append(kept, s)
	}
	m.fires[id] = kept
	return last
}

// JumpNotices returns the notices about the clock.
func (m *Memory) JumpNotices() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.notices)
}
