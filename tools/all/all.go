// Package all is the list of hob's tools, in the order in which the model sees them. All builds
// them from the services, which live as long as the process, and the setup, which follows the
// configuration. It calls none of them.
package all

import (
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/netguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/anthropic"
	"hob/tools/automation"
	"hob/tools/calendar"
	"hob/tools/edit"
	"hob/tools/fs"
	"hob/tools/gmail"
	"hob/tools/linkedin"
	"hob/tools/mcp"
	"hob/tools/memory"
	"hob/tools/messaging"
	"hob/tools/runtime"
	"hob/tools/search"
	"hob/tools/sessions"
	"hob/tools/skills"
	"hob/tools/tasks"
	"hob/tools/web"
)

// Artifacts stores large results: exec and read write them, result_read reads them.
type Artifacts interface {
	runtime.Artifacts
	sessions.Artifacts
	fs.Artifacts
	messaging.Artifacts
}

// Triggers are the services for the tools that schedule prompts and watch files.
type Triggers struct {
	Jobs    automation.Jobs
	Gates   automation.Gates
	Watches automation.Watches
}

// Memory holds the services for the tools that read and change hob's memory.
type Memory struct {
	Index memory.Index  // finds passages
	Facts *memory.Facts // guards the files
	Items memory.Items  // context items
}

// Self is what hob knows about itself.
type Self struct {
	Gauge  sessions.Gauge
	Skills skills.Accepted
	Specs  func() []tools.Spec // of the tools that are configured now
}

// Outside holds the services for tools that reach other machines, besides the web.
type Outside struct {
	Resolve web.Resolve // resolves references to secrets
	MCP     mcp.Servers // nil: none

	Calendars calendar.Calendars               // nil: none
	Mail      tools.Account[gmail.Mailbox]     // nil: none
	Usage     tools.Account[*anthropic.Client] // nil: none
	LinkedIn  tools.Account[*linkedin.Client]  // nil: none
}

// Services are the dependencies that live as long as the process.
type Services struct {
	Artifacts Artifacts
	Seen      *fs.Seen // what each session has read or written
	Memory
	Spawn    *sys.Group
	Registry *runtime.Registry // background commands
	Triggers
	Addresses messaging.Addresses
	Backlog   tasks.Rows
	Prompts   event.Prompts // who carries out a task
	Agents    sessions.Agents
	Talks     sessions.Talks
	Models    sessions.Models
	Self
	Outside
	Marked   func() []string // the paths that count as foreign
	Events   []string        // the types of hob's event stream
	Environ  []string        // hob's own environment
	Instance string          // marks the processes of this instance; no slash in it
	State    string          // hob's state folder, absolute
	Journal  string          // the folder for the journals of edits, in State
	Reader   []string        // the command that runs document.Helper; empty: documents and pictures are refused
}

// Setup holds the dependencies that a change of the configuration replaces.
type Setup struct {
	Guard   *fsguard.Guard
	Sandbox *sandbox.Sandbox // nil: commands are not confined
	Hosts   map[string]runtime.Host
	Limits  runtime.Limits
	Client  *netguard.Client
	Secrets map[string]web.Secret
	Search  web.SearchDeps // Engine, URL and Key
	Allowed func(tool string) bool
}

// All returns the tools. A new tool is a line here.
func All(s Services, c Setup) []tools.Tool {
	exec := runtime.ExecDeps{
		Guard: c.Guard, Artifacts: s.Artifacts, Spawn: s.Spawn, Registry: s.Registry, Sandbox: c.Sandbox, Hosts: c.Hosts, Marked: s.Marked,
		Environ: s.Environ, Instance: s.Instance, Limits: c.Limits,
	}
	files := edit.Deps{Guard: c.Guard, Seen: s.Seen, Journal: s.Journal}
	find := search.Deps{Guard: c.Guard, State: s.State}
	c.Search.Client, c.Search.Resolve = c.Client, s.Resolve
	pages := web.FetchDeps{Client: c.Client, Artifacts: s.Artifacts, Helper: s.Reader}
	fetch := web.NewFetch(pages)
	pages.Fresh = true
	items := memory.NewContext(memory.ContextDeps{Items: s.Items, Guard: c.Guard, Facts: s.Facts, Index: s.Index, Fetch: web.NewFetch(pages), Allowed: c.Allowed})
	return append([]tools.Tool{
		fs.NewRead(fs.ReadDeps{Guard: c.Guard, Seen: s.Seen, Artifacts: s.Artifacts, Spawn: s.Spawn, Helper: s.Reader}),
		fs.NewWrite(c.Guard, s.Seen),
		edit.NewEdit(files),
		edit.NewPatch(files),
		search.NewGrep(find),
		search.NewGlob(find),
		fs.NewLs(c.Guard),
		runtime.NewExec(exec),
		runtime.NewProcess(exec),
		automation.NewCron(s.Jobs, s.Gates),
		messaging.NewMessage(s.Addresses, c.Guard, s.Artifacts, s.Reader),
		messaging.NewAsk(),
		memory.NewSearch(c.Guard, s.Index),
		memory.NewGet(c.Guard),
		memory.NewWrite(c.Guard, s.Facts),
		sessions.NewSessionsSpawn(s.Agents, s.Models),
		sessions.NewResultRead(s.Artifacts),
		tasks.NewTodo(),
		skills.New(s.Skills),
		fetch,
		automation.NewWatch(s.Watches, c.Guard),
		memory.NewForget(c.Guard, s.Facts),
		tasks.NewPlan(),
		edit.NewNotebook(files),
		runtime.NewTmux(runtime.TmuxDeps{Guard: c.Guard, Sandbox: c.Sandbox, Environ: s.Environ, Instance: s.Instance}),
		sessions.NewAgentsList(s.Gauge),
		sessions.NewSessionsList(s.Talks),
		sessions.NewSessionsHistory(s.Talks),
		sessions.NewSessionsSend(s.Talks),
		sessions.NewSubagents(s.Agents, s.Talks),
		sessions.NewSessionsStatus(s.Talks, s.Gauge),
		sessions.NewWaitTask(s.Events),
		tasks.NewTaskAdd(s.Backlog, s.Prompts),
		tasks.NewTaskList(s.Backlog),
		tasks.NewTaskUpdate(s.Backlog, s.Prompts),
		tasks.NewCompleteTask(s.Backlog),
		tasks.NewFailTask(s.Backlog),
		skills.NewRefresh(skills.Facts{Guard: c.Guard, Specs: s.Specs, Skills: s.Skills}),
		web.NewSearch(c.Search),
		web.NewHTTP(web.HTTPDeps{Client: c.Client, Secrets: c.Secrets, Resolve: s.Resolve}),
		mcp.NewResources(s.MCP),
		mcp.NewRead(s.MCP),
		calendar.NewList(s.Calendars),
		calendar.NewGet(s.Calendars),
		calendar.NewCreate(s.Calendars),
		gmail.NewSearch(s.Mail),
		gmail.NewRead(s.Mail, s.Artifacts),
		gmail.NewSend(s.Mail, s.Addresses),
		anthropic.New(s.Usage),
		linkedin.NewJobs(s.LinkedIn),
		linkedin.NewDetail(s.LinkedIn),
	}, items...)
}
