package store

import (
	"context"
	"database/sql"
	"slices"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/tools/tasks"
)

// The default and the largest number of tasks in a list.
const (
	defaultTasks = 50
	mostTasks    = 1000
)

// Tasks holds the backlog and the todo lists. It is safe for concurrent use.
type Tasks struct{ core *core }

// Reserve assigns the number of a new task.
func (r Tasks) Reserve(ctx context.Context) (id int64, err error) {
	err = r.core.write(ctx, func(tx *Tx) error {
		id, err = tx.Reserve("tasks")
		return err
	})
	return id, err
}

// Backlog reads all open tasks, the given ones, and those that these wait for.
func (r Tasks) Backlog(ctx context.Context, ids ...int64) (tasks.Backlog, error) {
	doc, err := sqlite.Doc(ids)
	if err != nil {
		return nil, err
	}
	return collectBacklog(r.core.read().QueryContext(ctx, relatedTasks, doc))
}

// Tasks lists tasks: the open ones in the order in which they run, then the ended ones, newest first. The state "open" omits the ended
// ones.
func (r Tasks) Tasks(ctx context.Context, f event.Filter) ([]tasks.Task, error) {
	if f.Limit <= 0 {
		f.Limit = defaultTasks
	}
	rs, err := r.core.read().QueryContext(ctx, `SELECT * FROM (SELECT `+taskColumns+taskTables+`)
		WHERE ?1 = '' OR state = ?1 OR ?1 = 'open' AND ended = 0 ORDER BY ended > 0, ended DESC, priority DESC, id LIMIT ?2`, f.State, min(f.Limit, mostTasks))
	return sqlite.Collect(rs, err, scanTask)
}

// Task reads one task.
func (r Tasks) Task(ctx context.Context, id int64) (tasks.Task, error) {
	rs, err := r.core.read().QueryContext(ctx, "SELECT "+taskColumns+taskTables+"WHERE k.id = ?", id)
	list, err := sqlite.Collect(rs, err, scanTask)
	return first(list, err, event.NewFault(event.Missing, "hob tasks list shows what there is", "there is no task %d", id))
}

// Serves reports whether a turn runs a task or a fire. Its text is then a result.
func (r Tasks) Serves(ctx context.Context, turn int64) (bool, error) {
	var yes bool
	err := r.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND fire IS NOT NULL) OR EXISTS (SELECT 1 FROM inbox WHERE turn = ?1 AND source = 'task')", turn).Scan(&yes)
	return yes, err
}

// Todos reads the todo list of a session.
func (r Tasks) Todos(ctx context.Context, session int64) ([]tasks.Todo, error) {
	rs, err := r.core.read().QueryContext(ctx, "SELECT content, status, active_form FROM todos WHERE session = ? ORDER BY n", session)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (t tasks.Todo, err error) {
		return t, rs.Scan(&t.Content, &t.Status, &t.ActiveForm)
	})
}

// Tallies sums up the live sessions that are in plan mode or have unfinished todos, oldest first.
func (r Tasks) Tallies(ctx context.Context) ([]tasks.Tally, error) {
	rs, err := r.core.read().QueryContext(ctx, `SELECT s.key, p.session IS NOT NULL, coalesce(t.content, ''), coalesce(t.status, ''), coalesce(t.active_form, '')
		FROM sessions s LEFT JOIN plans p ON p.session = s.id LEFT JOIN todos t ON t.session = s.id
		WHERE s.archived = 0 AND s.id IN (SELECT session FROM plans UNION ALL SELECT session FROM todos) ORDER BY s.id, t.n`)
	type row struct {
		key  string
		plan bool
		todo tasks.Todo
	}
	rows, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (w row, err error) {
		return w, rs.Scan(&w.key, &w.plan, &w.todo.Content, &w.todo.Status, &w.todo.ActiveForm)
	})
	var sums []tasks.Tally
	// The rows are sorted by session. Each round takes those of one session.
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
