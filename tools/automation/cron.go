package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/scheduler"
	"hob/tools"
)

// maxRuns is how many slots the action runs shows.
const maxRuns = 20

// CronInput is the input of cron.
type CronInput struct {
	Action string `json:"action" jsonschema:"what to do" enum:"list,add,update,remove,pause,resume,run,runs"`
	ID     int64  `json:"id,omitempty" jsonschema:"job; or name" min:"1"`
	scheduler.Draft
}

// CronOutput is the data that cron returns.
type CronOutput struct {
	Jobs []scheduler.View `json:"jobs,omitempty" jsonschema:"the jobs concerned"`
	Runs []Run            `json:"runs,omitempty" jsonschema:"of action runs: slots, newest first"`
}

// NewCron returns the tool cron, which schedules prompts.
//
// A call runs in two steps. The intent checks the fields, works the wished job out in full and lists what the user has to allow: the
// schedule, rights of the job, the addresses it answers to, and what its gate touches. The run works it out again and returns the row to
// store; the store commits it together with the result of the call.
func NewCron(jobs Jobs, gates Gates) tools.Tool {
	c := cron{jobs, gates}
	return tools.New[CronInput, CronOutput](tools.Spec{
		Name: "cron", Group: "automation", Core: true, Positional: "action", Example: "add --schedule 'every weekday at 9' --prompt 'brief me'",
		Description: "Schedule prompts and reminders.",
	}, c.intent, c.run)
}

// cron is the tool cron. It plans changes of jobs and stores nothing itself.
type cron struct {
	jobs  Jobs
	gates Gates
}

// intent describes what a call would do, for the decision whether it needs approval.
func (c cron) intent(ctx context.Context, call tools.Call, in CronInput) (tools.Intent, error) {
	if err := complete(in); err != nil {
		return tools.Intent{}, err
	}
	i := tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: summary(in)}
	if in.Action == "list" || in.Action == "runs" {
		i.Effect = tools.Read
	}
	if in.Allow != "" && in.Allow != scheduler.NoRights { // the job will do without approval what other turns need one for
		i.Scopes = append(i.Scopes, tools.Config)
		i.Warnings = append(i.Warnings, "the job may then use "+in.Allow+" without asking")
	}
	job, err := c.planned(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	// The gate runs without anybody watching, so the owner allows what it touches now.
	if err := c.gated(ctx, call, in, job, &i); err != nil {
		return tools.Intent{}, err
	}
	// The permission rules check whether the address may be written to at all.
	if to := deliverTo(in, job); to != "" && to != event.ToNone {
		i.Addresses = []event.Address{to}
		// An answer to the owner, or to where the call came from, needs no further permission.
		if to != event.ToOwner && to != call.ReplyTo {
			i.Scopes = append(i.Scopes, tools.Messages)
		}
	}
	// An approval is for these bytes: every field of the call, so that none can be changed after the owner has seen it.
	i.Canonical, err = tools.CanonicalCall("cron", in)
	return i, err
}

// planned returns the job that a call concerns, as it is now; the zero View for a new job and for lists. It also works out the wished job,
// so that the user is not asked to approve a call that would be refused later.
func (c cron) planned(ctx context.Context, call tools.Call, in CronInput) (job scheduler.View, err error) {
	switch in.Action {
	case "list", "runs":
		return scheduler.View{}, nil
	case "add":
	default:
		if job, err = c.find(ctx, in); err != nil {
			return scheduler.View{}, err
		}
	}
	if in.Action == "add" || in.Action == "update" {
		_, _, err = c.compute(ctx, call, in, job)
	}
	return job, err
}

// deliverTo returns the address that the job will answer after the call: the given one, or the job's own. An update or a run needs a new
// approval of that address, even if it was approved before.
func deliverTo(in CronInput, job scheduler.View) event.Address {
	switch {
	case in.Deliver != "":
		return event.Address(strings.TrimSpace(in.Deliver))
	case in.Action == "update", in.Action == "run":
		return job.Deliver
	}
	return ""
}

