package automation

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// maxRuns is how many slots runs shows.
const maxRuns = 20

// Request is what cron takes.
type Request struct {
	Action   string `json:"action" jsonschema:"what to do" enum:"list,add,update,remove,pause,resume,run,runs"`
	ID       int64  `json:"id,omitempty" jsonschema:"job; or name" min:"1"`
	Name     string `json:"name,omitempty" jsonschema:"or its new name" max:"64"`
	Schedule string `json:"schedule,omitempty" jsonschema:"cron, 'every 30m', 'at 2026-12-24 17:00', 'every weekday at 9'"`
	Prompt   string `json:"prompt,omitempty" jsonschema:"what to do; 'say: TEXT' is sent as it is"`
	TZ       string `json:"tz,omitempty" jsonschema:"IANA zone"`
	Session  string `json:"session,omitempty" jsonschema:"runs in" enum:"main,isolated"`
	Deliver  string `json:"deliver,omitempty" jsonschema:"owner, none or channel:address"`
	Missed   string `json:"missed,omitempty" jsonschema:"while off" enum:"once,skip,all,ask"`
	MaxLate  string `json:"max_late,omitempty" jsonschema:"later is missed: 2h"`
	Overlap  string `json:"overlap,omitempty" jsonschema:"last still runs" enum:"fold,queue"`
	Allow    string `json:"allow,omitempty" jsonschema:"rights: exec,net,write:PATH"`
	Gate     string `json:"gate,omitempty" jsonschema:"run if new: COMMAND, url:, files:; exit:COMMAND"`
	Limits   string `json:"limits,omitempty" jsonschema:"of a run: tools=read,grep tokens=9000"`
}

// Schedule is what cron answers.
type Schedule struct {
	Jobs []Job `json:"jobs,omitempty" jsonschema:"the jobs concerned"`
	Runs []Run `json:"runs,omitempty" jsonschema:"of action runs: slots, newest first"`
}

// NewCron makes the tool cron: prompts that run by themselves.
func NewCron(jobs Jobs, gates Gates) tools.Tool {
	c := cron{jobs, gates}
	return tools.New[Request, Schedule](tools.Spec{
		Name: "cron", Group: "automation", Core: true, Positional: "action", Example: "add --schedule 'every weekday at 9' --prompt 'brief me'",
		Description: "Schedule prompts and reminders. Answers with the next times.",
	}, c.intent, c.run)
}

type cron struct {
	jobs  Jobs
	gates Gates
}

func (c cron) intent(ctx context.Context, call tools.Call, in Request) (tools.Intent, error) {
	if err := complete(in); err != nil {
		return tools.Intent{}, err
	}
	i := tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: summary(in)}
	if in.Action == "list" || in.Action == "runs" {
		i.Effect = tools.Read
	}
	if in.Allow != "" && in.Allow != NoRights { // the job will do without asking what others ask for
		i.Scopes = append(i.Scopes, tools.Config)
		i.Warnings = append(i.Warnings, "the job may then use "+in.Allow+" without asking")
	}
	job, err := c.planned(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	if err := c.gated(ctx, call, in, job, &i); err != nil {
		return tools.Intent{}, err
	}
	if to := speaksTo(in, job); to != "" && to != event.ToNone {
		i.Addresses = []event.Address{to}
		if to != event.ToOwner && to != call.ReplyTo {
			i.Scopes = append(i.Scopes, tools.Messages)
		}
	}
	i.Canonical, err = tools.Canonical(struct {
		Tool string `json:"tool"`
		Request
	}{"cron", in})
	return i, err
}

// planned is the job that a call is about, as it is now; of a new one, and of none, the zero Job. What the call wants is worked out in full:
// nobody is asked to agree to what would be refused afterwards.
func (c cron) planned(ctx context.Context, call tools.Call, in Request) (job Job, err error) {
	switch in.Action {
	case "list", "runs":
		return Job{}, nil
	case "add":
	default:
		if job, err = c.find(ctx, in); err != nil {
			return Job{}, err
		}
	}
	if in.Action == "add" || in.Action == "update" {
		_, _, err = c.wish(ctx, call, in, job)
	}
	return job, err
}

// speaksTo is where a job would answer after the call: the address given, else the one that the job has. What is changed or run
// speaks there, whoever approved of the address once.
func speaksTo(in Request, job Job) event.Address {
	switch {
	case in.Deliver != "":
		return event.Address(strings.TrimSpace(in.Deliver))
	case in.Action == "update", in.Action == "run":
		return job.Deliver
	}
	return ""
}

// NoRights in the place of a list of rights takes them all away.
const NoRights = "none"

// aRight is the form of a right; whoever keeps the job reads it.
var aRight = regexp.MustCompile(`^(exec|net(:.+)?|(read|write):[/~].*|message:.+)$`)

// complete says all that is missing or too much for the action.
func complete(in Request) error {
	faults := in.Faults()
	if len(faults) == 0 {
		return nil
	}
	return tools.Refuse(tools.Validation, "action list shows the jobs", "cron %s: %s", in.Action, strings.Join(faults, "; "))
}

