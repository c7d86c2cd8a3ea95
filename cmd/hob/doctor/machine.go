package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/packaging/service"
)

// mostFiles is how many files of the home are checked for their owner. The folders of state come first, and a wrong owner usually has many.
const mostFiles = 2000

// checkOwner looks for files of another user in the home, without those deep in the workspace. They come from hob as root: sudo hob up.
func checkOwner(_ context.Context, s *facts) (r Result) {
	list := append([]string{s.home}, s.below("", "*", "state/*", "state/*/*", "workspace/*")...)
	var others []string
	for _, path := range list[:min(len(list), mostFiles)] {
		// A link that leads nowhere, or a file that is gone by now, has no owner.
		if _, mine, err := s.owner(path); err == nil && !mine {
			others = append(others, path)
		}
	}
	if len(others) > 0 {
		r.add(Fail, "sudo chown -R $(id -un) "+cli.Quote(s.home), "%s of the home belong to another user, for example %s", console.Plural(len(others), "file"), others[0])
	}
	return r.or("all files belong to you")
}

// checkRoot looks whether hob is root, which is the user that owns its home.
func checkRoot(_ context.Context, s *facts) (r Result) {
	uid, _, err := s.owner(s.home)
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	if uid == 0 {
		r.add(Warn, "end this hob, and start it as another user; or: hob service install --system, whose hob works as the user hob", "the home belongs to root, so hob works as root")
	}
	return r.or("hob works as an ordinary user")
}

// checkFolders looks for folders that hob needs, and tries whether hob may write to them. hob makes them when it starts; one that is removed later
// is missing until then.
func checkFolders(_ context.Context, s *facts) (r Result) {
	for _, dir := range []string{s.state(), filepath.Join(s.home, "workspace")} {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			r.add(Warn, "mkdir -m 700 "+dir, "the folder %s is missing", dir)
			r.fixes = append(r.fixes, repair{"made " + dir, func() error { return os.Mkdir(dir, 0o700) }})
		case err != nil:
			r.add(Fail, "look at the rights of "+dir, "%v", err)
		case !info.IsDir():
			r.add(Fail, "move it away, then: hob doctor --fix", "%s is a file and not a folder", dir)
		}
	}
	if r.State != Fail {
		if err := daemon.CheckHome(s.home); err != nil {
			text, hint, _ := client.Explain(err)
			r.add(Fail, hint, "%s", text)
		}
	}
	return r.or("state and workspace are there, and hob can write to them")
}

// checkRoots looks for the folders of [tools] roots, which are written PATH:MODE.
func checkRoots(_ context.Context, s *facts) (r Result) {
	if s.config == nil {
		return skipCheck("the config cannot be read")
	}
	for _, root := range s.config.Tools.Roots {
		path := s.filePath(root[:max(strings.LastIndexByte(root, ':'), 0)])
		if _, err := os.Stat(path); err != nil {
			r.add(Warn, "make the folder, or take it out of [tools] roots", "the root %s cannot be used: %v", path, err)
		}
	}
	return r.or("%s besides the workspace", console.Plural(len(s.config.Tools.Roots), "folder"))
}

// checkVersion compares the hob that runs with this program.
func checkVersion(_ context.Context, s *facts) (r Result) {
	if s.build.Version != "" && s.status.Version != s.build.Version {
		r.add(Warn, "hob service restart, or end the hob in its terminal and start it again", "hob %s runs, and this program is hob %s", s.status.Version, s.build.Version)
	}
	return r.or("hob %s", s.status.Version)
}

// checkPort tries the port of the config while no hob has it.
func checkPort(ctx context.Context, s *facts) (r Result) {
	switch {
	case s.client != nil:
		return Result{State: OK, Found: "hob listens at " + s.status.Address}
	case s.config == nil:
		return skipCheck("the config cannot be read")
	case s.config.Web.Listen == "":
		return Result{State: OK, Found: "no port is set: hob takes 4620, or a free one"}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Web.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		r.add(Fail, "end the other program, or choose another port in [web] listen; 127.0.0.1:0 takes a free one", "another program has %s", s.config.Web.Listen)
	} else if err != nil {
		r.add(Fail, "look at [web] listen in config.toml", "%v", err)
	} else if err := l.Close(); err != nil {
		r.add(Fail, "", "%v", err)
	}
	return r.or("%s is free", s.config.Web.Listen)
}

// checkProgram compares the program in the unit with this one.
func checkProgram(ctx context.Context, s *facts) (r Result) {
	st, err := s.service(ctx)
	if err != nil || !st.Installed {
		return skipCheck("no service is installed")
	}
	text, err := os.ReadFile(st.File)
	if err != nil {
		return skipCheck("the unit cannot be read: %v", err)
	}
	program := unitProgram(string(text))
	if program == "" {
		return skipCheck("%s does not say which program it starts", st.File)
	}
	self, err := os.Executable()
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	theirs, err := os.Stat(program) // #nosec G703 -- the unit is of the caller, and nothing but the result is used
	mine, err2 := os.Stat(self)
	switch {
	case err != nil:
		r.add(Fail, "hob service install", "the service starts %s, which cannot be used: %v", program, err)
	case err2 == nil && !os.SameFile(theirs, mine):
		r.add(Warn, "hob service install, if this program is the right one", "the service starts %s, and this program is %s", program, self)
	}
	return r.or("the service starts %s", program)
}

