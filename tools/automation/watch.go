package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
)

// WatchInput is the input of watch.
type WatchInput struct {
	Action string `json:"action" jsonschema:"what to do" enum:"list,add,remove,pause,resume"`
	ID     int64  `json:"id,omitempty" jsonschema:"watch; or name" min:"1"`
	filewatch.Draft
}

// WatchOutput is the data that watch returns.
type WatchOutput struct {
	Watches []filewatch.View `json:"watches,omitempty" jsonschema:"the watches concerned"`
}

// NewWatch returns the tool watch, which runs prompts when files change. g resolves paths, so that approvals name the real places. A call
// takes the same two steps as one of cron.
func NewWatch(watches Watches, g *fsguard.Guard) tools.Tool {
	w := watcher{watches, g}
	return tools.New[WatchInput, WatchOutput](tools.Spec{
		Name: "watch", Group: "automation", Positional: "action", Example: "add --paths '~/Downloads/*.pdf' --prompt 'name the new file'",
		Description: "Run a prompt when files or folders change, and look after such watches.",
	}, w.intent, w.run)
}

// watcher is the tool watch. guard decides which paths a call may watch.
type watcher struct {
	watches Watches
	guard   *fsguard.Guard
}

// intent describes what a call would do. Paths are resolved here and kept for the run, which watches exactly the approved places.
func (w watcher) intent(ctx context.Context, call tools.Call, in WatchInput) (tools.Intent, error) {
	if err := wellFormed(in); err != nil {
		return tools.Intent{}, err
	}
	i := tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: watchSummary(in)}
	if in.Action == "list" {
		i.Effect = tools.Read
	}
	// The runs of this watch will use these rights without the approval that other turns need.
	if in.Allow != "" {
		i.Scopes = append(i.Scopes, tools.Config)
		i.Warnings = append(i.Warnings, "the watch may then use "+in.Allow+" without asking")
	}
	if len(in.Paths) > 0 {
		i.Scopes = append(i.Scopes, tools.FSRead)
	}
	var keep []string
	for _, path := range in.Paths {
		place, pattern, err := w.resolve(call, path)
		if err != nil {
			return tools.Intent{}, err
		}
		p := tools.PathOf(place, false)
		p.Foreign = "" // the call itself reads nothing from it
		if within(w.guard.Home(), place.Path) && in.Action == "add" && !in.Flat {
			p.Area = tools.Sensitive // ask for approval
			i.Warnings = append(i.Warnings, place.Path+" has very many folders: name the folders that matter, or give flat")
		}
		i.Paths, keep = append(i.Paths, p), append(keep, pattern)
	}
	// The run uses these paths, so a link that changes after the approval has no effect.
	i.Keep = keep
	old, err := w.planned(ctx, call, in, keep)
	if err != nil {
		return tools.Intent{}, err
	}
	addRecipient(call, in, old, &i)
	// The resolved paths are part of the approval, besides the ones that the model wrote.
	i.Canonical, err = tools.Canonical(struct {
		Tool string `json:"tool"`
		WatchInput
		Resolved []string `json:"resolved,omitempty"`
	}{"watch", in, keep})
	return i, err
}

// within reports whether a path is a folder or inside it.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// planned returns the watch that a call concerns, as it is now; the zero View for a new one and for lists. It also works out a new watch,
// so that the user is not asked to approve a call that would be refused later.
func (w watcher) planned(ctx context.Context, call tools.Call, in WatchInput, paths []string) (old filewatch.View, err error) {
	switch in.Action {
	case "list":
	case "add":
		_, _, err = w.compute(ctx, call, in, paths)
	default:
		old, err = w.find(ctx, in)
	}
	return old, err
}

// addRecipient adds the address that the watch answers to, if the call makes the watch or resumes it.
func addRecipient(call tools.Call, in WatchInput, old filewatch.View, i *tools.Intent) {
	to := event.Address(in.Deliver)
	if in.Action == "resume" {
		to = old.Deliver
	}
	if to == "" || to == event.ToNone {
		return
	}
	i.Addresses = []event.Address{to}
	if to != event.ToOwner && to != call.ReplyTo {
		i.Scopes = append(i.Scopes, tools.Messages)
	}
}