// Faults are what is wrong with the fields beside what their schema says.
func (in Request) Faults() (faults []string) {
	if in.Action == "add" {
		if strings.TrimSpace(in.Schedule) == "" {
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
	if in.Action == "update" && (in == Request{Action: in.Action, ID: in.ID, Name: in.Name}) && (in.ID == 0 || in.Name == "") {
		faults = append(faults, "nothing to change is given")
	}
	if _, err := event.ParseAddress(in.Deliver); in.Deliver != "" && err != nil {
		faults = append(faults, "deliver: "+err.Error())
	}
	if _, err := lateness(in.MaxLate); err != nil {
		faults = append(faults, "max_late: want a duration such as 2h, or none")
	}
	if in.TZ != "" {
		if _, err := tools.Zone(in.TZ); err != nil {
			faults = append(faults, "tz: want an IANA name such as Europe/Berlin")
		}
	}
	if _, err := ParseLimits(in.Limits); err != nil {
		faults = append(faults, err.Error())
	}
	for word := range strings.SplitSeq(in.Allow, ",") {
		if word = strings.TrimSpace(word); in.Allow != NoRights && word != "" && !aRight.MatchString(word) {
			faults = append(faults, "allow: "+word+" is none of exec, net, net:HOST, read:PATH, write:PATH and message:ADDRESS")
		}
	}
	return faults
}

// lateness reads max_late: 0 is what is not given, below 0 the default again.
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

func summary(in Request) string {
	which := in.Name
	if which == "" && in.ID != 0 {
		which = "#" + strconv.FormatInt(in.ID, 10)
	}
	text := strings.TrimSpace("cron " + in.Action + " " + which)
	if in.Schedule != "" {
		text += ": " + in.Schedule
	}
	if in.Prompt != "" {
		text += ": " + brief(in.Prompt)
	}
	return text + withRights(in.Allow)
}

// withRights says which rights a call would give, for whoever is asked to agree to it.
func withRights(list string) string {
	if list == "" || list == NoRights {
		return ""
	}
	return ", with the right " + brief(strings.Join(strings.Split(strings.ReplaceAll(list, " ", ""), ","), ", "))
}

func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

func (c cron) run(ctx context.Context, call tools.Call, in Request, _ tools.Intent) (tools.Result, error) {
	if err := complete(in); err != nil {
		return tools.Result{}, err
	}
	switch in.Action {
	case "list":
		list, err := c.jobs.List(ctx)
		return tools.Result{Content: table(list), Data: Schedule{Jobs: list}, Foreign: foreign(list)}, err
	case "add":
		return c.plan(ctx, call, in, Job{}, "added")
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
	default:
		return c.alter(ctx, call, job, Verb(in.Action))
	}
}

// foreign says that one of the prompts was written after foreign text had been read.
func foreign(list []Job, runs ...Run) string {
	for _, j := range list {
		if j.Tainted {
			return "the prompt of job " + j.Name
		}
	}
	for _, r := range runs {
		switch {
		case r.Tainted:
			return "what a run says that had read foreign text"
		case r.Turn == 0 && r.Outcome == "failed": // why is what a server or a command has said
			return "what a gate says of what it looked at"
		}
	}
	return ""
}

// find looks the job up; when there is none, the answer names those that it may be.
func (c cron) find(ctx context.Context, in Request) (Job, error) {
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
		return Job{}, err
	}
	names := make([]string, len(list))
	for i, j := range list {
		names[i] = j.Name
	}
	near := tools.Nearest(which, names, 3)
	if len(near) == 0 {
		near = names[:min(len(names), 10)]
	}
	hint := "there are no jobs yet"
	if len(near) > 0 {
		hint = "there is " + strings.Join(near, ", ")
	}
	return Job{}, tools.Refuse(tools.NotFound, hint, "there is no job %s", which)
}

// wish works out what an add or an update would make of a job.
func (c cron) wish(ctx context.Context, call tools.Call, in Request, old Job) (Job, tools.Change, error) {
	d := Draft{
		ID: old.ID, Schedule: in.Schedule, Prompt: in.Prompt, Zone: in.TZ, Session: in.Session, Missed: in.Missed, Overlap: in.Overlap,
		Deliver: event.Address(in.Deliver), Allow: in.Allow, Gate: in.Gate, Limits: in.Limits, Trust: call.Trust, Tainted: call.Tainted, Typed: call.Typed, Words: call.Words, ReplyTo: call.ReplyTo, Now: call.Now,
	}
	if in.Name != old.Name {
		d.Name = in.Name
	}
	if old.ID == 0 && d.Zone == "" {
		d.Zone = call.Zone
	}
	var err error
	if d.MaxLate, err = lateness(in.MaxLate); err != nil {
		return Job{}, nil, err
	}
	return c.jobs.Plan(ctx, d)
}

func (c cron) plan(ctx context.Context, call tools.Call, in Request, old Job, done string) (tools.Result, error) {
	job, change, err := c.wish(ctx, call, in, old)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Content: fmt.Sprintf("%s: %s", done, job.sentence()), Data: Schedule{Jobs: []Job{job}}, Changes: []tools.Change{change}, Foreign: foreign([]Job{job}),
	}, nil
}

