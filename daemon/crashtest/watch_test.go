//go:build linux

package crashtest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// A watch that has fired thirty times within ten minutes is held, and would not settle: so often papers are moved at most in one home.
const maxFileChanges = 12

// watchedFolder is the folder that a watch observes, with everything that was ever put there.
type watchedFolder struct {
	dir      string
	looked   bool // the first look is done: from then on every change is told
	todo     []change
	puts     map[fileVersion]int // how often a content was put under a name
	told     map[int64]string    // by turn, what its run was told
	rested   []fileVersion       // what rested there while hob looked
	sheets   int
	shuffles int
}

// fileVersion is a content under a path.
type fileVersion struct{ path, content string }

// change is one thing that is done to a file: "write" in place, put a new one "over" it, "remove", "rename" to the name in content.
type change struct{ how, name, content string }

// plan puts one change in the line.
func (p *watchedFolder) plan(how, name, content string) {
	p.todo = append(p.todo, change{how, name, content})
}

// planFileChanges plans some changes. Each content is new only once, but an old content may come back.
func (r *harness) planFileChanges(rng *rand.Rand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.senses.papers
	if p.shuffles++; p.shuffles > maxFileChanges {
		return
	}
	for range 1 + rng.IntN(3) {
		p.sheets++
		name, sheet := []string{"a", "b", "c", "d"}[rng.IntN(4)], fmt.Sprintf("sheet %d", p.sheets)
		switch how := []string{"write", "write", "over", "over", "back", "remove", "rename"}[rng.IntN(7)]; how {
		case "back":
			p.plan("over", name, fmt.Sprintf("sheet %d", 1+rng.IntN(p.sheets)))
		case "rename":
			p.plan(how, name, fmt.Sprintf("r%d", p.sheets))
		default:
			p.plan(how, name, sheet)
		}
	}
}

// applyFileChanges carries out the planned changes, once the watch has made its first snapshot.
func (r *harness) applyFileChanges() {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.senses.papers
	if !p.looked {
		return
	}
	for _, c := range p.todo {
		if err := p.apply(c); err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
	}
	p.todo = nil
}

func (p *watchedFolder) apply(c change) error {
	path, put := filepath.Join(p.dir, c.name), fileVersion{filepath.Join(p.dir, c.name), c.content}
	switch c.how {
	case "write":
		p.puts[put]++
		return os.WriteFile(path, []byte(c.content+"\n"), 0o600)
	case "over":
		p.puts[put]++
		draft := filepath.Join(filepath.Dir(p.dir), "draft")
		return errors.Join(os.WriteFile(draft, []byte(c.content+"\n"), 0o600), os.Rename(draft, path))
	case "remove":
		return ignoreMissing(os.Remove(path))
	default:
		raw, err := os.ReadFile(path)
		if err != nil {
			return ignoreMissing(err)
		}
		to := filepath.Join(p.dir, c.content)
		p.puts[fileVersion{to, strings.TrimSpace(string(raw))}]++
		return os.Rename(path, to)
	}
}

// ignoreMissing drops the error for a file that does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// changeFilesWhileRunning moves files while hob watches them, after its first scan. It returns false if hob has died.
func (r *harness) changeFilesWhileRunning(ctx context.Context, c *client.Client) bool {
	r.mu.Lock()
	looked := r.senses.papers.looked
	r.mu.Unlock()
	if !looked {
		w, err := client.Show(ctx, c, api.ShowWatch, "papers")
		if err != nil {
			return false
		}
		if !w.Ready {
			return true
		}
		r.mu.Lock()
		r.senses.papers.looked = true
		r.mu.Unlock()
	}
	r.applyFileChanges()
	return true
}

// now returns the contents of the folder.
func (p *watchedFolder) now() (map[string]string, error) {
	now := map[string]string{}
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		now[filepath.Join(p.dir, e.Name())] = strings.TrimSpace(string(raw))
	}
	return now, err
}

// What a watch tells: a line for each change, and behind them the contents.
var (
	happened = regexp.MustCompile(`(?m)^- (created|changed|removed|renamed) (\S+?)(?: \(was (\S+)\))?(?:, .*)?$`)
	contents = regexp.MustCompile(`(?m)^\+\+\+ (\S+)\n@@ .*\n(?:-.*\n)?\+(.*)$`)
)

