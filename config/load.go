package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"hob/config/schema"
	"hob/daemon/secret"
)

// sections lists the names that are allowed at the top of the file.
func sections() []string {
	return []string{"backup", "budget", "channels", "daemon", "endpoints", "guard", "heartbeat", "hooks", "jobs", "mcp", "memory", "model", "models", "network", "outbox", "owner", toolHooks, "tools", "turn", "voice", "watches", "web"}
}

// Load reads the file at path and the HOB_SECTION__KEY variables of env (in the form of os.Environ). A missing file counts as empty.
// Problems are mistakes that leave the rest usable. An error means that there is no snapshot; it is Errors for a file that is not TOML.
func Load(path string, env []string) (*Snapshot, []Problem, error) {
	doc, open, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return load(path, doc, open, env)
}

// load builds a snapshot from a document. readable means that other users can read the file.
func load(file string, doc []byte, readable bool, env []string) (*Snapshot, []Problem, error) {
	root, err := parse(file, doc)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{file: file, root: root, snap: Default(), parts: core()}
	l.snap.file, l.snap.root = file, root
	// Secrets are looked for before the environment is applied: variables are not in the file that others can read.
	if readable {
		l.exposedSecrets(root, "")
	}
	// From here on a value of the environment looks like one of the file; its node only remembers the variable, for the messages.
	l.problems = append(l.problems, override(root, env)...)
	l.secrets(root, "")
	l.core()
	l.mcpSecrets()
	l.models()
	l.raw()
	l.unknown()
	// Problems of variables have no line and come last.
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return place{a.Line, a.Column}.compare(place{b.Line, b.Column})
	})
	return l.snap, l.problems, nil
}

// loader fills one snapshot and collects the problems.
type loader struct {
	file     string
	root     *node
	snap     *Snapshot
	problems []Problem
	parts    []Part // of the core
}

// core decodes the sections that always exist. A section that is off keeps its defaults, except where less would be safer: the heartbeat is then
// not enabled, and tools and hooks deny (see check.go and toolhooks.go).
func (l *loader) core() {
	s := l.snap
	typed(l, l.root.child("model"), "model", &s.Model, checkModel)
	typed(l, l.root.child("owner"), "owner", &s.Owner, checkOwner)
	typed(l, l.root.child("guard"), "guard", &s.Guard, nil)
	typed(l, l.root.child("budget"), "budget", &s.Budget, nil)
	typed(l, l.root.child("web"), "web", &s.Web, checkWeb)
	typed(l, l.root.child("daemon"), "daemon", &s.Daemon, nil)
	typed(l, l.root.child("turn"), "turn", &s.Turn, nil)
	typed(l, l.root.child("backup"), "backup", &s.Backup, nil)
	typed(l, l.root.child("outbox"), "outbox", &s.Outbox, nil)
	typed(l, l.root.child("voice"), "voice", &s.Voice, checkVoice)
	typed(l, l.root.child("network"), "network", &s.Network, nil)
	s.Heartbeat.Enabled = typed(l, l.root.child("heartbeat"), "heartbeat", &s.Heartbeat, checkHeartbeat) && s.Heartbeat.Enabled
	l.memory()
	for _, name := range l.group("endpoints").names() {
		e := DefaultEndpoint()
		if typed(l, l.group("endpoints").child(name), "endpoints."+name, &e, nil) {
			s.Endpoint[name] = e
		}
	}
	l.mcp()
	// hooks comes after tools, which sets Tools as a whole and would otherwise discard the denial of hooks.
	l.tools()
	l.hooks()
}

