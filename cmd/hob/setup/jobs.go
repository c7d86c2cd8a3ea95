package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// sayAsked names the jobs, watches and webhooks whose runs ask the model that was just connected, but not the heartbeat, as in daemon/notices.go.
func (w *wizard) sayAsked(ctx context.Context) error {
	var names []string
	add := func(kind, name, prompt string, plain, ended bool) {
		if !ended && event.AsksModel(prompt, plain) {
			names = append(names, kind+" "+name)
		}
	}
	err := errors.Join(
		each(ctx, w.host.client, api.Jobs, func(j api.Job) { add("job", j.Name, j.Prompt, j.Plain, j.Done || j.Name == "heartbeat") }),
		each(ctx, w.host.client, api.Watches, func(j api.Watch) { add("watch", j.Name, j.Prompt, j.Plain, false) }),
		each(ctx, w.host.client, api.Webhooks, func(j api.Webhook) { add("webhook", j.Name, j.Prompt, j.Plain, false) }),
	)
	if err == nil && len(names) > 0 {
		w.app.Note("each run of these asks the model from now on: " + strings.Join(names, ", "))
	}
	return err
}

// each calls f for every row of a list.
func each[T any](ctx context.Context, c *client.Client, route api.List[T], f func(T)) error {
	rows, err := client.List(ctx, c, route, client.Filter{})
	for _, row := range rows {
		f(row)
	}
	return err
}

// moveJobs moves the jobs that were made in the owner's zone before it was changed, after a question; --yes is a yes to it. A job with another
// zone was given that by name.
func (w *wizard) moveJobs(ctx context.Context, before string) error {
	zone := w.value("owner.timezone")
	if zone == "" || before == zone {
		return nil
	}
	list, err := jobsIn(ctx, w.host.client, before)
	if err != nil || len(list) == 0 {
		return err
	}
	if !w.given.yes {
		w.say(keptZone(list, before))
		yes, err := w.ask.yes(ctx, "Move them to "+zone+", at the same time of day?", true)
		if err != nil || !yes {
			return err
		}
	}
	var moved []string
	for _, name := range list {
		input, err := json.Marshal(map[string]string{"action": "update", "name": name, "tz": zone})
		if err != nil {
			return err
		}
		out, err := client.Do(ctx, w.host.client, api.CallTool, "cron", client.ToolCall{Input: input})
		switch {
		case err != nil:
			return err
		case !out.Success: // as when its time has passed in the new zone
			w.say(fmt.Sprintf("job %s keeps %s: %s", name, before, out.Message))
		default:
			moved = append(moved, name)
		}
	}
	if len(moved) > 0 {
		w.say("Moved to " + zone + ", at the same time of day: " + strings.Join(moved, ", "))
	}
	return nil
}

// KeptZone says which jobs keep a zone that was the owner's; "" if none does.
func KeptZone(ctx context.Context, c *client.Client, zone string) (string, error) {
	list, err := jobsIn(ctx, c, zone)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return keptZone(list, zone) + " Move one with: hob cron update NAME --tz ZONE", nil
}

func keptZone(list []string, zone string) string {
	if len(list) == 1 {
		return fmt.Sprintf("1 job keeps its zone %s: %s.", zone, list[0])
	}
	return fmt.Sprintf("%d jobs keep their zone %s: %s.", len(list), zone, strings.Join(list, ", "))
}

// jobsIn are the names of the jobs that will still run in a zone and are not of the config.
func jobsIn(ctx context.Context, c *client.Client, zone string) ([]string, error) {
	jobs, err := client.List(ctx, c, api.Jobs, client.Filter{})
	var names []string
	for _, j := range jobs {
		if j.Zone == zone && !j.Done && j.Origin != "config" {
			names = append(names, j.Name)
		}
	}
	return names, err
}
