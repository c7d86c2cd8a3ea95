package work

import (
	"context"
	"database/sql"
	"slices"

	"hob/daemon/event"
	"hob/daemon/store/db"
	"hob/daemon/tasks"
)

// Tasks in one list when the caller names no limit, and at the most.
const (
	defaultTasks = 50
	mostTasks    = 1000
)

// Rows reads hob's own work.
type Rows struct{ Readers *db.Readers }

// Desk is Rows for those who also add tasks.
type Desk struct {
	Rows
	Write func(ctx context.Context, f func(*db.Tx) error) error // runs a transaction
}

// Reserve gives out the number of a new task.
func (d Desk) Reserve(ctx context.Context) (id int64, err error) {
	err = d.Write(ctx, func(tx *db.Tx) error {
		id, err = tx.Reserve("tasks")
		return err
	})
	return id, err
}

// Backlog reads all open tasks, those named, and those that any of these wait for.
func (r Rows) Backlog(ctx context.Context, ids ...int64) (tasks.Backlog, error) {
	doc, err := db.Doc(ids)
	if err != nil {
		return nil, err
	}
	return gather(r.Readers.QueryContext(ctx, related, doc))
}

// Tasks lists tasks: the open ones as they run, then those that have ended, the newest first. f.State "open" leaves the latter out.
func (r Rows) Tasks(ctx context.Context, f event.Filter) ([]tasks.Task, error) {
	if f.Limit <= 0 {
		f.Limit = defaultTasks
	}
	rs, err := r.Readers.QueryContext(ctx, `SELECT * FROM (SELECT `+columns+from+`)
		WHERE ?1 = '' OR state = ?1 OR ?1 = 'open' AND ended = 0 ORDER BY ended > 0, ended DESC, priority DESC, id LIMIT ?2`, f.State, min(f.Limit, mostTasks))
	return db.Collect(rs, err, scan)
}

// Task reads one task.
func (r Rows) Task(ctx context.Context, id int64) (tasks.Task, error) {
	rs, err := r.Readers.QueryContext(ctx, "SELECT "+columns+from+"WHERE k.id = ?", id)
	list, err := db.Collect(rs, err, scan)
	if err == nil && len(list) == 0 {
		err = event.NewFault(event.Missing, "hob tasks list shows what there is", "there is no task %d", id)
	}
	if err != nil {
		return tasks.Task{}, err
	}
	return list[0], nil
}

// Serves reports whether a turn runs a task or the fire of a trigger: what it comes to is an outcome.
func (r Rows) Serves(ctx context.Context, turn int64) (bool, error) {
	var yes bool
	err := r.Readers.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND fire IS NOT NULL) OR EXISTS (SELECT 1 FROM inbox WHERE turn = ?1 AND source = 'task')", turn).Scan(&yes)
	return yes, err
}

// Todos reads the todo list of a session.
func (r Rows) Todos(ctx context.Context, session int64) ([]tasks.Todo, error) {
	rs, err := r.Readers.QueryContext(ctx, "SELECT content, status, active_form FROM todos WHERE session = ? ORDER BY n", session)
	return db.Collect(rs, err, func(rs *sql.Rows) (tasks.Todo, error) {
		var t tasks.Todo
		return t, rs.Scan(&t.Content, &t.Status, &t.ActiveForm)
	})
}

// Tallies sums up the live sessions that plan or have a todo list with something left to do, the oldest first.
func (r Rows) Tallies(ctx context.Context) ([]tasks.Tally, error) {
	rs, err := r.Readers.QueryContext(ctx, `SELECT s.key, p.session IS NOT NULL, coalesce(t.content, ''), coalesce(t.status, ''), coalesce(t.active_form, '')
		FROM sessions s LEFT JOIN plans p ON p.session = s.id LEFT JOIN todos t ON t.session = s.id
		WHERE s.archived = 0 AND (p.session IS NOT NULL OR t.session IS NOT NULL) ORDER BY s.id, t.n`)
	type row struct {
		key  string
		plan bool
		todo tasks.Todo
	}
	rows, err := db.Collect(rs, err, func(rs *sql.Rows) (w row, err error) {
		return w, rs.Scan(&w.key, &w.plan, &w.todo.Content, &w.todo.Status, &w.todo.ActiveForm)
	})
	var sums []tasks.Tally
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(w row) bool { return w.key != rows[0].key })
		if n < 0 {
			n = len(rows)
		}
		var list []tasks.Todo
		for _, w := range rows[:n] {
			if w.todo.Content != "" {
				list = append(list, w.todo)
			}
		}
		sum := tasks.Count(list)
		sum.Session, sum.Plan = rows[0].key, rows[0].plan
		if sum.Plan || sum.Done < sum.Total {
			sums = append(sums, sum)
		}
		rows = rows[n:]
	}
	return sums, err
}