// globs are the characters that make a component of a path a pattern.
const globs = "*?[{"

// resolve resolves the part of a path before its first pattern, and returns it and the whole path with that part resolved.
func (w watcher) resolve(call tools.Call, path string) (fsguard.Place, string, error) {
	front, rest := filepath.Clean(path), ""
	// Only a path without patterns can be resolved. Cut components from the end until none has one.
	for strings.ContainsAny(front, globs) {
		rest = filepath.Join(filepath.Base(front), rest)
		up := filepath.Dir(front)
		if up == front {
			break
		}
		front = up
	}
	place, err := w.guard.Resolve(call.Workdir, front)
	if err != nil {
		return place, "", tools.RefusePath(w.guard, call, path, err)
	}
	// Watching hob's own state would make it react to itself.
	if place.Area == fsguard.State {
		return place, "", tools.RefusePath(w.guard, call, path, fsguard.ErrState)
	}
	return place, filepath.Join(place.Path, rest), nil
}

// wellFormed lists all fields that are missing or not allowed for the action, in one error. The file watcher checks their values.
func wellFormed(in WatchInput) error {
	faults := in.Faults()
	if len(faults) == 0 {
		return nil
	}
	return tools.Refuse(tools.Validation, "action list shows the watches", "watch %s: %s", in.Action, strings.Join(faults, "; "))
}

// Faults lists errors in the fields that their schema cannot express.
func (in WatchInput) Faults() (faults []string) {
	add := func(bad bool, text string) {
		if bad {
			faults = append(faults, text)
		}
	}
	if in.Action == "add" {
		add(len(in.Paths) == 0, "paths: missing")
		add(strings.TrimSpace(in.Prompt) == "", "prompt: missing")
		add(in.ID != 0, "id: a new watch gets its own")
		// The schema cannot say that an entry must have text.
		for _, p := range in.Paths {
			add(strings.TrimSpace(p) == "", "paths: one is empty")
		}
		_, err := span(in.Settle)
		add(err != nil, "settle: want a duration such as 2s")
		_, err = span(in.Poll)
		add(err != nil, "poll: want a duration such as 30s")
		faults = append(faults, checkNew(in)...)
	} else {
		add(in.Action != "list" && in.ID == 0 && in.Name == "", "id or name: missing")
		// Other actions take only a name or an id.
		other := in.Draft
		other.Name = ""
		add(len(scheduler.Given(other)) > 0,
			"a watch is not changed in place: remove it and add it anew")
	}
	return faults
}

// checkNew checks the address and the rights of a new watch. Its runs read file names and contents that anybody may have written, so they
// never get the shell or a folder to write to.
func checkNew(in WatchInput) (faults []string) {
	if _, err := event.ParseAddress(in.Deliver); in.Deliver != "" && err != nil {
		faults = append(faults, "deliver: "+err.Error())
	}
	for word := range strings.SplitSeq(in.Allow, ",") {
		word = strings.TrimSpace(word)
		kind, _, _ := strings.Cut(word, ":")
		if word != "" && (!rightForm().MatchString(word) || kind != "net" && kind != "read" && kind != "message") {
			faults = append(faults, "allow: "+word+" is none of net, net:HOST, read:PATH and message:ADDRESS")
		}
	}
	return faults
}

// span parses a duration; "" is 0, the default.
func span(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := tools.Duration(text)
	if err == nil && d <= 0 {
		err = errors.New("it is not above 0")
	}
	return d, err
}

// watchSummary describes the call in one line, for approvals and the log.
func watchSummary(in WatchInput) string {
	text := strings.TrimSpace(actionOn(in.Action, "watch", "watches") + " " + in.Name)
	if in.Name == "" && in.ID != 0 {
		text += " #" + strconv.FormatInt(in.ID, 10)
	}
	if len(in.Paths) > 0 {
		text += ": " + brief(strings.Join(in.Paths, ", "))
	}
	if in.Prompt != "" {
		text += ": " + brief(in.Prompt)
	}
	return text + withRights(in.Allow)
}

