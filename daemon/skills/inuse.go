package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	host "hob/tools/skills"
)

// Copies are the skills that the owner has accepted, as they were then. It is safe for concurrent use.
type Copies struct {
	Guard func() *fsguard.Guard // nil before the first set of tools
	Dir   string                // the folder of the copies, in hob's state

	mu     sync.Mutex
	loaded []trusted // by name
}

// trusted is a skill in use.
type trusted struct {
	skill host.Skill
	hash  string
	dir   string            // of the copy
	sums  map[string]string // SHA-256 of each file, by its path with slashes
}

// folder returns the folder of the skills.
func (c *Copies) folder() (string, error) {
	g := c.Guard()
	if g == nil {
		return "", event.NewFault(event.Unavailable, "try again in a moment", "the tools are not ready yet")
	}
	return filepath.Join(g.Workspace(), "skills"), nil
}

// entries lists everything in the folder of the skills, which is dir. problem: it is not a folder.
func (c *Copies) entries() (dir string, list []fs.DirEntry, problem string, err error) {
	if dir, err = c.folder(); err != nil {
		return "", nil, "", err
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil, "", nil
	case err != nil:
		return dir, nil, "", err
	case !info.IsDir():
		return dir, nil, fmt.Sprintf("%s is %s, not a folder: no skill of it counts", dir, fsguard.Kind(info.Mode())), nil
	}
	list, err = os.ReadDir(dir)
	return dir, list, "", err
}

// names lists the folders that may be skills, and says if there are too many.
func (c *Copies) names() (list []string, problem string, err error) {
	_, entries, problem, err := c.entries()
	if err != nil || problem != "" {
		return nil, problem, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			list = append(list, e.Name())
		}
	}
	if len(list) > maxFolders {
		problem = fmt.Sprintf("there are %d folders in skills: only the first %d by name count", len(list), maxFolders)
		list = list[:maxFolders]
	}
	return list, problem, nil
}

