package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hob/config"
	"hob/daemon"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/secret"
	"hob/packaging/service"
)

// checkConfig checks config.toml, and what a running daemon reports about it. A key that
// hob passes over is a warning. A section that is off, and a file that is no TOML, is a failure.
func checkConfig(_ context.Context, s *facts) (r Result) {
	// A home that does not exist can be checked all the same: it has the defaults.
	if why := s.unreadable(); why != "" && s.exists {
		return skipCheck("%s", why)
	}
	if s.configErr != nil {
		r.add(Fail, "correct config.toml; hob runs on the last good one", "%v", s.configErr)
	}
	for _, p := range s.problems {
		switch {
		case p.Fatal:
			r.add(Fail, "correct that line", "%s", p)
		case !p.Advice:
			r.add(Warn, "correct that line", "%s", p)
		}
	}
	// The status of the daemon repeats the problems of the file, so it counts only if the file has none.
	if r.State == "" {
		for _, text := range s.status.Config {
			r.add(Warn, "see hob status", "%s", text)
		}
	}
	if s.config != nil {
		r.shared(s.config.Tools)
		r.prompt(s)
	}
	if _, err := os.Stat(filepath.Join(s.home, "config.toml")); errors.Is(err, os.ErrNotExist) {
		return r.or("there is no config.toml: hob runs on its defaults")
	}
	return r.or("config.toml is valid")
}

// shared warns about roots and binds such as a downloads folder that other people probably write to.
func (r *Result) shared(t config.Tools) {
	for i, one := range slices.Concat(t.Roots, t.Exec.Binds) {
		// Both are written PATH:MODE.
		colon := strings.LastIndexByte(one, ':')
		path, mode := one[:max(colon, 0)], one[colon+1:]
		if mode == "foreign" || !fsguard.Shared(path) {
			continue
		}
		problem := "what others put into the root %s counts as your own words"
		if i >= len(t.Roots) {
			problem = "others put files into the bind %s, so it is hidden from commands that do not name it"
		}
		r.add(Warn, fmt.Sprintf("write %q in [tools] roots", path+":foreign"), problem, path)
	}
}

// prompt warns about workspace files that the prompt does not contain, or only in part.
func (r *Result) prompt(s *facts) {
	problems, err := daemon.PromptProblems(filepath.Join(s.home, "workspace"), s.state(), s.config)
	if err != nil {
		r.add(Fail, "correct [tools] roots", "%v", err)
	}
	for _, text := range problems {
		r.add(Warn, "", "%s", text)
	}
	if len(problems) > 0 {
		r.Repair = joined(r.Repair, "; ", "hob sessions show main --prompt shows what is left of the workspace files")
	}
}

// checkSecrets resolves the secret references of the models and of [voice], and checks who can read the files that hold a secret, whatever
// it is for. Only their adapters know whether the secrets of channels are right, so hob channels test checks those.
func checkSecrets(ctx context.Context, s *facts) (r Result) {
	r.secretFiles(s)
	if s.config == nil {
		if r.State == "" {
			return skipCheck("the config cannot be read")
		}
		return r
	}
	// The keys are indexed by their name in the config, which the findings use.
	keys := map[string]string{"model.api_key": s.config.Model.APIKey, "voice.api_key": s.config.Voice.APIKey}
	for name, m := range s.config.Models {
		keys["models."+name+".api_key"] = m.APIKey
	}
	resolver := secret.Resolver{Home: s.home}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		ref := keys[name]
		if ref == "" {
			continue
		}
		n++
		if !secret.IsReference(ref) {
			r.add(Warn, "put it into a file of mode 600 and write "+name+` = "file:PATH"`, "%s is in config.toml itself", name)
			continue
		}
		// The value itself is thrown away; only the error matters.
		if _, err := resolver.Resolve(ctx, name, ref); err != nil {
			state := Fail
			// A service has other variables than this shell.
			if strings.HasPrefix(ref, "env:") && s.client != nil {
				state, err = Warn, fmt.Errorf("%w; the running hob may see this variable", err)
			}
			r.add(state, "give it a value, or let "+name+" refer to another", "%s: %v", name, err)
		}
	}
	if n == 0 {
		return r.or("the config refers to no key of a model")
	}
	return r.or("%d of %d keys of models can be read, by you only", n, n)
}