func (c cron) alter(ctx context.Context, call tools.Call, job Job, v Verb) (tools.Result, error) {
	job, change, err := c.jobs.Alter(ctx, job, v, call.ID)
	if err != nil {
		return tools.Result{}, err
	}
	if change == nil {
		return tools.Result{Content: unchanged("job "+job.Name, v), Data: Schedule{Jobs: []Job{job}}, Foreign: foreign([]Job{job})}, nil
	}
	text := map[Verb]string{
		Remove: "removed: " + job.Name, Pause: "paused: " + job.Name, Resume: "goes on: " + job.sentence(),
		RunNow: "queued to run now: " + job.Name,
	}[v]
	return tools.Result{Content: text, Data: Schedule{Jobs: []Job{job}}, Changes: []tools.Change{change}, Foreign: foreign([]Job{job})}, nil
}

// unchanged says that a job or watch is already as a verb would make it.
func unchanged(what string, v Verb) string {
	if v == Pause {
		return "nothing has changed: " + what + " was paused already"
	}
	return "nothing has changed: " + what + " was not paused"
}

// sentence tells a job with its resolved schedule, zone and next local times.
func (j Job) sentence() string {
	text := fmt.Sprintf("%s (#%d): %s, %s", j.Name, j.ID, j.Spec, j.Zone)
	if j.ID == 0 {
		text = fmt.Sprintf("%s: %s, %s", j.Name, j.Spec, j.Zone)
	}
	switch {
	case j.Broken != "":
		text += "\nit cannot run: " + j.Broken
	case j.Paused:
		text += "\npaused"
	case len(j.Next) > 0:
		text += "\nnext: " + strings.Join(j.times(), ", ")
	default:
		text += "\nit does not run again"
	}
	if held := j.held(); held != "" {
		text += "\n" + held
	}
	for _, note := range j.Notes {
		text += "\n" + note
	}
	text += fmt.Sprintf("\nprompt: %s\nanswers go to: %s", brief(j.Prompt), j.Deliver)
	if ways := j.ways(); ways != "" {
		text += "\n" + ways
	}
	if j.Gate != "" {
		text += "\nruns only if its gate opens: " + brief(j.Gate)
	}
	if limits := j.limits(); limits != "" {
		text += "\n" + limits
	}
	if j.Estimate != nil {
		text += "\n" + j.Estimate.Text
	}
	return text
}

// ways are how it runs and what is done about times at which it does not, as far as that is not what every job does; "" when nothing is.
func (j Job) ways() string {
	var list []string
	for _, way := range []struct{ name, value, usual string }{
		{"session", j.Session, "main"}, {"missed", j.Missed, "once"}, {"max_late", j.MaxLate, ""}, {"overlap", j.Overlap, "fold"},
	} {
		if way.value != "" && way.value != way.usual {
			list = append(list, way.name+": "+way.value)
		}
	}
	return strings.Join(list, "; ")
}

// held says that a job waits because it has failed; "" when it does not.
func (j Job) held() string {
	if j.Held.IsZero() {
		return ""
	}
	zone, err := tools.Zone(j.Zone)
	if err != nil {
		zone = time.UTC
	}
	times := "failures"
	if j.Failures == 1 {
		times = "failure"
	}
	return fmt.Sprintf("held until %s after %d %s", j.Held.In(zone).Format("15:04"), j.Failures, times)
}

// times are the next slots as the clock on the wall shows them.
func (j Job) times() []string {
	loc, err := tools.Zone(j.Zone)
	if err != nil {
		loc = time.UTC
	}
	next := j.Next[:min(len(j.Next), 3)]
	form := "Mon 2006-01-02 15:04"
	if slices.ContainsFunc(next, func(t time.Time) bool { return t.Second() != 0 }) {
		form += ":05" // or the times of "every 5s" would look the same
	}
	out := make([]string, 0, len(next))
	for _, t := range next {
		out = append(out, t.In(loc).Format(form))
	}
	return out
}

func table(jobs []Job) string {
	if len(jobs) == 0 {
		return "there are no jobs yet"
	}
	lines := make([]string, 0, len(jobs))
	for _, j := range jobs {
		state := "next " + strings.Join(j.times()[:min(1, len(j.Next))], "")
		switch {
		case j.Broken != "":
			state = "cannot run: " + j.Broken
		case j.Paused:
			state = "paused"
		case j.held() != "":
			state = j.held()
		case len(j.Next) == 0:
			state = "done"
		}
		if j.Failures > 0 && j.held() == "" {
			state += fmt.Sprintf(", failed %d in a row", j.Failures)
		}
		if j.Gate != "" {
			state += ", gated"
		}
		lines = append(lines, fmt.Sprintf("#%d %s | %s, %s | %s | %s", j.ID, j.Name, j.Spec, j.Zone, state, brief(j.Prompt)))
	}
	return strings.Join(lines, "\n")
}