// rightForm matches the form of a right. The scheduler checks its value.
var rightForm = sys.Regexp(`^(exec|net(:.+)?|(read|write):[/~].*|message:.+|mcp:[a-z0-9_-]+|account:[a-z][a-z0-9_-]*(:write)?)$`)

// complete lists all fields that are missing or not allowed for the action, in one error.
func complete(in CronInput) error {
	faults := in.Faults()
	if len(faults) == 0 {
		return nil
	}
	return tools.Refuse(tools.Validation, "action list shows the jobs", "cron %s: %s", in.Action, strings.Join(faults, "; "))
}

// Faults lists errors in the fields that their schema cannot express.
func (in CronInput) Faults() (faults []string) {
	// Each action needs other fields.
	if in.Action == "add" {
		if strings.TrimSpace(in.When) == "" {
			faults = append(faults, "schedule: missing")
		}
		if strings.TrimSpace(in.Prompt) == "" {
			faults = append(faults, "prompt: missing")
		}
		if in.ID != 0 {
			faults = append(faults, "id: a new job gets its own")
		}
	} else if in.Action != "list" && in.Action != "runs" && in.ID == 0 && in.Name == "" {
		faults = append(faults, "id or name: missing")
	}
	// With both an id and a name, an update renames the job.
	if in.Action == "update" && !changes(in.Draft) && (in.ID == 0 || in.Name == "") {
		faults = append(faults, "nothing to change is given")
	}
	// The remaining fields are optional; a value must parse.
	if _, err := event.ParseAddress(in.Deliver); in.Deliver != "" && err != nil {
		faults = append(faults, "deliver: "+err.Error())
	}
	if _, err := lateness(in.MaxLate); err != nil {
		faults = append(faults, "max_late: want a duration such as 2h, or none")
	}
	if in.Zone != "" {
		if _, err := tools.Zone(in.Zone); err != nil {
			faults = append(faults, "tz: want an IANA name such as Europe/Berlin")
		}
	}
	if _, err := ParseLimits(in.Limits); err != nil {
		faults = append(faults, err.Error())
	}
	for word := range strings.SplitSeq(in.Allow, ",") {
		if word = strings.TrimSpace(word); in.Allow != scheduler.NoRights && word != "" && !rightForm().MatchString(word) {
			faults = append(faults, "allow: "+word+" is none of exec, net, net:HOST, read:PATH, write:PATH, message:ADDRESS, mcp:SERVER, account:NAME and account:NAME:write")
		}
	}
	return faults
}

// changes reports whether a draft changes something besides the name.
func changes(d scheduler.Draft) bool {
	d.Name = ""
	return len(scheduler.Given(d)) > 0
}

// lateness parses max_late: 0 for not given, below 0 for the default.
func lateness(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case "none", "default":
		return -1, nil
	}
	d, err := tools.Duration(text)
	if err == nil && d <= 0 {
		err = errors.New("it is not above 0")
	}
	return d, err
}

// summary describes the call in one line, for approvals and the log.
func summary(in CronInput) string {
	which := in.Name
	if which == "" && in.ID != 0 {
		which = "#" + strconv.FormatInt(in.ID, 10)
	}
	text := strings.TrimSpace(actionOn(in.Action, "job", "jobs") + " " + which)
	if in.When != "" {
		text += ": " + in.When
	}
	if in.Prompt != "" {
		text += ": " + brief(in.Prompt)
	}
	return text + withRights(in.Allow)
}

// actionOn says what an action does to one job or watch, in words that follow "May I": "add the job", "list the watches".
func actionOn(action, one, all string) string {
	switch action {
	case "list":
		return "list the " + all
	case "runs":
		return "look at the runs of the " + one
	case "update":
		return "change the " + one
	}
	return action + " the " + one
}

// withRights names the rights that a call would grant, for the user who approves it.
func withRights(list string) string {
	if list == "" || list == scheduler.NoRights {
		return ""
	}
	return ", with the right " + brief(strings.Join(strings.Split(strings.ReplaceAll(list, " ", ""), ","), ", "))
}

// brief shortens a text to one line of 80 characters.
func brief(s string) string { return text.Line(s, 80) }