// inUse returns the skills that the owner has accepted, by name.
func (c *Copies) inUse() []trusted {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

// load reads a copy and checks that it is what its name says.
func (c *Copies) load(r api.SkillRow) (trusted, error) {
	one := trusted{hash: r.Hash, dir: filepath.Join(c.Dir, r.Hash), sums: map[string]string{}}
	t, err := readPinned(one.dir)
	if err != nil {
		return one, err
	}
	if t.hash != r.Hash {
		return one, errors.New("it does not have the hash that was accepted")
	}
	text, err := t.text()
	if err != nil {
		return one, err
	}
	h, _, err := parse(r.Name, text)
	if err != nil {
		return one, err
	}
	for _, f := range t.files {
		sum := sha256.Sum256(f.data)
		one.sums[f.path] = hex.EncodeToString(sum[:])
	}
	one.skill = host.Skill{Name: h.Name, Description: h.Description, Tools: h.Tools, Files: t.others()}
	return one, nil
}

// Accepted lists the skills in use.
func (c *Copies) Accepted() []host.Skill {
	list := c.inUse()
	out := make([]host.Skill, len(list))
	for i, one := range list {
		out[i] = one.skill
	}
	return out
}

// Body returns a skill in use with its instructions, from the copy.
func (c *Copies) Body(name string) (host.Skill, string, error) {
	list := c.inUse()
	i := slices.IndexFunc(list, func(one trusted) bool { return one.skill.Name == name })
	if i < 0 {
		return host.Skill{}, "", host.ErrUnknown
	}
	t, err := readPinned(list[i].dir)
	if err != nil {
		return host.Skill{}, "", fmt.Errorf("read the skill %s: %w", name, err)
	}
	if t.hash != list[i].hash {
		return host.Skill{}, "", fmt.Errorf("the copy of the skill %s is damaged", name)
	}
	text, err := t.text()
	if err != nil {
		return host.Skill{}, "", err
	}
	_, body, err := parse(name, text)
	return list[i].skill, body, err
}

// Views returns what sandboxes show in place of folders: the copy, by the path of the folder. A folder that does not exist is left out.
func (c *Copies) Views() map[string]string {
	out := map[string]string{}
	dir, err := c.folder()
	if err != nil {
		return out
	}
	for _, one := range c.inUse() {
		if at := filepath.Join(dir, one.skill.Name); isFolder(at) {
			out[at] = one.dir
		}
	}
	return out
}

// maxHidden limits what Unaccepted lists one by one, because each path costs the start of a sandbox time.
const maxHidden = 100

// Unaccepted lists everything in the folder of the skills that is no skill in use: other folders, files beside them, and names that begin
// with a dot, such as the .git of a cloned collection. Commands that must not see foreign text do not see it. If it is more than maxHidden
// paths, the list is the folder of all skills, those in use included.
func (c *Copies) Unaccepted() (list []string) {
	dir, entries, _, err := c.entries()
	switch {
	case dir == "":
		return nil
	case err != nil:
		return []string{dir}
	}
	used := c.Views()
	for _, e := range entries {
		if at := filepath.Join(dir, e.Name()); used[at] == "" {
			list = append(list, at)
		}
	}
	if len(list) > maxHidden {
		return []string{dir}
	}
	return list
}

// unaccepted is why a file of the skills counts as foreign text.
const unaccepted = "in a skill that the owner has not accepted"

// Foreign says why a path counts as foreign text: it is in the folder of a skill, and is not what the owner accepted. path is resolved.
func (c *Copies) Foreign(path string) string {
	dir, err := c.folder()
	if err != nil {
		return ""
	}
	rel, ok := strings.CutPrefix(path, dir+string(filepath.Separator))
	if !ok || rel == "" {
		return ""
	}
	name, below, _ := strings.Cut(filepath.ToSlash(rel), "/")
	list := c.inUse()
	i := slices.IndexFunc(list, func(one trusted) bool { return one.skill.Name == name })
	switch {
	case i < 0:
		return unaccepted
	case below == "" || slices.Contains(subfolders(), below):
		return "" // the folder itself; each file in it is looked at
	}
	// The content decides, since the folder may have changed since.
	sum, err := fsguard.Sum(c.Guard(), path)
	if err != nil || sum != list[i].sums[below] {
		return unaccepted
	}
	return ""
}

// Limits of the part of the system text about skills.
const (
	promptTokens = 600
	promptHead   = "# Skills\nThe owner's instructions for certain work. Before such work, call skill with action run (or read) and the name.\n"
)

// PromptText is the part of the system text that lists the skills in use, "" if there are none. It has at most 600 tokens by a careful
// estimate: long descriptions are cut, and skills that do not fit are left to the tool skill.
func (c *Copies) PromptText() string {
	list := c.Accepted()
	if len(list) == 0 {
		return ""
	}
	text, fits := "", false
	for _, most := range []int{maxDescription, 300, 150, 80} {
		if text, fits = promptList(list, most); fits {
			break
		}
	}
	return text
}

// promptList lists skills with descriptions of at most so many characters. fits: none is left out.
func promptList(list []host.Skill, most int) (text string, fits bool) {
	text = promptHead
	for i, one := range list {
		line := "- " + one.Name + ": " + short(one.Description, most) + "\n"
		rest := ""
		if i+1 < len(list) {
			rest = fmt.Sprintf("- and %d more: skill with action list", len(list)-i)
		}
		if tokens(text+line+rest) > promptTokens {
			return text + fmt.Sprintf("- and %d more: skill with action list", len(list)-i), false
		}
		text += line
	}
	return strings.TrimSuffix(text, "\n"), true
}

// tokens estimates the tokens of a text from above: three letters, or one other character, are one token.
func tokens(text string) int {
	n, letters := 0, 0
	for _, c := range text {
		if c < utf8.RuneSelf && (c|0x20) >= 'a' && (c|0x20) <= 'z' {
			if letters%3 == 0 {
				n++
			}
			letters++
			continue
		}
		letters = 0
		if c != ' ' { // a blank is part of the word that follows
			n++
		}
	}
	return n
}
