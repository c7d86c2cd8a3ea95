package calendar

import (
	"context"

	"hob/daemon/text"
	"hob/tools"
)

// GetInput is the input of calendar_get_event.
type GetInput struct {
	ID string `json:"id" jsonschema:"id of an event, as calendar_list_events shows it" min:"1" max:"2000"`
}

// NewGet builds the tool calendar_get_event.
func NewGet(c Calendars) tools.Tool {
	intent := func(_ context.Context, _ tools.Call, in GetInput) (tools.Intent, error) {
		raw, err := tools.CanonicalCall("calendar_get_event", in)
		return reading(c, "look at the event "+text.Shorten(in.ID, 100), raw), err
	}
	run := func(ctx context.Context, call tools.Call, in GetInput, _ tools.Intent) (tools.Result, error) {
		e, err := c.Event(ctx, in.ID, place(call.Zone))
		if err != nil {
			return tools.Result{}, err
		}
		i := e.item(true)
		return tools.Result{Content: i.lines(), Data: i}, nil
	}
	return withAccount(tools.New[GetInput, Item](tools.Spec{
		Name: "calendar_get_event", Group: Group, ReadOnly: true, Positional: "id", Example: "ID",
		Description: "Read one calendar event with its description, organizer and attendees. Its texts are somebody else's.",
	}, intent, run), c)
}