// secretFiles checks the rights of every file that holds a secret: those that the config names, those in the folders for secrets, named or
// not, and config.toml with its copy if a secret itself is in it.
func (r *Result) secretFiles(s *facts) {
	list := slices.DeleteFunc(s.below("", "secrets/*", "state/secrets/*"), func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.IsDir()
	})
	// Without the environment, because a variable is not in the file. A file that cannot be read is a finding of the check config.
	file := filepath.Join(s.home, "config.toml")
	if written, _, err := config.Load(file, nil); err == nil {
		for _, one := range written.Secrets {
			if path, ok := strings.CutPrefix(strings.TrimSpace(one.Value), "file:"); ok {
				list = append(list, s.filePath(strings.TrimSpace(path)))
			} else if !secret.IsReference(one.Value) {
				list = append(list, file, s.state("config.good.toml"))
			}
		}
	}
	slices.Sort(list)
	for _, path := range slices.Compact(list) {
		r.private(path, 0o600)
	}
}

// filePath resolves a path as that of a reference file:PATH. One below a home folder that is not known stays as it is written.
func (s *facts) filePath(path string) string {
	full, err := secret.Resolver{Home: s.home}.Locate(path)
	if err != nil {
		return filepath.Join(s.home, path)
	}
	return full
}

// checkService checks that hob is installed as a service and starts by itself. Without systemd or launchd there
// is nothing to check, which is no fault: something else may start hob.
func checkService(ctx context.Context, s *facts) (r Result) {
	st, err := s.service(ctx)
	if f, ok := event.AsFault(err); ok || errors.Is(err, exec.ErrNotFound) {
		text := "there is no service manager here"
		if f != nil {
			text = f.Text
		}
		return Result{State: Skip, Found: text, Repair: "start hob with your own init: hob up --no-chat"}
	}
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	switch {
	case !st.Installed:
		return Result{State: Warn, Found: "hob is not installed as a service of " + st.Manager, Repair: "hob service install"}
	// Nothing answers at all, so the owner believes in a service that is down.
	case !st.Running && s.client == nil:
		r.add(Fail, "hob service start, then hob service logs", "the %s service does not run: %s", st.Scope, st.State)
	// Another process serves this home, most likely hob up in a terminal. It ends with that terminal.
	case !st.Running:
		r.add(Warn, "stop the hob in the terminal, then: hob service start", "the %s service does not run (%s), another hob does", st.Scope, st.State)
	}
	if !st.Enabled {
		r.add(Warn, "hob service install", "the %s service does not start by itself", st.Scope)
	}
	// nil means that lingering does not apply here.
	if st.Lingers != nil && !*st.Lingers {
		r.add(Warn, "loginctl enable-linger", "the service stops when you log out")
	}
	found := fmt.Sprintf("a %s service of %s, which runs and starts by itself", st.Scope, st.Manager)
	if st.Path != "" {
		found += "; its PATH is " + st.Path
	}
	return r.or("%s", found)
}

// service asks the manager about the service that fits the caller. It plans the same service as hob service
// would, so both look at the same unit.
func (s *facts) service(ctx context.Context) (service.State, error) {
	m, err := s.machine()
	if err != nil {
		return service.State{}, err
	}
	program, err := service.Program(os.Args[0])
	if err != nil {
		return service.State{}, err
	}
	spec := service.Spec{Program: program, System: service.Choose(m)}
	if s.named {
		spec.Home = s.home
	}
	manager, err := service.For(m, spec)
	if err != nil {
		return service.State{}, err
	}
	return manager.State(ctx)
}
