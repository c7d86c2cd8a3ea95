package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/tools"
)

// report builds the result of an ended command: the exit code first, then the output.
func (e executor) report(ctx context.Context, p *proc) tools.Result {
	end, err := p.outcome()
	if end == nil {
		return tools.ErrorResult(errors.Join(err, p.out.recording.discard()))
	}
	e.noticeForeign(p)
	text, cut := p.out.text(e.Limits.Keep)
	out := p.facts(end)
	out.Output, out.Truncated = p.readable(text), cut
	notes := append([]string{p.request.note}, e.remarks(p.request.at, out.Output)...)
	if cut {
		var note string
		out.Artifact, note = e.keepOutput(ctx, p)
		notes = append(notes, note)
	}
	notes = append(notes, p.afterwards(end)...)
	if err != nil {
		notes = append(notes, err.Error())
	}
	res := end.result(out, notes)
	if kept := e.kept(p.request.at); kept != "" && end.why == finished && end.code == 0 {
		res = tools.Fail(tools.NotFound, "outside = true asks the owner to run it without the sandbox", "%s is still there: the command could not see it (%s)", kept, res.Content)
		res.Data = out
	}
	res.Changes, res.Foreign = changes(e.marked(p)), p.text.source()
	return res
}

// facts returns the fields of an outcome except the output.
func (p *proc) facts(end *ended) ExecOutput {
	return ExecOutput{ExitCode: new(end.code), DurationMS: end.took.Milliseconds(), TimedOut: end.why == timedOut, Cwd: p.request.at.cwd, Host: p.request.at.host}
}

// afterwards returns the notes on limits, leftover processes and access that belong under the
// result.
func (p *proc) afterwards(end *ended) []string {
	var notes []string
	if end.over != "" {
		notes = append(notes, end.over)
	}
	switch {
	case end.left == 1:
		notes = append(notes, "1 process that it left running was ended")
	case end.left > 1:
		notes = append(notes, fmt.Sprintf("%d processes that it left running were ended", end.left))
	}
	if end.stuck > 0 {
		notes = append(notes, fmt.Sprintf("processes that could not be ended: %d", end.stuck))
	}
	if p.request.at.sandboxed && p.request.at.sandbox.ScratchOnly && end.code != 0 {
		notes = append(notes, "only "+cmp.Or(p.request.at.sandbox.Scratch, "nothing")+" can be written by this command")
	}
	switch n := p.request.at.hiddenCount(); {
	case n == 1 && end.code != 0:
		notes = append(notes, "a file or folder with foreign text is hidden from this command: hob trust list")
	case n > 1 && end.code != 0:
		notes = append(notes, fmt.Sprintf("%d files and folders with foreign text are hidden from this command: hob trust list", n))
	}
	if list := p.request.at.unnamed; len(list) > 0 && end.code != 0 {
		notes = append(notes, "only a command that names it sees the bind "+strings.Join(list, ", "))
	}
	if p.request.at.host != "" && end.code == 255 {
		notes = append(notes, "255 is also what ssh says when it could not reach "+p.request.at.host)
	}
	return notes
}

// keepOutput stores the output as an artifact, or as much of it as was kept, and returns a note
// about it.
func (e executor) keepOutput(ctx context.Context, p *proc) (id, note string) {
	kept, total := p.out.whole()
	ctx, name := context.WithoutCancel(ctx), "output of "+p.request.summary+" ("+p.request.by.ID+")"
	written, err := p.out.recording.result()
	switch {
	case written != nil:
		id, err = written.Keep(ctx, name, p.text.source())
	case err == nil:
		id, err = e.keep(ctx, p, name, kept)
	}
	if err != nil {
		return "", fmt.Sprintf("the whole output could not be kept: %v", err)
	}
	if total > int64(len(kept)) {
		return id, fmt.Sprintf("the first %s of %s are kept: result_read %s", byteCount(int64(len(kept))), byteCount(total), id)
	}
	return id, "the whole output is kept: result_read " + id
}

// keep stores data as an artifact with the right origin.
func (e executor) keep(ctx context.Context, p *proc, name string, data []byte) (string, error) {
	if from := p.text.source(); from != "" {
		return e.Artifacts.KeepForeign(ctx, name, from, data)
	}
	return e.Artifacts.Keep(ctx, name, data)
}

