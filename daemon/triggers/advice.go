package triggers

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"

	"hob/daemon/event"
	"hob/scheduler"
)

// noChannel is what helps if a trigger answers to a channel that does not exist or is off.
const noChannel = "hob channels list shows the channels; hob channels add makes one"

// missingProgram says that the program of a job's gate does not exist; "": it does, or only a run can tell.
func missingProgram(j scheduler.Job) string {
	program := j.Gate.Program()
	if program == "" || strings.ContainsAny(program, "/~") || runtime.GOOS == "windows" {
		return ""
	}
	if _, err := exec.LookPath(program); err == nil {
		return ""
	}
	return "the program " + program + " of its gate is not in the PATH: until it is there, the job does not run"
}

// Advice lists what keeps triggers from running or their answers from arriving, as Plan and Add say it when a trigger is made. The owner gets it at
// each reload. A missing file of a watch that was made at run time is not listed, because it was said then.
func Advice(ctx context.Context, jobs Jobs, watches Watches, webhooks *Webhooks) (list []string, err error) {
	note := func(what string, t scheduler.Trigger, text string) {
		if !t.Paused && t.Broken == "" && text != "" {
			list = append(list, what+" "+t.Name+": "+text)
		}
	}
	answers := func(what string, t scheduler.Trigger) {
		if why := jobs.Unheard(t.Deliver); why != "" {
			note(what, t, "its answers go to "+string(t.Deliver)+", and "+why+" ("+noChannel+")")
		}
	}
	all, err := jobs.Rows.JobRows(ctx, event.Filter{Limit: mostListed})
	for _, j := range all {
		if !j.Due.IsZero() {
			answers("the job", j.Trigger)
			note("the job", j.Trigger, missingProgram(j))
		}
	}
	hooks, hooksErr := webhooks.Rows.All(ctx)
	for _, h := range hooks {
		answers("the webhook", h.Trigger)
	}
	files, filesErr := watches.Rows.AllWatches(ctx)
	for _, w := range files {
		answers("the watch", w.Trigger)
		for _, path := range absentPaths(w.Paths, watches.Guard()) {
			if w.Origin == OriginConfig {
				note("the watch", w.Trigger, path+" was not there when the config was read: nothing fires until it is there")
			}
		}
	}
	return list, errors.Join(err, hooksErr, filesErr)
}