// typed decodes one section, checks the limits of its keys, and calls check for the rest (nil: none). A section with a fatal mistake leaves
// dst unchanged and is off.
func typed[T any](l *loader, n *node, path string, dst *T, check func(*checks, *T)) bool {
	if n == nil {
		return true
	}
	// The copy keeps dst's values for missing keys, and leaves dst alone if a mistake is fatal.
	v := *dst
	d := &decoder{file: l.file, section: path}
	d.value(n, reflect.ValueOf(&v).Elem(), path)
	// A value of the wrong type cannot be compared with its limits, so the checks run only after a clean decode.
	if !failed(d.problems) {
		c := &checks{decoder: d, node: n}
		c.limits(l.keys(path), n, reflect.ValueOf(&v).Elem())
		if check != nil {
			check(c, &v)
		}
	}
	l.problems = append(l.problems, d.problems...)
	if failed(d.problems) {
		l.snap.off[path] = true
		return false
	}
	*dst = v
	return true
}

// keys returns the keys of a core section.
func (l *loader) keys(path string) []schema.Key {
	for _, p := range l.parts {
		if p.fits(namesOf(path)) {
			return p.Keys
		}
	}
	return nil
}

// models reads [models.NAME], and drops fallbacks to models that do not exist.
func (l *loader) models() {
	all := l.group("models")
	for _, name := range all.names() {
		var m Model
		if slices.Contains([]string{"default", "builtin", "first"}, name) {
			d := &decoder{file: l.file, section: "models." + name}
			d.add(all.child(name), all.child(name).key, "models."+name, fmt.Sprintf("a model cannot be named %q: hob uses that name itself", name), "give it another name", true)
			l.problems, l.snap.off["models."+name] = append(l.problems, d.problems...), true
			continue
		}
		if typed(l, all.child(name), "models."+name, &m, checkModel) {
			l.snap.Models[name] = m
		}
	}
	// Fallbacks are resolved when all models are known, so their order in the file does not matter.
	l.snap.Model.Fallback = l.fallbacks(l.root.child("model"), "model", l.snap.Model.Fallback)
	for _, name := range all.names() {
		if m, ok := l.snap.Models[name]; ok {
			m.Fallback = l.fallbacks(all.child(name), "models."+name, m.Fallback)
			l.snap.Models[name] = m
		}
	}
}

// fallbacks returns the fallback models that exist, and reports the others.
// A missing one is not fatal: the model can answer without it.
func (l *loader) fallbacks(n *node, path string, names []string) []string {
	var found []string
	for i, name := range names {
		if _, ok := l.snap.Models[name]; ok {
			found = append(found, name)
			continue
		}
		d := &decoder{file: l.file, section: path}
		at := n.child("fallback").element(i)
		text, hint := fmt.Sprintf("fallback: there is no [models.%s]", name), nearest(name, sorted(maps.Keys(l.snap.Models)))
		if l.snap.off["models."+name] {
			text, hint = fmt.Sprintf("fallback: [models.%s] is off", name), "correct that section"
		} else if len(l.snap.Models) == 0 {
			hint = "add that section"
		}
		d.add(at, at.value, path+".fallback", text, hint, false)
		l.problems = append(l.problems, d.problems...)
	}
	return found
}

// raw keeps the sections of plug-ins undecoded, except for a channel's kind and proxy.
func (l *loader) raw() {
	l.snap.Jobs, l.snap.Hooks, l.snap.Watches = l.named("jobs"), l.named("hooks"), l.named("watches")
	for _, s := range l.named("channels") {
		d := &decoder{file: l.file, section: s.path}
		c := d.channel(s)
		if l.problems = append(l.problems, d.problems...); failed(d.problems) {
			l.snap.off[s.path] = true
			continue
		}
		// The other keys stay in the Section, which the channel decodes.
		l.snap.Channels = append(l.snap.Channels, c)
	}
}

