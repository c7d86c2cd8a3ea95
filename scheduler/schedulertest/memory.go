package schedulertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// Memory is a scheduler.Store in memory. Like a database it keeps jobs as JSON, and slots under a unique key. Its data outlives a Runner.
// asked, told and notices record what the owner would be told.
// keys holds the job and key of each slot that has a row; it does what a UNIQUE constraint does in a database.
type Memory struct {
	mu      sync.Mutex
	jobs    map[int64]row
	fires   map[int64][]scheduler.Slot
	keys    map[string]bool
	inbox   []event.In
	asked   []string
	tell    []string // "JOB KEY" of the slots to report to the owner
	told    [][]string
	rules   string // hash of the time zone rules
	jumps   []scheduler.ClockJump
	seen    time.Time
	notices []string // notices about the clock
	version int64
	changed chan struct{}
	commits int
	refuse  func(scheduler.Firing) error
}

// row is a stored job. A removed job keeps its row, so that Moved reports the change.
type row struct {
	body    []byte
	due     time.Time
	version int64
	gone    bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{jobs: map[int64]row{}, fires: map[int64][]scheduler.Slot{}, keys: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// Changed signals changes of jobs.
func (m *Memory) Changed() <-chan struct{} { return m.changed }

// Put stores a job; ID 0 adds one.
func (m *Memory) Put(_ context.Context, j scheduler.Job) (scheduler.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j.ID == 0 {
		// Rows are never deleted, so their number gives the next ID.
		j.ID = int64(len(m.jobs) + 1)
	}
	err := m.put(j)
	j.Version = m.version
	return j, err
}

// put stores the JSON of a job. A paused or broken job has no due time.
func (m *Memory) put(j scheduler.Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write job: %w", err)
	}
	due := j.Due
	if j.Paused || j.Broken != "" {
		due = time.Time{}
	}
	m.bump(j.ID, row{body: body, due: due})
	return nil
}

// bump stores a row with a new version and signals the change.
func (m *Memory) bump(id int64, r row) {
	m.version++
	r.version = m.version
	m.jobs[id] = r
	// One waiting signal is enough: the runner reads all changes since the version that it knows.
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Spoil replaces the row of a job by one that cannot be decoded.
func (m *Memory) Spoil(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bump(id, row{body: []byte("{"), due: m.jobs[id].due})
}

// Remove deletes a job but not its fires.
func (m *Memory) Remove(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bump(id, row{gone: true})
}

// Refuse makes every commit fail that contains a firing for which f returns an error. nil: none.
func (m *Memory) Refuse(f func(scheduler.Firing) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = f
}

// Moved implements scheduler.Store.
func (m *Memory) Moved(_ context.Context, since int64) ([]scheduler.Entry, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []scheduler.Entry
	for id, r := range m.jobs {
		if r.version > since {
			list = append(list, scheduler.Entry{ID: id, Due: r.due})
		}
	}
	return list, m.version, nil
}

// Job implements scheduler.Store.
func (m *Memory) Job(_ context.Context, id int64) (scheduler.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.job(id)
}

// job is Job for callers that hold the lock.
func (m *Memory) job(id int64) (scheduler.Job, error) {
	r, ok := m.jobs[id]
	if !ok || r.gone {
		return scheduler.Job{}, event.NewFault(event.Missing, "", "there is no job %d", id)
	}
	var j scheduler.Job
	if err := json.Unmarshal(r.body, &j); err != nil {
		return j, fmt.Errorf("%w: %w", scheduler.ErrUnreadable, err)
	}
	j.Version = r.version
	return j, nil
}

// Fire implements scheduler.Store.
func (m *Memory) Fire(_ context.Context, batch []scheduler.Firing) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// All firings are checked before the first one is stored, because a batch is one transaction.
	for _, f := range batch {
		if m.refuse != nil {
			if err := m.refuse(f); err != nil {
				return err
			}
		}
		// One job that has changed since it was read makes the whole batch fail.
		j, err := m.job(f.Job.ID)
		if err != nil || j.Paused || !j.Due.Equal(f.From) || j.Version != f.Job.Version {
			return scheduler.ErrMoved
		}
	}
	m.commits++
	for _, f := range batch {
		if err := m.fire(f); err != nil {
			return err
		}
	}
	return nil
}

// fire stores one firing. The caller holds the lock and has checked the job.
func (m *Memory) fire(f scheduler.Firing) error {
	j, err := m.job(f.Job.ID)
	if err != nil {
		return err
	}
	j.Last, j.Due = f.Job.Last, f.Job.Due
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	// The runner made this change itself, so the version stays and no signal is sent.
	m.jobs[j.ID] = row{body: body, due: j.Due, version: m.jobs[j.ID].version}
	// An unfinished fire stands for the new slots, if the policy is fold.
	fold := j.Overlap == scheduler.OverlapFold && slices.ContainsFunc(newest(m.fires[j.ID]), unfinished)
	for i, slot := range f.Slots {
		// A slot that has a row already never gets a second one.
		if m.keys[fmt.Sprint(j.ID, slot.Key)] {
			continue
		}
		m.keys[fmt.Sprint(j.ID, slot.Key)] = true
		run := slices.IndexFunc(f.Run, func(q scheduler.Queued) bool { return q.Slot == i })
		if run >= 0 && fold {
			slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.OutcomeCoalesced, "waiting for the last one"
		} else if run >= 0 {
			m.inbox = append(m.inbox, f.Run[run].In)
		}
		m.fires[j.ID] = append(m.fires[j.ID], slot)
		if slot.Tell {
			m.tell = append(m.tell, j.Name+" "+slot.Key)
		}
	}
	if f.Ask != "" {
		m.asked = append(m.asked, f.Ask)
	}
	return nil
}

// newest returns the part of a job's fires that can contain unfinished ones. Searching the fires of a year would be slow.
func newest(list []scheduler.Slot) []scheduler.Slot { return list[max(len(list)-64, 0):] }

// unfinished reports whether a fire has no outcome yet.
func unfinished(s scheduler.Slot) bool { return s.State != scheduler.StateDone }

// Disable implements scheduler.Store.
func (m *Memory) Disable(_ context.Context, id int64, why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.job(id)
	// The row of an unreadable job is replaced by one that only has the reason.
	if err != nil {
		j = scheduler.Job{Trigger: scheduler.Trigger{ID: id}}
	}
	j.Broken = why
	return m.put(j)
}

// Report implements scheduler.Store.
func (m *Memory) Report(context.Context) (later bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// All waiting slots go into one report.
	if len(m.tell) > 0 {
		m.told, m.tell = append(m.told, m.tell), nil
	}
	return false, nil
}

// ZoneRules implements scheduler.Zones.
func (m *Memory) ZoneRules(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rules, nil
}

// Crons implements scheduler.Zones.
func (m *Memory) Crons(_ context.Context, after int64, most int) ([]scheduler.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []scheduler.Job
	for id := after + 1; id <= int64(len(m.jobs)) && len(list) < most; id++ {
		if j, err := m.job(id); err == nil && !j.Due.IsZero() && strings.HasPrefix(j.Spec, "cron ") {
			list = append(list, j)
		}
	}
	return list, nil
}

// Redate implements scheduler.Zones.
func (m *Memory) Redate(_ context.Context, print string, list []scheduler.Redated) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = print
	for _, r := range list {
		j, err := m.job(r.Job.ID)
		// A job that has changed since it was read keeps its due time.
		if err != nil || j.Version != r.Job.Version {
			continue
		}
		j.Due = r.Due
		if err := m.put(j); err != nil {
			return err
		}
	}
	return nil
}

// Told returns the reports, each with its slots ("JOB KEY").
func (m *Memory) Told() [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.told)
}

// Fires returns the rows of a job's slots in the order of their commits.
func (m *Memory) Fires(_ context.Context, id int64) ([]scheduler.Slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.fires[id]), nil
}

// Finish ends all unfinished fires with the outcome ran.
func (m *Memory) Finish(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, all := range m.fires {
		list := newest(all)
		for i := range list {
			if unfinished(list[i]) {
				list[i].State, list[i].Outcome = scheduler.StateDone, scheduler.OutcomeRan
			}
		}
	}
	return nil
}

// Inbox returns the inputs that fires queued.
func (m *Memory) Inbox() []event.In {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.inbox)
}

// Asked returns the questions that were asked.
func (m *Memory) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Commits returns the number of committed batches.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}
