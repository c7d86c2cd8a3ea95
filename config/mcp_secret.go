package config

import (
	"path/filepath"
	"strings"

	"hob/daemon/secret"
	"hob/daemon/sys"
)

// secretPlace matches the name before a value: API_KEY=…, --token=…, Authorization: …, ?access_token=….
var secretPlace = sys.Regexp(`([A-Za-z0-9_-]+)[=:][ ]*`)

// Secrets returns the secrets in the arguments or in the query of the address, where references are not supported. They are recognised by
// the names before them.
func (m MCPServer) Secrets() (list []string) {
	for i, arg := range m.Args {
		if i > 0 && flagOf(m.Args[i-1]) && !strings.HasPrefix(arg, "-") && isSecret(arg) {
			list = append(list, arg) // --api-key VALUE
			continue
		}
		list = append(list, secretsIn(arg)...)
	}
	return append(list, secretsIn(m.URL)...)
}

// flagOf reports whether an argument is an option for a secret whose value is the next argument.
func flagOf(arg string) bool {
	return strings.HasPrefix(arg, "-") && SecretName(strings.TrimLeft(arg, "-"))
}

// secretsIn returns the secrets in one text. In the query of an address a value ends with & or #.
func secretsIn(text string) (list []string) {
	query := false
	for {
		at := secretPlace().FindStringSubmatchIndex(text)
		if at == nil {
			return list
		}
		query = query || strings.Contains(text[:at[1]], "?")
		name, rest := text[at[2]:at[3]], text[at[1]:]
		if text = rest; !SecretName(strings.TrimLeft(name, "-")) {
			continue
		}
		value := rest
		if query {
			if end := strings.IndexAny(rest, "&#"); end >= 0 {
				value = rest[:end]
			}
		}
		if text = rest[len(value):]; isSecret(value) {
			list = append(list, value)
		}
	}
}

// isSecret reports whether a value with a secret's name is itself a secret, and not the path of a file that contains one.
func isSecret(value string) bool {
	return value != "" && !secret.IsReference(value) && !filepath.IsAbs(value) && !strings.HasPrefix(value, "~/")
}

// hideSecrets replaces secrets in a text.
func hideSecrets(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}
