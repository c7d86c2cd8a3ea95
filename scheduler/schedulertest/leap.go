package schedulertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/scheduler"
)

var _ scheduler.Leaps = (*Memory)(nil)

// Leap is part of scheduler.Leaps.
func (m *Memory) Leap(context.Context) (scheduler.Leap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leap, nil
}

// Leapt is part of scheduler.Leaps.
func (m *Memory) Leapt(_ context.Context, l scheduler.Leap) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leap, m.leaps = l, append(m.leaps, l.Told())
	return nil
}

// Recall is part of scheduler.Leaps.
func (m *Memory) Recall(_ context.Context, l scheduler.Leap, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leap, m.leaps = l.Left(now), append(m.leaps, l.Over(now))
	for id := range m.jobs {
		j, err := m.job(id)
		if err != nil {
			continue
		}
		j.Last = m.free(id, now)
		if j, err = scheduler.Recall(j, l.From, now); err != nil {
			continue
		}
		if err := m.put(j); err != nil {
			return err
		}
	}
	return nil
}

// free takes the keys from slots that have not come, deletes the rows of those that did not run, and returns the newest slot that has come.
func (m *Memory) free(id int64, now time.Time) (last time.Time) {
	var kept []scheduler.Slot
	for _, s := range m.fires[id] {
		if s.Key == scheduler.Key(s.Due) && s.Due.After(now) {
			delete(m.keys, fmt.Sprint(id, s.Key))
			s.Key = "ahead:" + s.Key
			if s.State == scheduler.StateDone && s.Outcome != scheduler.Ran {
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

// Leaps lists what the owner was told of the clock.
func (m *Memory) Leaps() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.leaps)
}
