package importer

import (
	"context"

	"hob/cmd/hob/cli"
)

// ParseJSON5 is the parser of settings.
var ParseJSON5 = parseJSON5

// ReadPlan plans an import by a command without flags.
func ReadPlan(ctx context.Context, program, dir string, secrets bool) (Report, error) {
	return readPlan(ctx, program, dir, secrets, "")
}

// Readable returns the first error of reading a folder.
var Readable = readable

// TypedFlags are the flags of a command line.
var TypedFlags = typedFlags

// SystemHint is the hint for the system's hob.
var SystemHint = systemHint

// Scheduled returns the schedule and the zone that an item's job gets; "" if it is no job, or not imported.
func Scheduled(it Item) (schedule, zone string) {
	if it.job == nil {
		return "", ""
	}
	return it.job.Schedule, it.job.Zone
}

// CarryFile copies one text, which is not marked, and returns the state of the item.
func CarryFile(ctx context.Context, home, to, text string) (string, error) {
	r := Report{Items: []Item{{Kind: "secret", To: to, State: imported, text: []byte(text)}}}
	err := carryFile(ctx, nil, home, &r, 0)
	return r.Items[0].State, err
}

// Carry does what a plan says.
func Carry(ctx context.Context, home string, r *Report) error {
	a := &cli.App{Home: home}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return carry(ctx, a, c, home, r)
}
