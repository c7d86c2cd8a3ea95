package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/secret"
)

// The origins of a value.
const (
	FromFile        = "file"
	FromEnvironment = "environment"
	FromDefault     = "default"
)

// Setting is the effective value of a key, and its origin.
type Setting struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`              // as in JSON: times are texts; nil: none; "•••" hides a secret
	From     string `json:"from"`               // FromFile, FromEnvironment or FromDefault
	File     string `json:"file,omitempty"`     // FromFile: the file
	Line     int    `json:"line,omitempty"`     // and the line in it, from 1
	Column   int    `json:"column,omitempty"`   // in characters, from 1
	Variable string `json:"variable,omitempty"` // FromEnvironment: the variable's name
	Unset    string `json:"unset,omitempty"`    // what applies when Value is nil
	Off      bool   `json:"off,omitempty"`      // a mistake has switched the section off: the default applies instead of the file's value
}

// Hidden replaces a secret in the output.
const Hidden = "•••"

// Text returns the value as TOML writes it, but a text without quotes; for nil it returns what applies instead.
func (s Setting) Text() string {
	switch v := s.Value.(type) {
	case nil:
		return s.Unset
	case string:
		return v
	default:
		return TOML(v)
	}
}

// Origin describes the origin of the value in words.
func (s Setting) Origin() string {
	switch {
	case s.Off && s.From != FromDefault:
		return "default, since its section is off because of a mistake"
	case s.From == FromEnvironment:
		return "environment " + s.Variable
	case s.From == FromFile:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return FromDefault
}

// Look returns the effective value of a key, with the file at path and the variables of env. For a section it returns all its keys, and for
// "" the keys of all existing sections. The error is that of the file, or Errors for an unknown key.
func (r Reference) Look(path string, env []string, key string) ([]Setting, error) {
	doc, _, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	snap, _, err := load(path, doc, false, env)
	if err != nil {
		return nil, err
	}
	root, err := parse(path, doc)
	if err != nil {
		return nil, err
	}
	override(root, env)
	v := view{Reference: r, file: path, root: root, snap: snap}
	if key == "" {
		return v.everything(), nil
	}
	names, err := SplitKey(key)
	if err != nil {
		return nil, err
	}
	return v.look(names)
}

// view reads one state of the configuration.
type view struct {
	Reference
	file string
	root *node
	snap *Snapshot
}

// everything returns all settings, in the order of the reference.
func (v view) everything() []Setting {
	var all []Setting
	for _, section := range v.present() {
		if s, ok := v.several(section); ok {
			all = append(all, s)
		}
		if p, ok := v.at(v.root, section); ok {
			all = append(all, v.section(p, section)...)
		}
	}
	return all
}

// several returns a list of tables as one setting; false if path does not name one.
func (v view) several(path []string) (Setting, bool) {
	i := slices.IndexFunc(v.parts, func(p Part) bool { return p.Several && p.fits(path) })
	if i < 0 {
		return Setting{}, false
	}
	s := Setting{Key: KeyText(path), Unset: "none", From: FromDefault, Off: v.snap.Off(v.parts[i].Path)}
	if n := v.root.at(path); n != nil {
		s.From, s.File, s.Line, s.Column = FromFile, v.file, n.value.line, n.value.column
		if n.env != "" {
			s.From, s.Variable = FromEnvironment, n.env
		}
		if !s.Off {
			s.Value, s.Unset = n.plain(), ""
		}
	}
	return s, true
}

// present returns the sections that have content, and the core sections.
func (v view) present() [][]string {
	var all [][]string
	for _, p := range v.parts {
		// A core section at the top of the file counts even if it is missing, because its defaults apply.
		group, _, named := strings.Cut(p.Path, ".")
		if !named {
			all = append(all, []string{group})
			continue
		}
		for _, name := range v.root.child(group).names() {
			path := []string{group, name}
			if p.fits(path) && (p.Kind == "" || p.Kind == kindOf(v.root, path)) {
				all = append(all, path)
			}
		}
	}
	return all
}

// look returns the settings at a path: a list of tables, a section, a group of sections, or one key.
func (v view) look(path []string) ([]Setting, error) {
	if s, ok := v.several(path); ok {
		return []Setting{s}, nil
	}
	if p, ok := v.at(v.root, path); ok && (len(path) == 1 || v.root.at(path) != nil) {
		return v.section(p, path), nil
	}
	// A group like [channels] has no keys. Its settings are those of its sections.
	if n := v.root.at(path); n != nil && len(path) == 1 && n.table != nil && slices.Contains(sections(), path[0]) {
		var all []Setting
		for _, name := range n.names() {
			if p, ok := v.at(v.root, append(path, name)); ok {
				all = append(all, v.section(p, append(slices.Clone(path), name))...)
			}
		}
		return all, nil
	}
	p, k, problem := v.find(v.root, path)
	if problem != nil {
		return nil, Errors{*problem}
	}
	// The part has as many names as the section. The rest of path is the key.
	section := path[:strings.Count(p.Path, ".")+1]
	return []Setting{v.setting(section, k)}, nil
}

// section returns the settings of a section.
func (v view) section(p Part, path []string) []Setting {
	all := make([]Setting, 0, len(p.Keys))
	for _, k := range p.Keys {
		all = append(all, v.setting(path, k))
	}
	return all
}

// setting returns a setting with its value.
// Unset only explains a missing value, so a value removes it.
func (v view) setting(section []string, k schema.Key) Setting {
	s := v.value(section, k)
	if s.Value != nil {
		s.Unset = ""
	}
	return s
}

// value determines the value of a key and its origin.
func (v view) value(section []string, k schema.Key) Setting {
	path := append(slices.Clone(section), strings.Split(k.Name, ".")...)
	s := Setting{Key: KeyText(path), Value: k.Default, Unset: plainText(k.Unset), From: FromDefault, Off: v.snap.Off(strings.Join(section, "."))}
	n := v.root.at(path)
	if s.Off || n == nil {
		if core := v.held(section, k); s.Off && core != nil {
			s.Value = core // a [tools] that is off denies everything, unlike its default
		}
		if n == nil {
			return s
		}
	}
	switch {
	case n.env != "":
		s.From, s.Variable = FromEnvironment, n.env
	default:
		s.From, s.File, s.Line, s.Column = FromFile, v.file, n.value.line, n.value.column
	}
	if s.Off {
		return s
	}
	// For a section of config itself the snapshot decides: the checks may have dropped a part of what the file says.
	if s.Value = v.held(section, k); s.Value == nil {
		s.Value = typedBy(k, n)
	}
	s.Value = masked(k, s.Value)
	return s
}

// held returns the value of a key in the snapshot; nil for the sections of plug-ins.
func (v view) held(section []string, k schema.Key) any {
	var in any
	names := strings.Split(k.Name, ".")
	switch section[0] {
	case "mcp":
		if k.Name == "servers" {
			return nil // what the file says, without secrets: see typedBy
		}
		in = v.snap.MCP
	case "models":
		m, ok := v.snap.Models[section[1]]
		if !ok {
			return nil
		}
		in = m
	case "channels", "hooks", "jobs", "watches":
		return nil
	default:
		// The field in Snapshot has the name of the section, with an upper case first letter.
		in = reflect.ValueOf(v.snap).Elem().FieldByName(strings.ToUpper(section[0][:1]) + section[0][1:]).Interface()
		names = slices.Concat(section[1:], names) // a subsection is a field
	}
	at := reflect.ValueOf(in)
	for _, name := range names {
		at = schema.Fields(at)[name]
	}
	if k.Type == schema.Table {
		return tableOf(at)
	}
	return schema.Plain(at)
}

// tableOf converts a struct to a TOML table. A field with omitempty is left out when it is zero.
func tableOf(v reflect.Value) any {
	m := map[string]any{}
	for name, field := range schema.Fields(v) {
		m[name] = schema.Plain(field)
	}
	for i := range v.NumField() {
		if name, optional := strings.CutSuffix(v.Type().Field(i).Tag.Get("toml"), ",omitempty"); optional && v.Field(i).IsZero() {
			delete(m, name)
		}
	}
	return m
}

// typedBy returns the value of a node that a plug-in decodes. A text from the environment is converted to the key's type.
func typedBy(k schema.Key, n *node) any {
	s, ok := n.leaf.(string)
	if k.Type == schema.Tables && k.Name == "servers" {
		plain := n.plain()
		hideMCP(plain)
		return plain
	}
	if !ok || n.env == "" {
		if at, ok := n.leaf.(time.Time); ok {
			return at.Format(time.RFC3339Nano)
		}
		return n.plain()
	}
	var v any
	switch k.Type {
	case schema.Switch:
		v = parsed(strconv.ParseBool(s))
	case schema.Whole:
		v = parsed(strconv.ParseInt(s, 10, 64))
	case schema.Number:
		v = parsed(strconv.ParseFloat(s, 64))
	case schema.List:
		v = splitList(n, s).plain()
	}
	// A text that does not fit the type is shown as it is.
	if v == nil {
		return s
	}
	return v
}

// masked hides a secret, but shows a reference to one.
func masked(k schema.Key, v any) any {
	s, ok := v.(string)
	if ok && !k.Secret() {
		return withoutPassword(s)
	}
	if !k.Secret() || ok && (s == "" || secret.IsReference(s)) {
		return v
	}
	return Hidden
}

// withoutPassword hides the password in an address, such as that of a proxy, unless it is a reference.
func withoutPassword(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.LastIndexByte(rest, '@')
	user, password, ok := strings.Cut(rest[:max(end, 0)], ":")
	if !ok || password == "" || secret.IsReference(password) {
		return address
	}
	return scheme + "://" + user + ":" + Hidden + rest[end:]
}

// Names returns the full names of all keys for completion. Where the owner chooses a name, these are the existing ones and the example of
// the reference. An unreadable file counts as empty.
func (r Reference) Names(path string) []string {
	doc, _, err := ReadFile(path)
	if err != nil {
		doc = nil
	}
	root, err := parse(path, doc)
	if err != nil {
		root = newTable()
	}
	v := view{Reference: r, root: root}
	var names []string
	for _, section := range v.present() {
		if p, ok := v.at(root, section); ok {
			for _, k := range schema.Flat(p.Keys) {
				names = append(names, KeyText(append(slices.Clone(section), strings.Split(k.Name, ".")...)))
			}
		}
	}
	// Keys of sections with a name of the user's choice are offered in their general form.
	for _, p := range r.parts {
		if p.Named != "" {
			for _, k := range schema.Flat(p.Keys) {
				names = append(names, p.Shown()+"."+k.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// plainText removes Markdown marks.
func plainText(s string) string { return strings.ReplaceAll(s, "`", "") }
