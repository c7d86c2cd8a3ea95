package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"hob/daemon/llm"
)

// apply changes a body, and reports whether it is different then. Everything else keeps its bytes and its order.
func apply(c llm.Change, body []byte) ([]byte, bool) {
	return within(c, body, strings.Split(c.At, "."))
}

// within applies the change to an object or a list. An object that becomes empty is left out. A body of another form stays as it is.
func within(c llm.Change, raw json.RawMessage, path []string) (json.RawMessage, bool) {
	d, list := json.NewDecoder(bytes.NewReader(raw)), path[0] == "*"
	begin, err := d.Token()
	if err != nil || list && begin != json.Delim('[') || !list && begin != json.Delim('{') {
		return raw, false
	}
	var members []string
	changed := false
	for d.More() {
		var name string
		if !list {
			key, _ := d.Token() // Decode repeats an error
			name, _ = key.(string)
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return raw, false
		}
		if list || name == path[0] {
			differs := false
			if len(path) > 1 {
				value, differs = within(c, value, path[1:])
			} else {
				name, value, differs = replaced(c, name, value)
			}
			changed = changed || differs
			if differs && (value == nil || string(value) == "{}") {
				continue
			}
		}
		if !list {
			name = strconv.Quote(name) + ":"
		}
		members = append(members, name+string(value))
	}
	switch all := strings.Join(members, ","); {
	case !changed:
		return raw, false
	case list:
		return json.RawMessage("[" + all + "]"), true
	default:
		return json.RawMessage("{" + all + "}"), true
	}
}

// replaced returns what takes the place of the field, nothing if it is left out, and whether that is different.
func replaced(c llm.Change, name string, value json.RawMessage) (string, json.RawMessage, bool) {
	level := nearest(TextOr(value), c.Offered)
	switch {
	case c.Name != "":
		return c.Name, value, true
	case level != "":
		level = strconv.Quote(level)
		return name, json.RawMessage(level), level != string(value)
	default:
		return name, nil, true
	}
}
