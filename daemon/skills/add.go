package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
)

// Clone fetches the newest files of a git repository over https; below limits it to a folder. each is called for every regular file and every
// symbolic link (link). Its errors are sentences for the owner.
type Clone func(ctx context.Context, address, below string, each func(name string, exec, link bool, data []byte) error) error

// Add copies a skill into the workspace. The owner has not accepted it by that. A skill of the name must not exist.
func (s *Service) Add(ctx context.Context, from api.SkillSource) (api.Skill, error) {
	t, err := s.fetch(ctx, from)
	if err != nil {
		return api.Skill{}, refused(err)
	}
	text, err := t.text()
	if err != nil {
		return api.Skill{}, refused(fmt.Errorf("%s: %w", from.From, err))
	}
	h, _, err := parse(named(text), text)
	if err == nil {
		_, err = s.check(h.Name, t)
	}
	if err != nil {
		return api.Skill{}, refused(err)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.install(h.Name, t); err != nil {
		if text, hint := sys.DiskProblem(err); text != "" {
			err = &event.Fault{Kind: event.Unavailable, Text: "the skill was not added: " + text, Hint: hint, Err: err}
		}
		return api.Skill{}, refused(err)
	}
	return s.Show(ctx, h.Name)
}

// refused makes an answer for the owner of an error.
func refused(err error) error {
	if _, ok := event.AsFault(err); ok {
		return err
	}
	return event.NewFault(event.Invalid, "nothing was added", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// named returns the name in a SKILL.md, "" if it cannot be read: parse then says why.
func named(text []byte) string {
	front, _, err := split(string(text))
	if err != nil {
		return ""
	}
	f, err := decode(front)
	if err != nil {
		return ""
	}
	var faults []error
	return f.text("name", maxName, &faults)
}

// fetch reads the tree from where it comes.
func (s *Service) fetch(ctx context.Context, from api.SkillSource) (tree, error) {
	if !strings.Contains(from.From, "://") && !strings.HasPrefix(from.From, "git@") {
		if from.Path != "" {
			return tree{}, errors.New("--path names a folder inside a repository; name the folder itself instead")
		}
		at, err := fsguard.Absolute(from.From)
		if err != nil {
			return tree{}, err
		}
		if s.Copies.Guard() == nil {
			_, err := s.Copies.folder()
			return tree{}, err
		}
		return readTree(s.Copies.Guard(), at)
	}
	if err := repository(from.From); err != nil {
		return tree{}, err
	}
	below := path.Clean("/" + from.Path)[1:]
	if s.Clone == nil {
		return tree{}, errors.New("repositories cannot be fetched here")
	}
	var files []file
	bytes := 0
	err := s.Clone(ctx, from.From, below, func(name string, exec, link bool, data []byte) error {
		if link {
			data = nil
			name += "\x00" // refused if the skill holds it
		}
		bytes += len(data)
		files = append(files, file{name, exec, data})
		if bytes > 4*maxTree || len(files) > 20*maxFiles {
			return errors.New("the repository is too large: name the folder of the skill with --path")
		}
		return nil
	})
	if err != nil {
		return tree{}, err
	}
	return within(files, below)
}

// repository checks the address of a repository: https and nothing else.
func repository(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an address", short(address, 200))
	case u.Scheme != "https":
		return fmt.Errorf("%s: only https is used for repositories; fetch it yourself, then: hob skills add PATH", short(address, 200))
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("want the plain address of a repository, without a password: https://example.org/owner/name")
	}
	return nil
}

// within picks the one skill among the files of a repository. below is the folder that the owner named, "": none.
func within(files []file, below string) (tree, error) {
	var homes []string
	for _, f := range files {
		if path.Base(f.path) == skillFile && (below == "" || path.Dir(f.path) == below) {
			homes = append(homes, path.Dir(f.path))
		}
	}
	switch {
	case len(homes) == 0 && below != "":
		return tree{}, fmt.Errorf("there is no %s in %s of the repository", skillFile, short(below, 200))
	case len(homes) == 0:
		return tree{}, errors.New("the repository holds no " + skillFile)
	case len(homes) > 1:
		for i := range homes {
			homes[i] = short(homes[i], 100)
		}
		return tree{}, fmt.Errorf("the repository holds %d skills; choose one with --path: %s", len(homes), strings.Join(homes[:min(len(homes), 20)], ", "))
	}
	var own []file
	for _, f := range files {
		rel, ok := f.path, homes[0] == "."
		if !ok {
			rel, ok = strings.CutPrefix(f.path, homes[0]+"/")
		}
		if !ok || strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") {
			continue
		}
		if strings.HasSuffix(rel, "\x00") {
			return tree{}, fmt.Errorf("%s is a symbolic link: a skill holds real files only", short(strings.TrimSuffix(rel, "\x00"), 200))
		}
		f.path = rel
		own = append(own, f)
	}
	return sealed(own), nil
}

// install writes a tree into the workspace, first under another name, and checks there that it is a folder that can be a skill.
func (s *Service) install(name string, t tree) error {
	dir, err := s.Copies.folder()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- as the workspace's other folders
		return err
	}
	if !isFolder(dir) {
		return event.NewFault(event.Clash, "put a real folder there", "%s is a symbolic link", dir)
	}
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.Clash, "hob skills rm "+name+" removes it", "there is a skill %s already", name)
	}
	temp, err := os.MkdirTemp(dir, ".new-*.tmp")
	if err != nil {
		return err
	}
	err = t.write(temp, 0o644)
	if err == nil {
		var have tree
		if have, err = readTree(s.Copies.Guard(), temp); err == nil && have.hash != t.hash {
			err = errors.New("the folder changed while it was written")
		}
	}
	if err != nil {
		return errors.Join(err, remove(temp))
	}
	fail.Point("skill.staged")
	if err := os.Rename(temp, to); err != nil {
		return errors.Join(err, remove(temp))
	}
	fail.Point("skill.added")
	return sys.SyncFolder(dir)
}

// Check looks at a folder without changing anything: a skill by its name, or any folder by its absolute path.
func (s *Service) Check(ctx context.Context, from api.SkillSource) (api.Skill, error) {
	if !filepath.IsAbs(from.From) {
		return s.Show(ctx, from.From)
	}
	t, err := s.fetch(ctx, api.SkillSource{From: from.From})
	if err != nil {
		return api.Skill{Name: short(filepath.Base(from.From), maxName), State: "broken", Problem: err.Error()}, nil
	}
	v := api.Skill{Name: short(filepath.Base(from.From), maxName), State: "new", Hash: t.hash, Files: t.others(), Scripts: t.scripts(), Bytes: t.bytes()}
	h, err := s.check(filepath.Base(from.From), t)
	v.Description, v.License, v.Compatibility, v.Tools, v.Unknown = h.Description, h.License, h.Compatibility, h.Tools, s.unknown(h.Tools)
	if err != nil {
		v.State, v.Problem = "broken", err.Error()
	}
	return v, nil
}