// unitProgram returns the program that a unit of systemd or a property list of launchd starts, "" if it names none.
func unitProgram(text string) string {
	for line := range strings.Lines(text) {
		// systemd.service(5): the first word is the program. systemd.syntax(7): it may be quoted, and %% is a percent sign.
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
			word, _, _ := strings.Cut(rest, " ")
			if quoted, ok := strings.CutPrefix(rest, `"`); ok {
				word, _, _ = strings.Cut(quoted, `"`)
			}
			return strings.ReplaceAll(word, "%%", "%")
		}
	}
	// launchd.plist(5): the first of the ProgramArguments.
	if _, rest, ok := strings.Cut(text, "<key>ProgramArguments</key>"); ok {
		_, rest, _ = strings.Cut(rest, "<string>")
		word, _, _ := strings.Cut(rest, "</string>")
		return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(word)
	}
	return ""
}

// checkServices looks for a service of the user beside one of the machine. Each has a home of its own, so no lock keeps them apart.
func checkServices(_ context.Context, s *facts) (r Result) {
	m, err := s.machine()
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	if service.Installed(m, false) && service.Installed(m, true) {
		r.add(Warn, "hob service uninstall, or: sudo hob service uninstall --system", "hob is a service of yours and also a service of the whole machine")
	}
	return r.or("at most one")
}

// mostAhead is the size of the write-ahead log above which something keeps SQLite from merging it, usually a reader that never ends.
const mostAhead = 256 << 20

// checkWAL looks at the size of the write-ahead log.
func checkWAL(_ context.Context, s *facts) (r Result) {
	info, err := os.Stat(s.state("hob.db-wal"))
	if errors.Is(err, os.ErrNotExist) {
		return Result{State: OK, Found: "all changes are merged into the database"}
	}
	if err != nil {
		return Result{State: Fail, Found: err.Error()}
	}
	if info.Size() > mostAhead {
		r.add(Warn, "hob service restart; end other programs that have hob.db open", "%s of changes are not merged into the database", console.Size(info.Size()))
	}
	return r.or("%s of changes wait to be merged into the database", console.Size(info.Size()))
}

// mostLog is the size of all logs above which something is wrong. hob's own log is bounded; that of launchd is not.
const mostLog = 200 << 20

// checkLogs adds up the sizes of the logs.
func checkLogs(_ context.Context, s *facts) (r Result) {
	list, err := os.ReadDir(s.state("log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Result{State: Fail, Found: err.Error()}
	}
	var sum, most int64
	var largest string
	for _, e := range list {
		if info, err := e.Info(); err == nil { // otherwise it was rotated away meanwhile
			sum += info.Size()
			if info.Size() >= most {
				most, largest = info.Size(), s.state("log", e.Name())
			}
		}
	}
	if sum > mostLog {
		r.add(Warn, "read its end with hob service logs, then empty it: truncate -s 0 "+largest, "the logs take %s, most of it is %s", console.Size(sum), largest)
	}
	return r.or("%s", console.Size(sum))
}

// checkTerminal looks at the locale, by the same rule as the command line (setlocale(3)).
func checkTerminal(_ context.Context, s *facts) (r Result) {
	locale := cmp.Or(s.env("LC_ALL"), s.env("LC_CTYPE"), s.env("LANG"))
	plain := strings.ReplaceAll(strings.ToLower(locale), "-", "")
	if locale != "" && !strings.Contains(plain, "utf8") {
		r.add(Warn, "export LANG=C.UTF-8, or choose a UTF-8 locale of your language", "the locale %s has no UTF-8, so hob prints plain signs and other letters may look wrong", locale)
	}
	return r.or("%s", cmp.Or(locale, "no locale is set: UTF-8 is assumed"))
}

// checkDNS looks up the hosts of the config's servers. With a proxy it does nothing, because then the proxy looks them up.
func checkDNS(ctx context.Context, s *facts) (r Result) {
	if s.config == nil {
		return skipCheck("the config cannot be read")
	}
	if s.config.Network.Proxy != "" {
		return skipCheck("the proxy looks up names")
	}
	hosts := s.hosts(ctx)
	for _, host := range hosts {
		if err := s.lookup(ctx, host); err != nil {
			r.add(Fail, "look at the network of this machine and at base_url in config.toml", "the name %s is not found: %v", host, err)
		}
	}
	if len(hosts) == 0 {
		return r.or("the config names no server by its name")
	}
	return r.or("found: %s", strings.Join(hosts, ", "))
}

// hosts lists the names of servers that hob asks itself. A daemon also knows the addresses that are not in the config, because they are the
// defaults of a backend.
func (s *facts) hosts(ctx context.Context) (list []string) {
	addresses := []string{s.config.Voice.BaseURL, s.config.Memory.Embeddings.BaseURL}
	models := map[string]config.Model{"default": s.config.Model}
	maps.Copy(models, s.config.Models)
	for _, m := range models {
		if m.Proxy == "" {
			addresses = append(addresses, m.BaseURL)
		}
	}
	if s.client != nil {
		// Without an answer the check model has the error.
		if roster, err := client.Show(ctx, s.client, api.ShowRoster, ""); err == nil {
			for _, m := range roster.Models {
				if m.Order > 0 && models[m.Name].Proxy == "" {
					addresses = append(addresses, m.BaseURL)
				}
			}
		}
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			continue
		}
		if _, err := netip.ParseAddr(u.Hostname()); err != nil {
			list = append(list, u.Hostname())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
