package main

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// triggerInput encodes the input of the cron tool or the watch tool: the action, beside the fields of the draft
// that are given. id is 0 unless the call renames a job. A draft has "omitempty" on all fields, so a field that
// was not given is not in the call, and the tool leaves it as it is.
func triggerInput(action string, id int64, draft any) (json.RawMessage, error) {
	raw, err := json.Marshal(draft)
	if err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	fields := map[string]any{}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	for name, value := range given {
		fields[name] = value
	}
	fields["action"] = action
	if id != 0 {
		fields["id"] = id
	}
	if raw, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	return raw, nil
}

// storedTrigger returns a job or a watch as the daemon lists it. One that was just deleted is shown as the tool returned it.
func storedTrigger[R any](ctx context.Context, c *client.Client, s api.Show[R], name string, returned json.RawMessage) json.RawMessage {
	now, err := client.Show(ctx, c, s.Raw(), name)
	if err != nil {
		return returned
	}
	return now
}

// runState returns the state of a run, or its outcome if there is one, and its turn. "ran" or "missed" says
// more than the state "done".
func runState(r api.Fire) (state, turn string) {
	state, turn = r.State, "-"
	if r.Outcome != "" {
		state = r.Outcome
	}
	if r.Turn != 0 {
		turn = cli.ID(r.Turn)
	}
	return state, turn
}