// run executes the call. Changes are rows that the store commits with the result.
func (w watcher) run(ctx context.Context, call tools.Call, in WatchInput, i tools.Intent) (tools.Result, error) {
	if err := wellFormed(in); err != nil {
		return tools.Result{}, err
	}
	switch in.Action {
	case "list":
		list, err := w.watches.List(ctx)
		return tools.Result{Content: watchTable(call, list), Data: WatchOutput{list}, Foreign: foreignWatches(list...)}, err
	case "add":
		// The paths as the intent resolved them.
		paths, _ := i.Keep.([]string)
		return w.add(ctx, call, in, paths)
	}
	one, err := w.find(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	one, change, err := w.watches.Alter(ctx, one, Verb(in.Action))
	if err != nil {
		return tools.Result{}, err
	}
	// As for cron, a watch that is in the wanted state already needs no row.
	if change == nil {
		return tools.Result{Content: unchanged("watch "+one.Name, Verb(in.Action)), Data: WatchOutput{[]filewatch.View{one}}, Foreign: foreignWatches(one)}, nil
	}
	text := map[Verb]string{
		Remove: fmt.Sprintf("the watch %s is removed; it was: %s, %s", one.Name, strings.Join(one.Paths, ", "), brief(one.Prompt)),
		Pause:  "the watch " + one.Name + " is paused", Resume: "resumed: " + watchSentence(one),
	}[Verb(in.Action)]
	return answer(text, one, change), nil
}

// answer returns the result for a changed watch. The agent commits the change with the result.
func answer(text string, one filewatch.View, change tools.Change) tools.Result {
	return tools.Result{Content: text, Data: WatchOutput{[]filewatch.View{one}}, Changes: []tools.Change{change}, Foreign: foreignWatches(one)}
}

// compute returns a new watch, and the row to store. The call, not the model, supplies the trust, the taint and the address.
func (w watcher) compute(ctx context.Context, call tools.Call, in WatchInput, paths []string) (filewatch.View, tools.Change, error) {
	d := in.Draft
	d.Paths, d.Trust, d.Permissions.Tainted, d.Typed, d.ReplyTo, d.Now = paths, call.Trust, call.Tainted, call.Typed, call.ReplyTo, call.Now
	// Durations are stored in Go's form; a call may also give days and weeks, such as 2d.
	for _, period := range []*string{&d.Settle, &d.Poll} {
		length, err := span(*period)
		if err != nil {
			return filewatch.View{}, nil, err
		}
		if length > 0 {
			*period = length.String()
		}
	}
	return w.watches.Plan(ctx, d)
}

// add returns the result of add with the row to store, and warns about folders that are missing or too many.
func (w watcher) add(ctx context.Context, call tools.Call, in WatchInput, paths []string) (tools.Result, error) {
	one, change, err := w.compute(ctx, call, in, paths)
	if err != nil {
		return tools.Result{}, err
	}
	text := "added: " + watchSentence(one)
	for _, path := range paths {
		if place, _, err := w.resolve(call, path); err == nil && !place.Exists() {
			text += "\nwaits: " + place.Path + " is not there yet"
		}
	}
	// The system limits the number of folders that can be watched.
	if crowded := w.watches.Crowded(ctx, one); crowded != "" {
		text += "\n" + crowded
	}
	return answer(text, one, change), nil
}

// foreignWatches returns why a list of watches is foreign text, "" if it is not. It is foreign if a prompt was written after its turn had
// read foreign text, or if a problem quotes file names, which anybody may have chosen.
func foreignWatches(list ...filewatch.View) string {
	for _, one := range list {
		if one.Tainted {
			return "the prompt of watch " + one.Name
		}
		if one.Trouble != "" {
			return "what watch " + one.Name + " cannot see"
		}
	}
	return ""
}

// whichWatch returns the id of the call, else its name.
func whichWatch(in WatchInput) string {
	if in.ID != 0 {
		return strconv.FormatInt(in.ID, 10)
	}
	return in.Name
}

// find returns the watch that the call names. If there is none, the error suggests similar names.
func (w watcher) find(ctx context.Context, in WatchInput) (filewatch.View, error) {
	which := whichWatch(in)
	one, ok, err := w.watches.Find(ctx, which)
	if err == nil && ok && in.ID != 0 && in.Name != "" && in.Name != one.Name {
		err = tools.Refuse(tools.Validation, "give one of the two", "watch %s: watch %d is %s, not %s", in.Action, in.ID, one.Name, in.Name)
	}
	if err != nil || ok {
		return one, err
	}
	list, err := w.watches.List(ctx)
	if err != nil {
		return filewatch.View{}, err
	}
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Name
	}
	return filewatch.View{}, tools.Refuse(tools.NotFound, cmp.Or(tools.Instead(which, names, mostNames), "there are no watches yet"), "there is no watch %s", which)
}