// channel reads kind and proxy. It rejects names that hob uses for its own addresses.
func (d *decoder) channel(s Section) Channel {
	if slices.Contains([]string{"api", "cli", "cron", "endpoint", "none", "owner"}, strings.ToLower(s.Name)) {
		d.add(s.node, s.node.key, s.path, fmt.Sprintf("a channel cannot be named %q: hob uses that name itself", s.Name),
			`give it another name, and say what it is with kind = "…"`, true)
	}
	c := Channel{Kind: s.Name, Section: s}
	c.skip = []string{"kind", proxyKey}
	if k := s.node.child("kind"); k != nil {
		d.value(k, reflect.ValueOf(&c.Kind).Elem(), s.path+".kind")
	}
	if k := s.node.child(proxyKey); k != nil {
		d.value(k, reflect.ValueOf(&c.Proxy).Elem(), s.path+"."+proxyKey)
		// proxyOf describes the key proxy. The same limits apply in [network].
		if text := proxyOf("", "")[0].Within(reflect.ValueOf(c.Proxy)); text != "" {
			d.add(k, k.value, s.path+"."+proxyKey, proxyKey+": "+text, "", true)
		}
	}
	return c
}

// named returns the sections [group.NAME].
func (l *loader) named(group string) []Section {
	var all []Section
	n := l.group(group)
	for _, name := range n.names() {
		path := group + "." + name
		if l.table(n.table[name], path) {
			all = append(all, Section{Name: name, path: path, file: l.file, node: n.table[name]})
		}
	}
	return all
}

// group returns a section that contains only sections.
// The result may be nil, which child and names accept.
func (l *loader) group(name string) *node {
	n := l.root.child(name)
	if n != nil && !l.table(n, name) {
		return nil
	}
	return n
}

// table reports whether n is a section. If not, it switches n off.
// A mistake of this kind is jobs = 3.
func (l *loader) table(n *node, path string) bool {
	if n.table != nil {
		return true
	}
	d := &decoder{file: l.file, section: path}
	d.fatal(n, path, "%s: want a section [%s], found %s", last(path), path, n.kind())
	l.problems = append(l.problems, d.problems...)
	l.snap.off[path] = true
	return false
}

// unknown reports tables that no part of hob knows.
func (l *loader) unknown() {
	d := &decoder{file: l.file}
	for _, name := range l.root.names() {
		if !slices.Contains(sections(), name) {
			d.unknown(l.root.table[name], name, name, sections())
		}
	}
	l.problems = append(l.problems, d.problems...)
}

// secrets notes every secret of the file and the environment, so that it can be redacted before anything uses it.
func (l *loader) secrets(n *node, path string) {
	for _, name := range n.names() {
		child, at := n.table[name], dotted(path, name)
		if s, ok := child.leaf.(string); ok && s != "" && schema.Secret(name) {
			if parts := strings.Split(at, "."); parts[0] == "channels" {
				at = dotted(parts[0], parts[1])
			} else if strings.HasPrefix(at, "tools.web.secrets.") {
				at = path
			}
			l.snap.Secrets = append(l.snap.Secrets, NamedSecret{at, s})
		}
		l.secrets(child, at)
	}
}

// exposedSecrets warns about secrets in a file that other users can read. A reference is no secret. It looks at every key with the name of a secret,
// because the keys of channels are not known here.
func (l *loader) exposedSecrets(n *node, path string) {
	for _, name := range n.names() {
		child := n.table[name]
		s, ok := child.leaf.(string)
		if ok && s != "" && schema.Secret(name) && !secret.IsReference(s) {
			l.problems = append(l.problems, Problem{
				File: l.file, Line: child.value.line, Column: child.value.column, Section: strings.TrimPrefix(path, "."), Key: dotted(path, name),
				Text: fmt.Sprintf("%s: the secret itself is in a file that others can read", name),
				Hint: "chmod 600 the file, or write env:NAME, file:PATH, keyring:NAME or cmd:COMMAND instead", Advice: true,
			})
		}
		l.exposedSecrets(child, dotted(path, name))
		// An array of tables is a list of nodes.
		for _, e := range child.list {
			l.exposedSecrets(e, dotted(path, name))
		}
	}
}
