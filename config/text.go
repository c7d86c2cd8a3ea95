package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// SplitKey splits the full name of a key: model.api_key, models."a.b".model. The error is Errors.
func SplitKey(key string) ([]string, error) {
	wrong := Errors{{Key: key, Text: fmt.Sprintf("%q is no name of a key", key), Hint: "want section.key, like model.api_key; quote a name that has a dot in it: models.\"a.b\".model"}}
	// The parser reads the key as the left side of a pair, so the rules for quotes are those of TOML.
	var p unstable.Parser
	p.Reset([]byte(key + " = 0"))
	// The excluded characters would end the key early.
	if !utf8.ValidString(key) || strings.ContainsAny(key, "=#\r\n") || !p.NextExpression() || p.Expression().Kind != unstable.KeyValue {
		return nil, wrong
	}
	var path []string
	for it := p.Expression().Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
	}
	// More text after the pair means that it was not one key.
	if p.NextExpression() || p.Error() != nil {
		return nil, wrong
	}
	return path, nil
}
