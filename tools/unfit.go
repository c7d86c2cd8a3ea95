package tools

import (
	"encoding/json"
	"fmt"

	"hob/daemon/sys"
)

// sentName matches the names of functions that all servers of models take.
var sentName = sys.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

// Unfit says why no request to a model may contain the tool itself; "": one may. Servers of models refuse a whole request because of one such
// tool. It is reached through the tool "tool". Only tools of others are like that.
func (s Spec) Unfit() string {
	if !sentName().MatchString(s.Name) {
		return "its name with the server's has more than 64 characters, or others than letters, digits, _ and -"
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(s.Parameters, &root); err != nil || string(root["type"]) != `"object"` {
		return "its parameters are no object"
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "$ref"} {
		if _, ok := root[key]; ok {
			return fmt.Sprintf("its parameters have %s at the top", key)
		}
	}
	return ""
}