// run executes the call. Changes are rows that the store commits with the result.
func (c cron) run(ctx context.Context, call tools.Call, in CronInput, _ tools.Intent) (tools.Result, error) {
	if err := complete(in); err != nil {
		return tools.Result{}, err
	}
	// These actions need no existing job.
	switch in.Action {
	case "list":
		list, err := c.jobs.List(ctx)
		return tools.Result{Content: table(list, call.Zone), Data: CronOutput{Jobs: list}, Foreign: foreign(list)}, err
	case "add":
		return c.plan(ctx, call, in, scheduler.View{}, "added")
	case "runs":
		return c.runs(ctx, in)
	}
	job, err := c.find(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	switch in.Action {
	case "update":
		return c.plan(ctx, call, in, job, "changed")
	}
	return c.alter(ctx, call, job, Verb(in.Action))
}

// foreign returns why the result is foreign text, "" if it is not. It is foreign if a listed prompt was written, or a listed run took
// place, after its turn had read foreign text.
func foreign(list []scheduler.View, runs ...Run) string {
	for _, j := range list {
		if j.Tainted {
			return "the prompt of job " + j.Name
		}
	}
	for _, r := range runs {
		switch {
		case r.Tainted && (r.Outcome == "failed" || len(list) == 0): // only the reason of a failure quotes; without a job the names are of others too
			return "what a run says that had read foreign text"
		case r.Turn == 0 && r.Outcome == "failed": // the reason quotes a server or a command
			return "what a gate says of what it looked at"
		}
	}
	return ""
}

// mostNames is the number of names that the hint for an unknown one lists.
const mostNames = 10

// find returns the job that the call names, by id or else by name. If there is none, the error suggests similar names. An id and a name
// must agree, except in an update, where the name is the new one.
func (c cron) find(ctx context.Context, in CronInput) (scheduler.View, error) {
	which := in.Name
	if in.ID != 0 {
		which = strconv.FormatInt(in.ID, 10)
	}
	job, ok, err := c.jobs.Find(ctx, which)
	if err == nil && ok && in.ID != 0 && in.Name != "" && in.Name != job.Name && in.Action != "update" {
		err = tools.Refuse(tools.Validation, "give one of the two", "cron %s: job %d is %s, not %s", in.Action, in.ID, job.Name, in.Name)
	}
	if err != nil || ok {
		return job, err
	}
	list, err := c.jobs.List(ctx)
	if err != nil {
		return scheduler.View{}, err
	}
	names := make([]string, len(list))
	for i, j := range list {
		names[i] = j.Name
	}
	return scheduler.View{}, tools.Refuse(tools.NotFound, cmp.Or(tools.Instead(which, names, mostNames), "there are no jobs yet"), "there is no job %s", which)
}

// compute returns the job that an add or update would make, and the row to store. The call, not the model, supplies the trust, the taint, the
// default zone and the default address.
func (c cron) compute(ctx context.Context, call tools.Call, in CronInput, old scheduler.View) (scheduler.View, tools.Change, error) {
	d := in.Draft
	d.ID, d.Trust, d.Permissions.Tainted, d.Typed, d.Words, d.ReplyTo, d.Now = old.ID, call.Trust, call.Tainted, call.Typed, call.Words, call.ReplyTo, call.Now
	// An unchanged name is no change to the job.
	if d.Name == old.Name {
		d.Name = ""
	}
	// A new job runs in the zone of the asker. An update keeps the job's zone.
	if old.ID == 0 && d.Zone == "" {
		d.Zone = call.Zone
	}
	late, err := lateness(in.MaxLate)
	switch {
	case err != nil:
		return scheduler.View{}, nil, err
	// A value below 0 returns the job to the default.
	case late < 0:
		d.MaxLate = scheduler.NoMaxLate
	case late > 0:
		d.MaxLate = late.String()
	}
	return c.jobs.Plan(ctx, d)
}

// plan returns the result of add and update with the row to store. Nothing is stored here: the agent commits the change with the result,
// and the scheduler reads it from the table.
func (c cron) plan(ctx context.Context, call tools.Call, in CronInput, old scheduler.View, done string) (tools.Result, error) {
	job, change, err := c.compute(ctx, call, in, old)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Content: fmt.Sprintf("%s: %s", done, sentence(job)), Data: CronOutput{Jobs: []scheduler.View{job}}, Changes: []tools.Change{change}, Foreign: foreign([]scheduler.View{job}),
	}, nil
}

