package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// Limits of what is installed.
const (
	installTime = 10 * time.Minute
	maxFiles    = 100_000
	maxBytes    = 2 << 30
)

// manifestFile is in the folder of an installed server. It is written last, so a folder without it is none.
const manifestFile = "hob.json"

// manifest says what is in the folder of an installed server.
type manifest struct {
	Source string `json:"source"` // npm:PACKAGE@VERSION or go:MODULE@VERSION
	File   string `json:"file"`   // the program, in the folder
	Digest string `json:"digest"` // of all files but this one, see treeDigest
}

// Installs are the servers that hob has installed.
type Installs struct{ servers *Service }

// Installs returns the servers that hob has installed.
func (s *Service) Installs() Installs { return Installs{s} }

// folder is where a server is installed.
func (i Installs) folder(name string) string {
	return filepath.Join(i.servers.Ways.ServerFolder(), name)
}

// Install installs a server of npm or Go at one version. The installer runs in the sandbox with the network, and writes only to a temporary folder;
// what it has left there is copied to the folder of the server. An earlier installation under that name is replaced.
func (i Installs) Install(ctx context.Context, name string, in api.MCPSource) (out api.MCPSource, err error) {
	if text := config.MCPName(name); text != "" {
		return out, event.NewFault(event.Invalid, "for example: notes", "NAME: %s", text)
	}
	source, err := config.ParseMCPSource(in.Source)
	if err != nil {
		return out, event.NewFault(event.Invalid, "for example npm:PACKAGE@1.2.3 or go:MODULE@v1.2.3", "%v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("it took more than %s", installTime))
	defer cancel()
	work, err := workFolder(i.servers)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	one := installer{service: i.servers, name: name, work: work, into: filepath.Join(work, "in")}
	if err := os.Mkdir(one.into, 0o700); err != nil {
		return out, err
	}
	m, err := one.install(ctx, source)
	if err != nil {
		f, ok := event.AsFault(err)
		if !ok {
			hint := "see that the name and the version are right, and that this machine reaches the registry"
			if source.Kind == config.FromNPM {
				hint += "; hob asks the registry of your npm settings, but without your passwords and tokens for it; where a company's certificate is in between, start hob with NODE_EXTRA_CA_CERTS=FILE in its environment"
			}
			f = event.NewFault(event.Unavailable, hint, "%s cannot be installed: %v", source, err)
			f.Err = err
		}
		return out, f
	}
	return api.MCPSource{Source: m.Source}, i.keep(name, one.into, m)
}

// workFolder makes a temporary folder. Its path has no symbolic links, so that a sandbox shows it under that path.
func workFolder(s *Service) (string, error) {
	dir, err := os.MkdirTemp("", s.folders())
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	return dir, nil
}

// keep copies what was installed to the folder of the server. Until the last rename nothing counts as installed.
func (i Installs) keep(name, from string, m manifest) error {
	if err := os.MkdirAll(i.servers.Ways.ServerFolder(), 0o700); err != nil {
		return fmt.Errorf("keep the server: %w", err)
	}
	fresh, err := os.MkdirTemp(i.servers.Ways.ServerFolder(), ".new-*")
	if err != nil {
		return fmt.Errorf("keep the server: %w", err)
	}
	err = os.CopyFS(fresh, os.DirFS(from))
	if err == nil {
		m.Digest, err = treeDigest(fresh)
	}
	var doc []byte
	if err == nil {
		doc, err = json.Marshal(m)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(fresh, manifestFile), doc, 0o600)
	}
	if err == nil {
		err = os.RemoveAll(i.folder(name))
	}
	if err == nil {
		err = os.Rename(fresh, i.folder(name))
	}
	if err != nil {
		return fmt.Errorf("keep the server: %w", errors.Join(err, os.RemoveAll(fresh)))
	}
	return nil
}

// read returns what is installed for a server, after it has read all of it: what runs is what was accepted.
func (i Installs) read(name, source string) (manifest, error) {
	m, err := i.manifest(name, source)
	if err != nil {
		return m, err
	}
	digest, err := treeDigest(i.folder(name))
	if err == nil && digest != m.Digest {
		err = event.NewFault(event.Unavailable, installAgain(name, source), "the files of %s are not those that were installed", source)
	}
	return m, err
}

// installAgain is the hint for a server whose files are not right.
func installAgain(name, source string) string {
	return fmt.Sprintf("install it again: hob mcp rm %s, then hob mcp add %s %s", name, name, source)
}

// manifest returns what is installed for a server, if its program is there.
func (i Installs) manifest(name, source string) (manifest, error) {
	var m manifest
	doc, err := os.ReadFile(filepath.Join(i.folder(name), manifestFile))
	if err == nil {
		err = json.Unmarshal(doc, &m)
	}
	if err != nil || m.Source != source || !filepath.IsLocal(m.File) {
		return m, event.NewFault(event.Unavailable, installAgain(name, source), "%s is not installed for the MCP server %s", source, name)
	}
	if _, err := os.Lstat(filepath.Join(i.folder(name), m.File)); err != nil {
		return m, event.NewFault(event.Unavailable, installAgain(name, source), "the program of %s is not there any more", source)
	}
	return m, nil
}

// treeDigest returns the SHA-256 of a folder: of the names, kinds, modes and contents of all files in it but the manifest. Nothing in it is followed.
func treeDigest(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written
	sum, files, size := sha256.New(), 0, int64(0)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == manifestFile {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if files++; files > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		content := int64(0)
		if d.Type().IsRegular() {
			content = info.Size()
		}
		_, _ = fmt.Fprintf(sum, "%q %v %d\n", name, info.Mode(), content) // never fails
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := root.Readlink(name)
			_, _ = fmt.Fprintf(sum, "%q\n", to)
			return err
		case !d.Type().IsRegular():
			return nil
		}
		if size += content; size > maxBytes {
			return fmt.Errorf("it has more than %d MB", maxBytes>>20)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(sum, f)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return "", fmt.Errorf("read what is installed: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// installer is one installation.
type installer struct {
	service *Service
	name    string
	work    string // a temporary folder
	into    string // a folder in it, for what is kept
	tool    string // npm or go
}

func (i installer) install(ctx context.Context, source config.MCPSource) (manifest, error) {
	i.tool = source.Kind
	if source.Kind == config.FromNPM {
		return i.npm(ctx, source)
	}
	return i.golang(ctx, source)
}

// npm installs a package without running its scripts, and finds its program.
func (i installer) npm(ctx context.Context, source config.MCPSource) (m manifest, err error) {
	node, npm, err := i.programs(ctx, "node", "npm")
	if err != nil {
		return m, err
	}
	argv := []string{npm}
	if strings.HasSuffix(npm, ".js") {
		argv = []string{node, npm}
	}
	env := i.own("npm_config_registry")
	setting := func(key string) (string, error) {
		value, err := i.run(ctx, append(slices.Clone(argv), "config", "get", key), maps.Clone(env), nil)
		return strings.TrimSpace(value), err
	}
	// Only the addresses of the owner's registries are used. Passwords and tokens of ~/.npmrc stay where they are.
	registry, err := setting("registry")
	if err != nil {
		return m, err
	}
	own := []string{}
	if scope, _, scoped := strings.Cut(source.Name, "/"); scoped {
		at, err := setting(scope + ":registry")
		if err != nil {
			return m, err
		}
		if at != "undefined" {
			own = append(own, "--"+scope+":registry="+at)
		}
	}
	env["npm_config_registry"], env["npm_config_userconfig"] = registry, filepath.Join(i.work, "npmrc") // there is none
	env["npm_config_cache"], env["npm_config_logs_max"] = filepath.Join(i.work, "cache"), "0"
	reads := []string{node, npm}
	if top := filepath.Dir(filepath.Dir(npm)); filepath.Base(top) == "npm" {
		reads = append(reads, top)
	}
	argv = append(append(argv, own...), "install", "--prefix", i.into, "--ignore-scripts", "--no-bin-links", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--loglevel=error", "--", source.At(source.Version))
	if _, err := i.run(ctx, argv, env, reads); err != nil {
		return m, err
	}
	root, err := os.OpenRoot(i.into) // a package may hold links
	if err != nil {
		return m, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	var pkg struct {
		Version string          `json:"version"`
		Bin     json.RawMessage `json:"bin"`
	}
	folder := path.Join("node_modules", source.Name)
	doc, err := root.ReadFile(path.Join(folder, "package.json"))
	if err == nil {
		err = json.Unmarshal(doc, &pkg)
	}
	if err != nil {
		return m, fmt.Errorf("read its package.json: %w", err)
	}
	bin, err := programOf(source.Name, pkg.Bin)
	if err != nil {
		return m, err
	}
	m = manifest{Source: source.Kind + ":" + source.At(pkg.Version), File: path.Join(folder, bin)}
	text, err := root.ReadFile(m.File)
	line, _, _ := strings.Cut(string(text), "\n")
	switch {
	case err != nil:
		return m, fmt.Errorf("read its program: %w", err)
	case !strings.HasSuffix(bin, "js") && !(strings.HasPrefix(line, "#!") && strings.Contains(line, "node")):
		return m, fmt.Errorf("its program %s is not for node", quoted(bin, 80))
	}
	_, err = config.ParseMCPSource(m.Source) // the version is the package's own words
	return m, err
}

// programOf chooses the program of a package as npx does: the only one, or the one with the name of the package.
func programOf(name string, bin json.RawMessage) (string, error) {
	var one string
	var all map[string]string
	if json.Unmarshal(bin, &one) != nil && json.Unmarshal(bin, &all) == nil {
		one = all[path.Base(name)]
		for _, only := range all {
			if len(all) == 1 {
				one = only
			}
		}
	}
	switch {
	case one == "" && len(all) > 1:
		return "", errors.New("it has several programs, and none with its own name")
	case one == "":
		return "", errors.New("it has no program that could be started")
	case !filepath.IsLocal(one):
		return "", fmt.Errorf("its program %s is not in the package", quoted(one, 80))
	}
	return path.Clean(one), nil
}

// golang builds a program with the owner's settings of where modules come from.
func (i installer) golang(ctx context.Context, source config.MCPSource) (m manifest, err error) {
	goTool, _, err := i.programs(ctx, "go", "go")
	if err != nil {
		return m, err
	}
	names := []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOTOOLCHAIN"}
	env := i.own(names...)
	said, err := i.run(ctx, append([]string{goTool, "env", "-json", "GOROOT"}, names...), env, nil)
	if err == nil {
		err = json.Unmarshal([]byte(said), &env)
	}
	if err != nil {
		return m, fmt.Errorf("read the settings of go: %w", err)
	}
	reads := []string{env["GOROOT"]}
	for _, p := range strings.FieldsFunc(env["GOPROXY"], func(c rune) bool { return c == ',' || c == '|' }) {
		if folder, ok := strings.CutPrefix(p, "file://"); ok {
			reads = append(reads, folder)
		}
	}
	env["GOBIN"], env["GOPATH"], env["GOCACHE"] = i.into, filepath.Join(i.work, "go"), filepath.Join(i.work, "cache")
	env["GOFLAGS"], env["CGO_ENABLED"], env["GOTELEMETRY"] = "-trimpath -buildvcs=false -modcacherw", "0", "off"
	if _, err := i.run(ctx, []string{goTool, "install", source.At(source.Version)}, env, reads); err != nil {
		return m, err
	}
	built, err := os.ReadDir(i.into)
	if err != nil || len(built) != 1 {
		return m, errors.Join(errors.New("it has no program that could be started"), err)
	}
	m.File = built[0].Name()
	about, err := i.run(ctx, []string{goTool, "version", "-m", filepath.Join(i.into, m.File)}, nil, nil)
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(about) { // "mod", the module and its version
		if f := strings.Fields(line); len(f) > 2 && f[0] == "mod" {
			m.Source = source.Kind + ":" + source.At(f[2])
		}
	}
	_, err = config.ParseMCPSource(m.Source)
	return m, err
}

// programs finds two programs of this machine, with symbolic links resolved. They run outside of the sandbox, too.
func (i installer) programs(ctx context.Context, names ...string) (a, b string, err error) {
	found := make([]string, 2)
	for n, name := range names {
		file, err := i.service.Ways.Program(ctx, i.service.Config(), name)
		if err == nil {
			file, err = filepath.EvalSymlinks(file)
		}
		if err != nil {
			return "", "", event.NewFault(event.Unavailable, "install it; hob looks at the PATH with which it was started", "there is no program %s here, which is needed to install the MCP server %s (%v)", name, i.name, err)
		}
		found[n] = file
	}
	return found[0], found[1], nil
}

// own returns the variables of hob's environment that are set.
func (i installer) own(names ...string) map[string]string {
	env := map[string]string{}
	for _, one := range i.service.Environ {
		if name, value, _ := strings.Cut(one, "="); slices.Contains(names, name) {
			env[name] = value
		}
	}
	return env
}

// run runs a program and returns what it writes. With reads it runs in the sandbox with the network, and sees these files and folders besides what
// every sandbox shows. Without, it only tells about the settings of this machine.
func (i installer) run(ctx context.Context, argv []string, env map[string]string, reads []string) (string, error) {
	s := i.service
	spec := runtime.ServiceSpec{Name: i.name, Argv: argv, Env: env, Dir: i.work, Home: s.Home, Instance: s.Instance, Environ: s.Environ}
	if reads != nil {
		maps.Copy(env, i.own("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")) // how this machine reaches the network
		for name, file := range i.own("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE") {
			env[name], reads = file, append(reads, file)
		}
		box, err := s.Ways.ServerSandbox(ctx, s.Config(), i.name, config.MCPServer{Network: true}, nil)
		if err != nil {
			return "", err
		}
		if box != nil {
			view := sandbox.Spec{Dir: i.work, Writable: []string{i.work}, Readable: reads}
			spec.Wrap = func(argv, env []string) (*sandbox.Command, error) { return box.Wrap(view, argv, env) }
		}
	}
	p, err := s.Registry.StartService(s.Spawn, spec)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", filepath.Base(argv[0]), err)
	}
	defer context.AfterFunc(ctx, p.Stop)()
	var out, errs tail
	for from, to := range map[io.Reader]*tail{p.Out: &out, p.Errs: &errs} {
		s.Spawn.Once("output of an installer", func() error { _, _ = io.Copy(to, from); return nil }) // it ends with the program
	}
	_ = p.In.Close() // it asks nothing
	<-p.Ended()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case p.Over() != "":
		return "", fmt.Errorf("it used more than it may: %s", p.Over())
	case p.Code() != 0:
		return "", fmt.Errorf("%s says %s", i.tool, quoted(errs.String()+" "+out.String(), 800))
	}
	return out.String(), nil
}
