// Package all is the list of hob's tools, in the order in which the model sees them. It makes them; it calls none.
package all

import (
	"hob/daemon/fsguard"
	"hob/daemon/spawn"
	"hob/tools"
	"hob/tools/automation"
	"hob/tools/edit"
	"hob/tools/fs"
	"hob/tools/messaging"
	"hob/tools/runtime"
	"hob/tools/sessions"
	"hob/tools/work"
)

// Artifacts is the shelf of large results: exec fills it, result_read reads it.
type Artifacts interface {
	runtime.Artifacts
	sessions.Artifacts
}

// Deps is what the tools work with.
type Deps struct {
	Guard     *fsguard.Guard
	Seen      *fs.Seen // what each session has read; one for the life of the process
	Spawn     *spawn.Group
	Artifacts Artifacts
	Jobs      automation.Jobs
	Addresses messaging.Addresses
	Backlog   work.Backlog
	Journal   string   // the folder in which changes of several files are written down before they are made
	Events    []string // the types of hob's event stream
	Environ   []string // hob's own environment
	Instance  string   // marks the processes of this home; no slash in it
	Exec      runtime.Limits
}

// All lists the tools. A new one is a line here.
func All(d Deps) []tools.Tool {
	e := edit.Deps{Guard: d.Guard, Seen: d.Seen, Journal: d.Journal}
	return []tools.Tool{
		fs.NewRead(d.Guard, d.Seen),
		fs.NewWrite(d.Guard, d.Seen),
		fs.NewLs(d.Guard),
		edit.NewEdit(e),
		edit.NewPatch(e),
		edit.NewNotebook(e),
		runtime.NewExec(runtime.ExecDeps{
			Guard: d.Guard, Artifacts: d.Artifacts, Spawn: d.Spawn, Environ: d.Environ, Instance: d.Instance, Limits: d.Exec,
		}),
		automation.NewCron(d.Jobs),
		messaging.NewMessage(d.Addresses, d.Guard),
		messaging.NewAsk(),
		sessions.NewResultRead(d.Artifacts),
		sessions.NewWaitTask(d.Events),
		work.NewTodo(),
		work.NewPlan(),
		work.NewTaskAdd(d.Backlog),
		work.NewTaskList(d.Backlog),
		work.NewTaskUpdate(d.Backlog),
		work.NewCompleteTask(d.Backlog),
		work.NewFailTask(d.Backlog),
	}
}
