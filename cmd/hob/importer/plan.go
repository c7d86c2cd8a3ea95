package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/cmd/hob/cli"
	"hob/scheduler"
	"hob/scheduler/spec"
)

// Item is one thing of the other program, and what became of it.
type Item struct {
	Kind  string `json:"kind"`         // file, skill, job, access, secret, other
	From  string `json:"from"`         // its path below the folder, or its name
	To    string `json:"to,omitempty"` // its path below hob's home, or its name in hob
	State string `json:"state"`        // imported, already (it was there), kept (yours is another), failed (try again after the reason is gone), left
	Why   string `json:"why,omitempty"`

	text []byte // of a file or secret
	hash string // of a skill, when hob has read it
	job  *job
}

// The states of an item. In a plan everything that can be imported is.
const (
	imported = "imported"
	already  = "already"
	kept     = "kept"
	failed   = "failed"
	left     = "left"
)

// plan is what will be imported, and what is left with the reason.
type plan struct {
	folder  *folder
	secrets bool // they are imported
	items   []Item
	used    map[string]bool // names of jobs in the plan
}

// leave notes something that is not imported. It has failed if it could not be read.
func (p *plan) leave(kind, from, format string, args ...any) {
	why, state := fmt.Errorf(format, args...), left
	if unread := (*unreadError)(nil); errors.As(why, &unread) {
		state = failed
	}
	p.items = append(p.items, Item{Kind: kind, From: from, State: state, Why: why.Error()})
}

// text reads a text file. It returns false if there is none, or after it has noted why the file is left.
func (p *plan) text(kind, from string) (text []byte, ok bool) {
	text, err := p.folder.text(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.leave(kind, from, "%w", err)
	}
	return text, err == nil
}

// file plans to copy a text file into the workspace. One that is missing is nothing. change may be nil.
func (p *plan) file(from, to, note string, change func([]byte) []byte) {
	text, ok := p.text("file", from)
	switch {
	case !ok:
	case len(bytes.TrimSpace(text)) == 0:
		p.leave("file", from, "it is empty")
	default:
		if change != nil {
			text = change(text)
		}
		p.items = append(p.items, Item{Kind: "file", From: from, To: "workspace/" + to, State: imported, Why: note, text: text})
	}
}

// isFolder reports whether there is a folder of a name. Anything else with the name is noted.
func (p *plan) isFolder(name string) bool {
	info, err := p.folder.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		p.leave("other", name, "%w", &unreadError{err})
	case err == nil && !info.IsDir():
		p.leave("other", name, "it is a link or a file and not a folder; links are not followed")
	}
	return err == nil && info.IsDir()
}

// inside lists what is in a folder, without hidden files.
func (p *plan) inside(dir string) (list []string) {
	if !p.isFolder(dir) {
		return nil
	}
	entries, err := fs.ReadDir(p.folder.root.FS(), dir)
	if err != nil {
		p.leave("other", dir, "%w", &unreadError{err})
	}
	for _, e := range entries[:min(len(entries), maxEntries)] {
		if !strings.HasPrefix(e.Name(), ".") {
			list = append(list, path.Join(dir, e.Name()))
		}
	}
	return list
}

// walk calls each for everything below a folder. Links are files here.
func (p *plan) walk(dir string, each func(name string, isFolder bool) error) {
	if !p.isFolder(dir) {
		return
	}
	err := fs.WalkDir(p.folder.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return &unreadError{err}
		}
		return each(name, e.IsDir())
	})
	if err != nil {
		p.leave("other", dir, "%w", err)
	}
}

// memories plans to copy the notes below a folder, without hidden folders.
func (p *plan) memories(dir string) {
	n := 0
	p.walk(dir, func(name string, isFolder bool) error {
		switch n++; {
		case n > maxEntries:
			return fmt.Errorf("it has more than %d files", maxEntries)
		case isFolder && strings.HasPrefix(path.Base(name), "."):
			return fs.SkipDir
		case isFolder:
		case path.Ext(name) != ".md":
			p.leave("file", name, "it is no note: the files of hob's memory end with .md")
		default:
			p.file(name, "memory/"+strings.TrimPrefix(name, dir+"/"), "", nil)
		}
		return nil
	})
}