// noticeForeign checks whether a command can see files that became foreign after its start, which its sandbox does not hide, or has printed
// the name of a hidden one. It returns true if that is new.
func (e executor) noticeForeign(p *proc) bool {
	if p.text.source() != "" || !e.seesNewForeign(p.request.at, p.out.all) {
		return false
	}
	p.text.sawForeign()
	return true
}

// marked returns a mark for each file into which a command may have written foreign text, or the name of a foreign file.
func (e executor) marked(p *proc) []tools.Mark {
	switch since, why := p.text.writing(); {
	case why != "":
		return e.Registry.note(marks(e.Guard, since, why))
	case since.IsZero() || !p.over(): // until its end, Registry.Foreign looks for names
		return nil
	default:
		return e.Registry.note(e.wroteNames(p.request.at, func() []string { return ChangedFiles(e.Guard, since) }))
	}
}

// marks returns a mark for each file that changed at since or later.
func marks(g *fsguard.Guard, since time.Time, why string) []tools.Mark {
	list := []tools.Mark{}
	for _, path := range ChangedFiles(g, since) {
		list = append(list, tools.Mark{Path: path, Why: why})
	}
	return list
}

// changes converts marks into the changes of a result.
func changes(list []tools.Mark) []tools.Change {
	var out []tools.Change
	for _, m := range list {
		out = append(out, m)
	}
	return out
}

// result phrases the end of a command: a timeout and a stop are failures, any exit code is a
// success.
func (end *ended) result(out ExecOutput, notes []string) tools.Result {
	var res tools.Result
	note := paragraphs(notes, out.Output, end.why == finished) // before the hint, which is displayed separately
	switch end.why {
	case timedOut:
		res = tools.Fail(tools.Timeout, "give a longer timeout, or do less at once", "the command ran longer than %s and was ended%s", spanText(end.limit), note)
	case cancelled:
		res = tools.Fail(tools.Cancelled, "", "the command was stopped after %s%s", spanText(end.took.Round(100*time.Millisecond)), note)
	default:
		res.Content = fmt.Sprintf("exit code %d (%s)%s", end.code, spanText(end.took.Round(time.Millisecond)), note)
	}
	res.Data = out
	return res
}

// paragraphs joins notes, each in brackets on its own line, and then an output.
func paragraphs(notes []string, output string, empty bool) string {
	var b strings.Builder
	for _, n := range notes {
		if n != "" {
			b.WriteString("\n(" + n + ")")
		}
	}
	switch text := strings.TrimRight(output, "\n"); {
	case text != "":
		b.WriteString("\n" + text)
	case empty:
		b.WriteString("\n(no output)")
	}
	return b.String()
}

// backgroundResult is the result of a command that moves to the background.
func (e executor) backgroundResult(p *proc, because string) tools.Result {
	if !p.request.named {
		p.setLimit(e.Limits.Life)
	}
	e.noticeForeign(p)
	text := ""
	if because != "" { // otherwise leave its output for the first poll
		text = p.take(p.request.by.Session, nil, e.Limits.Preview)
	}
	res := tools.Result{Data: ExecOutput{ProcessID: p.id, DurationMS: p.age().Milliseconds(), Output: text, Cwd: p.request.at.cwd, Host: p.request.at.host}}
	res.Content = because + "it runs in the background as process " + p.id + ", and its end will be reported" + paragraphs([]string{p.request.note}, text, false)
	res.Changes, res.Foreign = changes(e.marked(p)), p.text.source()
	return res
}

// notify reports the end of a background process to the session that started it.
func (e executor) notify(ctx context.Context, p *proc, end *ended) error {
	e.noticeForeign(p)
	text := p.unseen(e.Limits.Preview)
	notes := []string{p.request.note, end.cause()}
	if _, cut := p.out.text(e.Limits.Preview); cut {
		_, note := e.keepOutput(ctx, p)
		notes = append(notes, note)
	}
	p.out.shrink()
	notes = append(append(notes, p.afterwards(end)...), e.remarks(p.request.at, text)...)
	head := fmt.Sprintf("process %s has ended: exit code %d (%s): %s", p.id, end.code, spanText(end.took.Round(time.Millisecond)), p.request.summary)
	return e.Registry.deliver(ctx, Report{
		Session: p.request.by.Session, Key: p.request.by.Key, Call: p.request.by.ID, Process: p.id, ReplyTo: p.request.by.ReplyTo, Trust: p.request.by.Trust,
		Foreign: p.text.source(), Text: head + paragraphs(notes, text, p.out.total() == 0), Marks: e.marked(p),
	})
}

// joinNotes joins two notes; either may be "".
func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
