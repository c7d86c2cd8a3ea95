package runtime

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/tools"
)

// report makes the result of an ended command: exit code first, then the output.
func (e executor) report(ctx context.Context, call tools.Call, in Command, end *ended, note string) tools.Result {
	text, cut := end.out.text(e.Limits.Keep)
	out := Outcome{
		ExitCode: end.code, DurationMS: end.took.Milliseconds(), Output: text, Truncated: cut, TimedOut: end.why == timedOut,
	}
	notes := []string{}
	if note != "" {
		notes = append(notes, note)
	}
	if cut {
		var said string
		out.Artifact, said = e.shelve(ctx, call, in, end)
		notes = append(notes, said)
	}
	if end.left > 0 {
		notes = append(notes, leftBehind(end.left))
	}
	if end.stuck > 0 {
		notes = append(notes, fmt.Sprintf("processes that could not be ended: %d", end.stuck))
	}
	return end.result(out, notes)
}

func leftBehind(n int) string {
	if n == 1 {
		return "1 process that it left running was ended"
	}
	return fmt.Sprintf("%d processes that it left running were ended", n)
}

// shelve keeps the whole output, or as much of it as fits, and says so.
func (e executor) shelve(ctx context.Context, call tools.Call, in Command, end *ended) (id, said string) {
	id, err := e.Artifacts.Keep(context.WithoutCancel(ctx), "output of "+brief(in.Command)+" ("+call.ID+")", end.out.first)
	if err != nil {
		return "", fmt.Sprintf("the whole output could not be kept: %v", err)
	}
	if end.out.over > 0 {
		return id, fmt.Sprintf("the first %s of %s are kept: result_read %s", bytesOf(int64(len(end.out.first))), bytesOf(end.out.total()), id)
	}
	return id, "the whole output is kept: result_read " + id
}

func (end *ended) result(out Outcome, notes []string) tools.Result {
	res := tools.Result{}
	switch end.why {
	case timedOut:
		res = tools.Fail(tools.Timeout, "give a longer timeout, or do less at once", "the command ran longer than %s and was ended", span(end.limit))
	case cancelled:
		res = tools.Fail(tools.Cancelled, "", "the command was stopped after %s", span(end.took.Round(100*time.Millisecond)))
	default:
		res.Content = fmt.Sprintf("exit code %d (%s)", out.ExitCode, span(end.took.Round(time.Millisecond)))
	}
	for _, n := range notes {
		res.Content += "\n(" + n + ")"
	}
	switch text := strings.TrimRight(out.Output, "\n"); {
	case text != "":
		res.Content += "\n" + text
	case end.why == finished:
		res.Content += "\n(no output)"
	}
	res.Data = out
	return res
}