// skills plans to add the skills below a folder, except those in skip: the folders that have a SKILL.md, without those inside another skill.
func (p *plan) skills(dir string, skip map[string]bool) {
	n := 0
	p.walk(dir, func(from string, isFolder bool) error {
		name := path.Base(from)
		switch {
		case !isFolder:
			return nil
		case strings.HasPrefix(name, "."), strings.Count(from, "/")-strings.Count(dir, "/") > maxDepth:
			return fs.SkipDir
		case n >= maxSkills:
			return fs.SkipAll
		case !p.folder.is(path.Join(from, "SKILL.md"), true):
			return nil
		case skip[name]:
			p.leave("skill", from, "it comes with the other program and is not yours")
		default:
			p.items = append(p.items, Item{Kind: "skill", From: from, To: name, State: imported, Why: "read it, then: hob skills trust " + cli.Quote(name)})
		}
		n++
		return fs.SkipDir
	})
}

// job is a job as the cron tool takes it. It has no rights.
type job struct {
	Action   string `json:"action"`
	Name     string `json:"name"`
	Schedule string `json:"schedule,omitempty"`
	Zone     string `json:"tz,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
	Session  string `json:"session,omitempty"`
	Deliver  string `json:"deliver,omitempty"`

	notes []string // what is different in hob
}

// note adds a note if it holds.
func (j *job) note(holds bool, text string) {
	if holds {
		j.notes = append(j.notes, text)
	}
}

// jobsFile has the jobs: an object with a list of them.
const jobsFile = "cron/jobs.json"

// storedJobs reads the list of jobsFile.
func (p *plan) storedJobs() []json.RawMessage {
	var store struct{ Jobs []json.RawMessage }
	if !p.object(jobsFile, &store) {
		return nil
	}
	return store.Jobs
}

// planJobs plans jobs. convert returns why a job cannot be imported.
func planJobs[J any](p *plan, jobs []json.RawMessage, convert func(J) (job, error)) {
	for i, raw := range jobs {
		var name struct{ Name string }
		var theirs J
		err := cmp.Or(json.Unmarshal(raw, &name), json.Unmarshal(raw, &theirs))
		var made job
		if err == nil {
			made, err = convert(theirs)
		}
		if err != nil {
			p.leave("job", cmp.Or(name.Name, fmt.Sprintf("number %d", i+1)), "%v", plain(err))
			continue
		}
		p.addJob(made)
	}
}

// maxJobName is the limit of the cron tool, in bytes.
const maxJobName = 64

// addJob plans to make a job.
func (p *plan) addJob(j job) {
	from := j.Name
	j.Name = strings.Trim(regexp.MustCompile(`[^\p{L}\p{N}]+`).ReplaceAllString(strings.ToLower(j.Name), "-"), "-")
	if most := maxJobName - 4; len(j.Name) > most { // room for a number
		j.Name = strings.TrimRight(strings.ToValidUTF8(j.Name[:most], ""), "-")
	}
	j.Name = cmp.Or(j.Name, "imported")
	for n, name := 2, j.Name; p.used[j.Name]; n++ {
		j.Name = fmt.Sprintf("%s-%d", name, n)
	}
	p.used[j.Name] = true
	j.Action = "add"
	j.notes = append(j.notes, "paused, and without rights: hob cron resume "+j.Name)
	p.items = append(p.items, Item{Kind: "job", From: from, To: j.Name, State: imported, Why: strings.Join(j.notes, "; "), job: &j})
}

// at is the schedule of a job that runs once. A time without an offset is read in a zone.
func at(text string, zone *time.Location) (schedule string, err error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = time.ParseInLocation("2006-01-02T15:04:05", text, zone)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("its time %q is not understood", text)
	case !t.After(time.Now()):
		return "", errors.New("its time is over")
	}
	return "at " + t.Format(time.RFC3339), nil
}

// cron takes a cron expression that hob knows too: five fields, six with the seconds first, or a name such as @daily.
func cron(text string) (schedule string, err error) {
	if _, err := spec.Parse("cron " + text); err != nil {
		return "", fmt.Errorf("hob does not have its schedule: %w", err)
	}
	return text, nil
}

// location returns the time zone of a job by its name. Without a name it is that of this machine.
func location(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	return scheduler.Zone(name)
}

// every is a schedule of a time span.
func every(d time.Duration) (schedule string, err error) {
	s, err := spec.Every(d)
	if err != nil {
		return "", fmt.Errorf("hob does not have its schedule: %w", err)
	}
	return s.String(), nil
}

// allowed notes people that the other program listens to. hob listens to a person after a pairing, which only that person's account can do.
func (p *plan) allowed(where string, ids []string) {
	for _, id := range ids {
		what := "hob listens to an account after you have paired it: hob pairing start CHANNEL"
		if id == "*" {
			what = "hob never listens to everybody"
		}
		p.leave("access", where+": "+id, "%s", what)
	}
}

// mcpServers notes MCP servers. They are started with rights and secrets that the owner gives, so they are not imported.
func (p *plan) mcpServers(where string, list map[string]any) {
	for _, name := range sorted(list) {
		p.leave("other", where+"."+name, "an MCP server: hob mcp add %s", cli.Quote(name))
	}
}

// secretName reports whether the value of a setting of this name is a secret.
func secretName(name string) bool {
	return regexp.MustCompile(`(?i)(token|api_?key|secret|password|passwd)$`).MatchString(name)
}

// secret plans to copy a secret, or notes that it is left.
func (p *plan) secret(from, value string) {
	if value == "" || strings.HasPrefix(value, "${") || strings.ContainsAny(value, "\n\r") {
		return // a reference to a variable, or no single value
	}
	if !p.secrets {
		p.leave("secret", from, "secrets are imported only with --secrets")
		return
	}
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(path.Base(from)), "-"), "-")
	p.items = append(p.items, Item{Kind: "secret", From: from, To: "secrets/" + name, State: imported, Why: `refer to it as "file:secrets/` + name + `"`, text: []byte(value + "\n")})
}

// env plans the secrets of a file of variables, and calls other for the rest.
func (p *plan) env(from string, other func(name, value string)) {
	text, _ := p.text("other", from)
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`); !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if secretName(name) {
			p.secret(from+"/"+name, value)
		} else if other != nil {
			other(name, value)
		}
	}
}

// rest notes everything in a folder that was not looked at and has no item, with the reasons for what is known.
func (p *plan) rest(dir string, seen []string, reasons map[string]string) {
	for _, from := range p.inside(dir) {
		noted := slices.ContainsFunc(p.items, func(it Item) bool { return it.From == from })
		if name := path.Base(from); !noted && !slices.Contains(seen, name) {
			p.leave("other", from, "%s", cmp.Or(reasons[name], "hob does not know what it is; copy it by hand if you need it"))
		}
	}
}

// object decodes a document of JSON5 into values with JSON tags. It returns false if there is none, or after it has noted why the file is left.
func (p *plan) object(from string, to ...any) bool {
	text, ok := p.text("other", from)
	if !ok {
		return false
	}
	doc, err := parseJSON5(text)
	if err == nil {
		text, err = json.Marshal(doc)
	}
	for _, v := range to {
		if err == nil {
			err = json.Unmarshal(text, v)
		}
	}
	if err != nil {
		p.leave("other", from, "it cannot be used: %v", plain(err))
	}
	return err == nil
}

// plain puts an error about the type of a value in words.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("hob does not expect a value of the type %s for %q", wrong.Value, cmp.Or(wrong.Field, "the whole"))
	}
	return err
}