// alter returns the result of another verb. change is nil when the job is already in that state.
func (c cron) alter(ctx context.Context, call tools.Call, job scheduler.View, v Verb) (tools.Result, error) {
	job, change, err := c.jobs.Alter(ctx, job, v, call.ID)
	if err != nil {
		return tools.Result{}, err
	}
	// Without a change there is no row to commit, and the model is told so.
	if change == nil {
		return tools.Result{Content: unchanged("job "+job.Name, v), Data: CronOutput{Jobs: []scheduler.View{job}}, Foreign: foreign([]scheduler.View{job})}, nil
	}
	text := map[Verb]string{
		Remove: fmt.Sprintf("the job %s is removed; it was: %s, %s", job.Name, job.SpecText(), brief(job.Prompt)), Pause: "the job " + job.Name + " is paused", Resume: "resumed: " + sentence(job),
		RunNow: "the job " + job.Name + " is queued to run now",
	}[v]
	return tools.Result{Content: text, Data: CronOutput{Jobs: []scheduler.View{job}}, Changes: []tools.Change{change}, Foreign: foreign([]scheduler.View{job})}, nil
}

// unchanged states that a job or watch is already in the state that a verb makes.
func unchanged(what string, v Verb) string {
	if v == Pause {
		return "nothing has changed: " + what + " was paused already"
	}
	return "nothing has changed: " + what + " was not paused"
}

// sentence describes a job with its schedule, zone and next local times, so that a misunderstood schedule is noticed at once.
func sentence(j scheduler.View) string {
	text := fmt.Sprintf("%s (#%d): %s, %s", j.Name, j.ID, j.SpecText(), j.Zone)
	if j.ID == 0 {
		text = fmt.Sprintf("%s: %s, %s", j.Name, j.SpecText(), j.Zone)
	}
	switch {
	case j.Broken != "":
		text += "\nit cannot run: " + j.Broken
	case j.Paused:
		text += "\npaused"
	case len(j.Next) > 0:
		text += "\nnext: " + strings.Join(times(j), ", ")
	default:
		text += "\nit does not run again"
	}
	// The next time is that of the schedule; a job that backs off skips it.
	if waits := j.Held(); waits != "" {
		text += "\n" + waits
	}
	// Notes are remarks of the scheduler about the schedule.
	for _, note := range j.Notes {
		text += "\n" + note
	}
	text += fmt.Sprintf("\nprompt: %s\nanswers go to: %s", brief(j.Prompt), j.Deliver)
	if list := scheduler.Summarized(scheduler.JobFields(), &j); len(list) > 0 {
		text += "\n" + strings.Join(list, "; ")
	}
	if j.Gate != "" {
		text += "\nruns only if its gate opens: " + brief(j.Gate)
	}
	if most := limitsOf(j); most != "" {
		text += "\n" + most
	}
	if j.Plain {
		text += "\n" + event.NoModelAsked
	}
	if j.Estimate != nil {
		text += "\n" + j.Estimate.Text
	}
	return text
}

// times returns the next slots as local times.
func times(j scheduler.View) []string {
	loc, err := tools.Zone(j.Zone)
	if err != nil {
		loc = time.UTC
	}
	// Three times are enough to notice a misunderstood schedule.
	next := j.Next[:min(len(j.Next), 3)]
	// The weekday shows at once whether "Friday" was understood.
	form := "Mon 2006-01-02 15:04"
	if slices.ContainsFunc(next, func(t time.Time) bool { return t.Second() != 0 }) {
		form += ":05" // times of "every 5s" would look the same
	}
	out := make([]string, 0, len(next))
	for _, t := range next {
		out = append(out, t.In(loc).Format(form))
	}
	return out
}

// table lists jobs, one per line. zone is the reader's.
func table(jobs []scheduler.View, zone string) string {
	if len(jobs) == 0 {
		return "there are no jobs yet"
	}
	return strings.Join(scheduler.Lines(jobs, zone, time.Time{}), "\n")
}