// replay does with an empty folder what a watch has told, in this order, and counts how often it told of each page.
func replay(texts []string) (now map[string]string, told map[fileVersion]int) {
	now, told = map[string]string{}, map[fileVersion]int{}
	for _, text := range texts {
		lines := happened.FindAllStringSubmatch(text, -1)
		for _, m := range lines { // of a row's lines the renames come first: something new may stand under an old name
			if how, path, from := m[1], m[2], m[3]; how == "renamed" {
				now[path] = now[from]
				delete(now, from)
				told[fileVersion{path, now[path]}]++
			}
		}
		for _, m := range lines {
			switch how, path := m[1], m[2]; how {
			case "removed":
				delete(now, path)
			case "created", "changed":
				now[path] = ""
			}
		}
		for _, m := range contents.FindAllStringSubmatch(text, -1) {
			now[m[1]] = m[2]
			told[fileVersion{m[1], m[2]}]++
		}
	}
	return now, told
}

// unreportedChange describes a change of the folder that has not been reported yet; "" for none.
func (r *harness) unreportedChange(ctx context.Context, c *client.Client) string {
	r.mu.Lock()
	looked, todo := r.senses.papers.looked, len(r.senses.papers.todo)
	r.mu.Unlock()
	switch {
	case todo > 0:
		return fmt.Sprintf("%d changes are planned and the watch has not had its first look", todo)
	case !looked:
		return ""
	}
	lies, err := r.senses.papers.now()
	if err != nil {
		return err.Error()
	}
	texts, err := r.watchReports(ctx, c)
	if err != nil {
		return err.Error()
	}
	if told, _ := replay(texts); !maps.Equal(told, lies) {
		return fmt.Sprintf("papers lie there that are not told of: %v, told: %v", lies, told)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, content := range lies {
		r.senses.papers.rested = append(r.senses.papers.rested, fileVersion{path, content})
	}
	return ""
}

// watchReports returns the prompts of the watch's runs, oldest first.
func (r *harness) watchReports(ctx context.Context, c *client.Client) (texts []string, err error) {
	fires, err := client.List(ctx, c, api.Fires, client.Filter{Name: "watch:papers", State: "ran", Limit: 1000})
	if err != nil {
		return nil, err
	}
	known, last := r.senses.papers.told, int64(0)
	for _, f := range slices.Backward(fires) {
		if f.Turn == last {
			continue // one turn for several
		}
		last = f.Turn
		if known[f.Turn] == "" {
			turn, err := client.Show(ctx, c, api.ShowTurn, strconv.FormatInt(f.Turn, 10))
			if err != nil {
				return nil, err
			}
			for _, item := range turn.Items {
				if item.Kind == "input" {
					known[f.Turn] += item.Text + "\n"
				}
			}
		}
		texts = append(texts, known[f.Turn])
	}
	return texts, nil
}

// checkWatch checks a watch: each settled file was reported, no change was reported twice, and the snapshot equals the folder.
func (r *harness) checkWatch(b records, sum *counts) (broken []string) {
	p := &r.senses.papers
	if !p.looked {
		return nil
	}
	lies, err := p.now()
	if err != nil {
		return []string{err.Error()}
	}
	snapshot := map[string]string{}
	for _, row := range b.rows("SELECT s.path, s.hash FROM snapshots s JOIN triggers t ON t.id = s.watch WHERE t.name = 'papers' AND s.gone = 0 AND s.dir = 0") {
		snapshot[row[0]] = row[1]
	}
	hashes := map[string]string{}
	for path, content := range lies {
		sum := sha256.Sum256([]byte(content + "\n"))
		hashes[path] = hex.EncodeToString(sum[:])
	}
	if !maps.Equal(snapshot, hashes) {
		broken = append(broken, cut(fmt.Sprintf("the snapshot is not what lies there: %v, %v", snapshot, hashes)))
	}
	var texts []string
	for _, row := range b.rows("SELECT (SELECT group_concat(json_extract(p.value, '$.text'), char(10)) FROM json_each(i.parts) p) FROM inbox i WHERE i.source = 'watch:papers' ORDER BY i.seq") {
		texts = append(texts, row[0])
	}
	_, told := replay(texts)
	sum.papers = len(told)
	for _, page := range p.rested {
		if told[page] == 0 {
			broken = append(broken, fmt.Sprintf("%s held %q, at rest, and nobody was told", page.path, page.content))
		}
	}
	for page, n := range told {
		if n > p.puts[page] {
			broken = append(broken, fmt.Sprintf("%q in %s was told %d times, and put there %d times", page.content, page.path, n, p.puts[page]))
		}
	}
	return broken
}
