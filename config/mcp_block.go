package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/daemon/secret"
	"hob/daemon/sys"
)

// MCPBlock is a server in a JSON block from the documentation of another program.
type MCPBlock struct {
	Name string // fit for hob: "My Server" becomes my-server
	MCPServer
	Ignored   []string // keys that hob does not support, and cwd: the program may write to its working folder, so only the owner may set it
	Variables []string // variables of hob's environment that the server would get, sorted
}

var (
	notInName   = sys.Regexp(`[^a-z0-9]+`)
	placeholder = sys.Regexp(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// ParseMCP reads the JSON block that documentation of MCP servers prints: { "mcpServers": { NAME: { "command": …, "args": …, "env": … } }
// }. The key may also be "servers", and the inner part alone is accepted. The servers are sorted by name, and not checked.
//
// Somebody else wrote the block. References to secrets (cmd:, file:, keyring:, env:) are therefore errors everywhere in it. Only ${NAME} in
// env and headers becomes a reference, and the caller asks the owner about Variables before the server starts.
func ParseMCP(doc []byte) ([]MCPBlock, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		return nil, fmt.Errorf("the block is no JSON: %w", err)
	}
	for _, key := range []string{"mcpServers", "servers"} {
		if inner, ok := top[key]; ok {
			top = nil
			if err := json.Unmarshal(inner, &top); err != nil {
				return nil, fmt.Errorf("%s: want an object of servers", key)
			}
			break
		}
	}
	if len(top) == 0 {
		return nil, errors.New("the block has no servers")
	}
	var list []MCPBlock
	for _, name := range slices.Sorted(maps.Keys(top)) {
		d, err := mcpBlock(name, top[name])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// ParseMCPAs reads a block with one server and names it as the owner wants. The inner part that describes the server is enough.
func ParseMCPAs(name string, doc []byte) (MCPBlock, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		return MCPBlock{}, fmt.Errorf("the block is no JSON: %w", err)
	}
	for _, key := range []string{"command", "url", "serverUrl", "httpUrl"} {
		if v := bytes.TrimSpace(top[key]); len(v) > 0 && v[0] == '"' {
			return mcpBlock(name, doc)
		}
	}
	list, err := ParseMCP(doc)
	switch {
	case err != nil:
		return MCPBlock{}, err
	case len(list) > 1:
		return MCPBlock{}, fmt.Errorf("the block has %d servers, and %q is the name of one", len(list), name)
	}
	list[0].Name = name
	return list[0], nil
}

// mcpBlock reads one server of a block.
func mcpBlock(name string, raw json.RawMessage) (d MCPBlock, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return d, fmt.Errorf("%q: want an object with command or url", name)
	}
	kind := ""
	d.Name = strings.Trim(notInName().ReplaceAllString(strings.ToLower(name), "-"), "-")
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var to any
		switch key {
		case "command":
			to = &d.Command
		case "args":
			to = &d.Args
		case "env":
			to = &d.Env
		case "url", "serverUrl", "httpUrl":
			to = &d.URL
		case "headers":
			to = &d.Headers
		case "type", "transport":
			to = &kind
		default:
			d.Ignored = append(d.Ignored, key)
			continue
		}
		if err := json.Unmarshal(keys[key], to); err != nil {
			return d, fmt.Errorf("%q: %s is of the wrong type", name, key)
		}
	}
	switch kind {
	case "", "stdio", "http", "streamable-http", "streamableHttp", "streamable_http":
	default:
		return d, fmt.Errorf("%q: hob does not speak %q, only stdio and streamable HTTP", name, kind)
	}
	if err := d.refers(); err != nil {
		return d, fmt.Errorf("%q: %w", name, err)
	}
	if (d.Command == "") == (d.URL == "") {
		return d, fmt.Errorf("%q: want either command or url", name)
	}
	return d, d.fill()
}

// refers returns an error if a text of the block would be read as a reference to one of the owner's secrets.
func (d *MCPBlock) refers() error {
	texts := map[string]string{"command": d.Command, "url": d.URL}
	for i, arg := range d.Args {
		texts[fmt.Sprintf("args[%d]", i)] = arg
	}
	for key, values := range map[string]map[string]string{"env": d.Env, "headers": d.Headers} {
		for name, value := range values {
			texts[key+"."+name] = value
		}
	}
	for _, at := range slices.Sorted(maps.Keys(texts)) {
		if secret.IsReference(texts[at]) {
			scheme, _, _ := strings.Cut(strings.TrimSpace(texts[at]), ":")
			return fmt.Errorf("%s refers to a secret of yours (%s:), which a block may not", at, scheme)
		}
	}
	return nil
}

// fill converts the placeholders ${NAME} and ${env:NAME} into hob's references. A placeholder within a longer text stays.
func (d *MCPBlock) fill() error {
	for _, values := range []map[string]string{d.Env, d.Headers} {
		for name, value := range values {
			m := placeholder().FindStringSubmatch(value)
			if m == nil {
				continue
			}
			if strings.HasPrefix(m[1], "HOB_") {
				return fmt.Errorf("%q: %s belongs to hob; no server gets it", d.Name, m[1])
			}
			values[name], d.Variables = "env:"+m[1], append(d.Variables, m[1])
		}
	}
	slices.Sort(d.Variables)
	d.Variables = slices.Compact(d.Variables)
	return nil
}
