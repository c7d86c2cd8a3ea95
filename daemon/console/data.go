package console

import (
	"hob/daemon/event"
)

// Events travel as JSON, so their numbers arrive as float64. Events made in this process have integers.

// stringOf returns a text of an event's data, "" if there is none.
func stringOf(e *event.Event, key string) string {
	s, _ := e.Data[key].(string)
	return s
}

// number returns a number of an event's data, 0 if there is none.
func number(e *event.Event, key string) int64 {
	return int64Of(e.Data[key])
}

// int64Of converts what a JSON decoder, or this process, has put into the data.
func int64Of(v any) int64 {
	switch n := v.(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	case int:
		return int64(n)
	}
	return 0
}

// numbers reads a number or a list of numbers.
func numbers(e *event.Event, key string) []int64 {
	switch list := e.Data[key].(type) {
	case []any:
		out := make([]int64, 0, len(list))
		for _, v := range list {
			out = append(out, int64Of(v))
		}
		return out
	case []int64:
		return list
	case nil:
		return nil
	default:
		// One number counts as a list of one.
		return []int64{int64Of(list)}
	}
}

// turnOf returns the turn of an event; old events have it in their data.
func turnOf(e *event.Event) int64 {
	if e.Turn != 0 {
		return e.Turn
	}
	return number(e, "turn")
}

// inboxOf returns the inbox row of an event; old events have it in their data.
func inboxOf(e *event.Event) int64 {
	if e.Inbox != 0 {
		return e.Inbox
	}
	return number(e, "inbox")
}

// failure returns the error of a tool.finished event, "" for success.
func failure(v any) string {
	switch x := v.(type) {
	case string:
		if x == "ok" {
			return ""
		}
		return x
	case bool:
		if x {
			return "failed"
		}
	}
	return ""
}