// watchSentence describes a watch and its paths.
func watchSentence(w filewatch.View) string {
	text := w.Name + ": " + strings.Join(w.Paths, ", ")
	if w.ID != 0 {
		text = fmt.Sprintf("%s (#%d): %s", w.Name, w.ID, strings.Join(w.Paths, ", "))
	}
	if ways := watchWays(w); ways != "" {
		text += "\n" + ways
	}
	switch {
	case w.Broken != "":
		text += "\nit does not watch: " + w.Broken
	case w.Paused:
		text += "\npaused"
	case w.Trouble != "":
		text += "\n" + w.Trouble
	}
	if w.NeedsModel {
		text += "\n" + event.NeedsModel
	}
	return fmt.Sprintf("%s\nprompt: %s\nanswers go to: %s", text, brief(w.Prompt), w.Deliver)
}

// watchWays describes the options of a watch.
func watchWays(w filewatch.View) string {
	var ways []string
	add := func(holds bool, text string) {
		if holds {
			ways = append(ways, text)
		}
	}
	add(len(w.Include) > 0, "only "+strings.Join(w.Include, ", "))
	add(len(w.Events) > 0, "events "+strings.Join(w.Events, ", "))
	add(w.Flat, "without subfolders")
	add(w.Gitignore, "without what .gitignore leaves out")
	add(w.Own, "hob's own writes too")
	add(w.Poll != "", "polled every "+w.Poll)
	add(w.Plain, event.NoModelAsked)
	add(len(w.Allow) > 0, "may use "+strings.Join(w.Allow, ", "))
	add(w.Settle != "", "after "+w.Settle+" without changes")
	return strings.Join(ways, "; ")
}

// watchTable lists watches, one per line.
func watchTable(call tools.Call, list []filewatch.View) string {
	if len(list) == 0 {
		return "there are no watches yet"
	}
	lines := make([]string, 0, len(list))
	for _, one := range list {
		// As for jobs, the state with the greatest consequence comes first.
		state := "watching"
		switch {
		case one.Broken != "":
			state = "does not watch: " + one.Broken
		case one.Paused:
			state = "paused"
		case one.Waits != "":
			state = "waits for " + one.Waits
		case !one.Held.IsZero():
			state = "collects changes until " + call.Shown(one.Held)
		case one.Trouble != "":
			state = "watching, but: " + one.Trouble
		case !one.Ready:
			state = "first scan is running"
		}
		if one.Failures > 0 {
			state += fmt.Sprintf(", failed %d in a row", one.Failures)
		}
		lines = append(lines, fmt.Sprintf("#%d %s | %s | %s | %s", one.ID, one.Name, brief(strings.Join(one.Paths, ", ")), state+event.PlainMark(one.Plain), brief(one.Prompt)))
	}
	return strings.Join(lines, "\n")
}
